#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Processes that each fit an LLC end up whole in different LLCs, whether they
# start together or one after the other.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
procs=$((LLC[llcs] < 4 ? LLC[llcs] : 4))
test_plan 5

# how many starts had every process in another LLC
count_apart()
{
	local i args=("$@") apart=0 all=

	for ((i = 1; i <= RUNS; i++)); do
		load --seed "$i" "${args[@]}"
		say "llc: ${R[llc]}, share: ${R[share_late]}"
		all+=" ${R[share_late]//,/ }"
		if [ "$(tr ',' '\n' <<<"${R[llc]}" | sort -u | wc -l)" -eq "$procs" ]; then
			apart=$((apart + 1))
		fi
	done
	APART_STARTS=$apart
	SHARE=$(median "$all")
}

args=(--procs "$procs" --threads "$THREADS" --scatter --seconds 0.4)

feature_on
count_apart "${args[@]}"
expect "started together: share of each in one LLC" "$SHARE" ">=" "$TOGETHER"
expect "started together: starts with all in different LLCs, of $RUNS" "$APART_STARTS" \
	">" $((RUNS / 2))

count_apart "${args[@]}" --gap-ms 100
expect "one after the other: share of each in one LLC" "$SHARE" ">=" "$TOGETHER"
expect "one after the other: starts with all in different LLCs, of $RUNS" "$APART_STARTS" \
	">" $((RUNS / 2))

control_apart "control: feature off" "${args[@]}"

ktap_finished
