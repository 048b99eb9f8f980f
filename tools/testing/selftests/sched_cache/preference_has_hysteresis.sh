#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where the threads of a process run in two LLCs in equal parts, the preference does not
# go to and fro between them.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
trace=/sys/kernel/tracing
event=events/sched_cache/sched_cache_pref
[ -e "$trace/$event" ] || skip_all "no trace event sched_cache:sched_cache_pref in $trace"
test_plan 2

mkdir "$trace/instances/sched_cache.$$"
defer rmdir "$trace/instances/sched_cache.$$"
trace+=/instances/sched_cache.$$

# Each thread is bound to its LLC but for two CPUs, one in either LLC, that other
# programs keep busy: it might come home, and never can.
busy=$(cpus_of "${LLC[llc0_list]}" | tail -n 1),$(cpus_of "${LLC[llc1_list]}" | tail -n 1)
for cpu in ${busy//,/ }; do
	"$SC_DIR/llc_load" --threads 1 --cpus "$cpu" --seconds 600 >/dev/null &
	defer kill_quietly "$!"
done

feature_on
changes=
for ((i = 1; i <= RUNS; i++)); do
	echo >"$trace/trace"
	echo 1 >"$trace/$event/enable"
	load --seed "$i" --threads "$THREADS" --scatter --stay --also "$busy" --seconds 0.5 \
		--cpus "${LLC[llc0_list]},${LLC[llc1_list]}"
	echo 0 >"$trace/$event/enable"
	n=$(grep -c 'sched_cache_pref: .*llc_load' "$trace/trace" || true)
	changes+=" $n"
done
say "changes of the preference in each start: $changes"
expect "the first election is seen" "$(sum "$changes")" ">=" 1
expect "changes of the preference in all starts" "$(sum "$changes")" "<=" $((2 * RUNS))

ktap_finished
