#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The same with fork: children get a copy of the memory, not the preference of the
# parent, and do not disturb it.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
[ "$WORKERS" -ge 2 ] || skip_all "needs LLCs of three cores"
test_plan 4

args=(--threads "$WORKERS" --scatter --main fork --seconds 0.4)

expect_gathered "workers beside fork" "${args[@]}"
expect "children per second" "$(sum "${R[main_per_s]}")" ">" 10
control_apart "control: feature off" "${args[@]}"

ktap_finished
