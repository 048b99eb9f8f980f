#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Storms of everything that may happen to tasks, mms, CPUs and knobs, one after the other
# and all together: nothing is left behind, no warning, and the feature works afterwards.
# Finds more on a kernel with KASAN, lockdep and kmemleak, and with more time.
#
# Environment:
#   SCHED_CACHE_STORM_SECONDS  of each storm, three times that of all together (default 0.3)
#   SCHED_CACHE_STORM_SEED     a number that a run has printed: choose as it did
#   SCHED_CACHE_STORMS         only these, as in A,B (default: all)
# (As parameters on the kernel's command line they get here through init.)

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
seconds=${SCHED_CACHE_STORM_SECONDS:-0.3}
seed=${SCHED_CACHE_STORM_SEED:-$RANDOM$RANDOM}
together=$(gawk -v s="$seconds" 'BEGIN { print 3 * s }') || bail_out "SCHED_CACHE_STORM_SECONDS: $seconds"
mapfile -t names < <("$SC_DIR/storm" --list | gawk '{ print $1 }')
only=()
if [ -n "${SCHED_CACHE_STORMS:-}" ]; then
	only=(--only "$SCHED_CACHE_STORMS")
	IFS=, read -ra names <<<"$SCHED_CACHE_STORMS"
fi
[ ${#names[@]} -gt 0 ] || bail_out "storm --list lists nothing"
test_plan $((${#names[@]} + 5))
taint_before=$(taint)

# A line that is missing is a storm that did not get to its end.
"$SC_DIR/storm" "${only[@]}" --seed "$seed" --seconds "$seconds" >"$SC_TMP/alone" 2>"$SC_TMP/why" || true
say "seed $seed"
for name in "${names[@]}"; do
	read -r result _ rest < <(grep -E "^(ok|skip|fail) $name( |$)" "$SC_TMP/alone" || echo "fail")
	case $result in
	ok)
		case $rest in
		"0 operations"*) ktap_test_skip "$name: nothing done in $seconds s" ;;
		*) ktap_test_pass "$name: $rest" ;;
		esac ;;
	skip) ktap_test_skip "$name: $rest" ;;
	*) ktap_test_fail "$name" ;;
	esac
done
while IFS= read -r line; do
	say "$line"
done <"$SC_TMP/why"

status=0
out=$("$SC_DIR/storm" "${only[@]}" --seed "$seed" --seconds "$together" --together 2>&1) || status=$?
[ "$status" -eq 0 ] || say "$out"
expect_text "all together" "$status" 0
expect_text "no warning from the kernel" "$(taint)" "$taint_before"

args=(--threads "$THREADS" --scatter --seconds 0.4)
expect_gathered "afterwards" "${args[@]}"
control_apart "control: feature off" "${args[@]}"

ktap_finished
