#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The state file lists the LLCs as the sched domains have them: CPUs, cores and node.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_feature
need_llcs 1
state=$SCHED_DEBUGFS/llc_state
[ -e "$state" ] || skip_all "no $state"
test_plan $((LLC[llcs] + 1))

expect_text "number of LLCs" "$(sed -n 's/^llcs: //p' "$state")" "${LLC[llcs]}"
for ((i = 0; i < LLC[llcs]; i++)); do
	want="cpus ${LLC[llc${i}_list]} cores ${LLC[llc${i}_cores]} node ${LLC[llc${i}_node]}"
	expect_text "LLC of CPUs ${LLC[llc${i}_list]}" \
		"$(sed -n 's/^llc [0-9]*: //p' "$state" | grep -o "^$want " || true)" "$want "
done

ktap_finished
