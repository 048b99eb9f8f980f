#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The part of bench that runs in the guest:
#   bench.sh WARM_MS MS RUNS WORKLOADS SETTINGS
# Each workload in each setting, RUNS times; a phase WORKLOAD/SETTING/RUN of each for
# the cache model. A run begins on a CPU and at a moment of its own. Settings:
#   off, on  the feature's knob; off does without one
#   on99     on, with a tolerance of 99 (mainline: its gates are wide open)
#   pin      off, and bound by hand to one LLC, another one in each run

set -eu

warm=$1 length=$2 runs=$3 workloads=$4 settings=$5
dir=/kselftest/sched_cache
# shellcheck source=tools/testing/selftests/sched_cache/common.sh
. "$dir/common.sh"

llc_read || exit 1
cpus=${LLC[cpus]} llcs=${LLC[llcs]}
per_llc=$((cpus / llcs))
kib=${LLC[llc0_kib]}
# Together with a thread that hands out work they fit an LLC.
few=$((per_llc > 4 ? 4 : per_llc - 1))

# The command of a workload, for as long as it takes.
command_of()
{
	local load=("$dir/llc_load" --seconds 60 --interval-us 1000000)

	case $1 in
	hackbench) command=(hackbench -T -p -f 2 -g 1 -l 100000000) ;;
	schbench) command=("$dir/schbench_lite" --workers "$few" --seconds 60) ;;
	pool) command=("${load[@]}" --mode pool --threads "$few") ;;
	barrier) command=("${load[@]}" --mode barrier --threads "$few") ;;
	stream) command=("${load[@]}" --mode triad --threads 4 --bytes "$((3 * kib))K") ;;
	wide) command=("${load[@]}" --mode spin --threads "$((2 * per_llc))") ;;
	pool-wide) command=("${load[@]}" --mode pool --threads "$((2 * per_llc))") ;;
	*) echo "unknown workload $1" >&2; exit 2 ;;
	esac
}

set_knobs()
{
	knob_file enabled >/dev/null || return 0
	case $1 in
	on*) knob_set enabled 1 ;;
	*) knob_set enabled 0 ;;
	esac
	knob_set aggr_tolerance "$([ "$1" = on99 ] && echo 99 || echo "$tolerance")"
}

# one WORKLOAD SETTING RUN
one()
{
	local cpu=$((($3 * 7 + $3 / 2) % cpus)) where=0-$((cpus - 1)) first child command

	command_of "$1"
	set_knobs "$2"
	if [ "$2" = pin ]; then
		first=$(($3 % llcs * per_llc))
		where=$first-$((first + per_llc - 1))
		cpu=$((first + $3 % per_llc))
	fi
	# Leave the caches and the run queues to settle, for a time that differs.
	sleep "0.0$((10 + $3 * 3))"
	# Memory that is used again must not come from where another run has left it.
	"$dir/llc_phase" flush
	# shellcheck disable=SC2016 # the inner shell expands them
	setsid taskset -c "$cpu" bash -c 'taskset -pc "$1" $$ >/dev/null; shift; exec "$@"' - "$where" \
		"${command[@]}" >/dev/null 2>&1 &
	child=$!
	"$dir/llc_phase" window "$1/$2/$3" "$warm" "$length"
	kill -KILL -- "-$child" 2>/dev/null || { echo "$1 ended too early" >&2; exit 1; }
	wait "$child" 2>/dev/null || true
}

clean_up_at_exit
tolerance=$(! knob_file aggr_tolerance >/dev/null || knob_get aggr_tolerance)
for run in $(seq "$runs"); do
	for workload in ${workloads//,/ }; do
		for setting in ${settings//,/ }; do
			one "$workload" "$setting" "$run"
		done
	done
done
