#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Work conservation: one always running thread less than there are CPUs, and one more,
# in processes that each fit an LLC, get as much CPU time as with the feature off.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 4

# run_pct and wait_ms of N threads in processes of THREADS and a rest of
# programs with one thread
measure()
{
	local n=$1 procs=$(($1 / THREADS)) rest=$(($1 % THREADS)) run wait

	if [ "$rest" -gt 0 ]; then
		"$SC_DIR/llc_load" --procs "$rest" --threads 1 --seconds 0.4 >"$SC_TMP/rest" &
	fi
	load --procs "$procs" --threads "$THREADS" --scatter --watch-fifo 1 --seconds 0.3
	wait
	run=$(sum "${R[run_pct]}")
	wait=$(sum "${R[wait_ms]}")
	say "$n threads, feature $(knob_get enabled): $run % of a CPU, $wait ms of waiting"
	RUN+=" $run"
	WAIT+=" $wait"
}

compare()
{
	local n=$1 off_run off_wait i

	RUN='' WAIT=''
	feature_off
	for ((i = 0; i < RUNS; i++)); do measure "$n"; done
	# Its worst: runs differ by more than what is looked for.
	off_run=$(smallest "$RUN")
	off_wait=$(largest "$WAIT")
	RUN='' WAIT=''
	feature_on
	for ((i = 0; i < RUNS; i++)); do measure "$n"; done
	expect "$n threads, ${LLC[cpus]} CPUs: run time, % of a CPU" "$(median "$RUN")" ">=" \
		"$(gawk -v x="$off_run" 'BEGIN { print 0.98 * x }')"
	# a few ms of waiting per thread are no news
	expect "$n threads, ${LLC[cpus]} CPUs: waiting, ms" "$(median "$WAIT")" "<=" \
		"$(gawk -v x="$off_wait" -v n="$n" 'BEGIN { print 1.1 * x + 5 * n }')"
}

compare $((LLC[cpus] - 1))
compare $((LLC[cpus] + 1))

ktap_finished
