#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process whose threads NUMA balancing wants on the node with their memory is gathered
# in an LLC of that node.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
numa=/proc/sys/kernel/numa_balancing
[ -e "$numa" ] || skip_all "no NUMA balancing"
# The LLCs of the first node that is not LLC 0's
target=
home=()
for ((i = 0; i < LLC[llcs]; i++)); do
	node=${LLC[llc${i}_node]}
	[ "$node" != "${LLC[llc0_node]}" ] || continue
	target=${target:-$node}
	[ "$node" != "$target" ] || home+=("$i")
done
[ ${#home[@]} -gt 0 ] || skip_all "all LLCs are on one NUMA node"
test_plan 3

# scan_period MIN MAX: how often NUMA balancing looks at the memory, ms
scan_period()
{
	local knob

	for knob in "max_ms=$2" "min_ms=$1"; do
		[ ! -e "$periods${knob%=*}" ] || write_to "$periods${knob%=*}" "${knob#*=}"
	done
}
periods=$SCHED_DEBUGFS/numa_balancing/scan_period_
for knob in "${periods}min_ms=20" "${periods}max_ms=50" \
	    "$SCHED_DEBUGFS/numa_balancing/scan_delay_ms=20"; do
	[ ! -e "${knob%=*}" ] || change "${knob%=*}" "${knob#*=}"
done
change "$numa" 1

# wanted: percent of the threads that NUMA balancing wants on the node with the memory
wanted()
{
	local child

	child=$(pgrep -P "$LOAD_PID") || return 0
	cat "/proc/$child"/task/*/sched 2>/dev/null | gawk -v node="$target" -v threads="$THREADS" '
		$1 == "numa_preferred_nid" { n += $NF == node }
		END { printf "%d\n", 100 * n / threads }'
}

# shares NUMA_BALANCING: share of samples on the node with the memory, in SHARES.
# The process runs there long enough for NUMA balancing to notice, then its threads
# are put in one LLC each. Only then comes the feature, which knows but that. So that
# NUMA balancing does not change its mind, it does not look any more.
shares()
{
	local i before after valid=0

	write_to "$numa" "$1"
	SHARES=
	for ((i = 1; i <= 8 * RUNS && valid < RUNS; i++)); do
		feature_off
		scan_period 20 50
		load_start --seed "$i" --threads "$THREADS" --mem-node "$target" \
			--burst "$THREADS:0.8" --scatter --hold-ms 300 --seconds 0.6
		sleep 0.7
		scan_period 10000 10000
		sleep 0.25
		before=$(wanted)
		feature_on
		sleep 0.2
		after=$(wanted)
		load_finish
		# A start where some threads are wanted elsewhere says nothing; it happens with the
		# feature off, too.
		if [ "$1" = 1 ] && [ "$before-$after" != 100-100 ]; then
			say "start $i: $before, then $after % of the threads are wanted on node $target"
			continue
		fi
		valid=$((valid + 1))
		SHARES+=" $(samples_share 300 "${home[@]}")"
	done
	say "NUMA balancing $1: share on node $target: $SHARES"
}

shares 1
# No fault of ours: it has not made up its mind in enough of the starts.
if [ "$(wc -w <<<"$SHARES")" -lt "$RUNS" ]; then
	ktap_test_skip "NUMA balancing does not want the threads on the node with the memory"
else
	expect "share of samples on the node with the memory" "$(median "$SHARES")" ">=" 95
fi
shares 0
share=$(median "$SHARES")
if gawk -v x="$share" 'BEGIN { exit !(x < 95) }'; then
	ktap_test_pass "control: without NUMA balancing they go elsewhere"
else
	ktap_test_skip "control: without NUMA balancing they go there too"
fi

write_to "$numa" 0
if ! command -v numactl >/dev/null; then
	ktap_test_skip "memory bound to a node: needs numactl"
	ktap_finished
fi
feature_on
LOAD_WITH=(numactl "--membind=$target")
SHARES=
for ((i = 1; i <= RUNS; i++)); do
	load_start --seed "$i" --threads "$THREADS" --scatter --seconds 0.4
	load_finish
	SHARES+=" $(samples_share 200 "${home[@]}")"
done
say "memory bound to node $target: share there: $SHARES"
expect "memory bound: share of samples on its node" "$(median "$SHARES")" ">=" "$TOGETHER"

ktap_finished
