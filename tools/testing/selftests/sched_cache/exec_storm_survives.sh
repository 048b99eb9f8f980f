#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs with threads that exec in a loop while others wake them from other CPUs:
# no warning, no leak, and the feature works afterwards. Finds more on a kernel with KASAN.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 6

taint_before=$(taint)
groups_before=$(groups)
feature_on
out=$("$SC_DIR/exec_storm" --pairs 6 --seconds "$(gawk -v r="$RUNS" 'BEGIN { print r / 3 }')" 2>&1) ||
	bail_out "exec_storm failed: $out"
say "$out"
execs=$(value_of execs <<<"$out")
expect "execs" "$execs" ">" 20
expect_text "no warning from the kernel" "$(taint)" "$taint_before"
# They are freed after a grace period; an idle CPU may hold on to a dead mm.
sleep 0.3
if [ -n "$groups_before" ]; then
	expect "groups that are left" $(($(groups) - groups_before)) "<=" $((execs / 3))
else
	ktap_test_skip "groups that are left: the kernel does not tell"
fi

args=(--threads "$THREADS" --scatter --seconds 0.4)
expect_gathered "afterwards" "${args[@]}"
control_apart "control: feature off" "${args[@]}"

ktap_finished
