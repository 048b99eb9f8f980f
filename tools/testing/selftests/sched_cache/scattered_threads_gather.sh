#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Always running threads of one process, started in different LLCs, come
# together in one of them and stay there.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 3

args=(--threads "$THREADS" --scatter --seconds 0.4)

expect_gathered "always running threads" "${args[@]}"
control_apart "control: feature off" "${args[@]}"

ktap_finished
