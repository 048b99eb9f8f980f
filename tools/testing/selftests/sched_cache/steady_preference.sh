#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In steady state a process stays in its LLC: not one change.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 5

# ten seconds with SCHED_CACHE_TEST_RUNS=10
feature_on
before=$(stat_of pref_changes)
load --threads "$THREADS" --scatter --seconds "$RUNS"
say "together after ${R[together_ms]} ms, then ${R[share]} % for the rest of $RUNS s"
expect "time until together, ms" "${R[together_ms]}" ">=" 0
expect "changes of the LLC afterwards" "${R[changes]}" "==" 0
# What leaves is brought back, and has lost its cache.
expect "changes of a preference" $(($(stat_of pref_changes) - before)) "<=" 2
expect "times a thread left it" "${R[departures]}" "<=" "$RUNS"
expect "share of samples in it" "${R[share]}" ">=" "$TOGETHER"

ktap_finished
