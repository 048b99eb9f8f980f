#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The balancer does not take threads away that run in their preferred LLC, each on
# a CPU of its own, only because another LLC is idle.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
features=$SCHED_DEBUGFS/features
grep -qw -E '(NO_)?SC_KEEP' "$features" || skip_all "this kernel has no feature bit SC_KEEP"
test_plan 2

args=(--threads "$THREADS" --scatter --seconds 0.8)

defer write_to "$features" SC_KEEP
feature_on
loads departures "${args[@]}"
kept=$(sum "${V[departures]}")
expect "times a thread left, in $RUNS starts" "$kept" "<=" "$RUNS"

# Threads that are taken away come home by themselves: nothing else is lost.
write_to "$features" NO_SC_KEEP
loads departures "${args[@]}"
taken=$(sum "${V[departures]}")
if [ "$taken" -gt $((2 * RUNS)) ]; then
	ktap_test_pass "control: without SC_KEEP they are taken away"
else
	ktap_test_skip "control: $taken taken away without SC_KEEP in $RUNS starts"
fi

ktap_finished
