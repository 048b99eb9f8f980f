#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A program whose main thread starts commands (vfork and exec) in a loop: neither the
# child that borrows the memory nor its exec takes the preference away from the workers.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
[ "$WORKERS" -ge 2 ] || skip_all "needs LLCs of three cores"
test_plan 4

args=(--threads "$WORKERS" --scatter --main vfork --seconds 0.4)

expect_gathered "workers beside vfork and exec" "${args[@]}"
expect "commands started per second" "$(sum "${R[main_per_s]}")" ">" 10
control_apart "control: feature off" "${args[@]}"

ktap_finished
