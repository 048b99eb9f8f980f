#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Exactly one running thread for each CPU, in processes that fill an LLC each: once all
# have found their place nothing moves between the LLCs.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
for ((i = 1; i < LLC[llcs]; i++)); do
	[ "${LLC[llc${i}_cpus]}" -eq "${LLC[llc0_cpus]}" ] || skip_all "needs LLCs of one size"
done
test_plan 2

args=(--procs "${LLC[llcs]}" --threads "${LLC[llc0_cpus]}" --scatter --watch-fifo 1 --seconds 0.6)
threads=${LLC[cpus]}

feature_off
loads "migrations run_pct" "${args[@]}"
off=$(sum "${V[migrations]}")
off_run=$(sum "${V[run_pct]}")
feature_on
loads "migrations run_pct" "${args[@]}"
on=$(sum "${V[migrations]}")
# To its LLC and to a CPU there: a few moves for each thread and start are due.
expect "migrations in all starts" "$on" "<=" $((off + 6 * threads * RUNS))
expect "run time, % of a CPU, sum" "$(sum "${V[run_pct]}")" ">=" \
	"$(gawk -v x="$off_run" 'BEGIN { print 0.95 * x }')"

ktap_finished
