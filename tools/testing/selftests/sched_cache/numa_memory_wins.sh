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

# Do not wait for seconds for a look at the memory.
for knob in scan_delay_ms=20 scan_period_min_ms=20 scan_period_max_ms=50; do
	file=$SCHED_DEBUGFS/numa_balancing/${knob%=*}
	[ ! -e "$file" ] || change "$file" "${knob#*=}"
done
change "$numa" 1

# shares NUMA_BALANCING: share of samples on the node with the memory, in SHARES.
# The process runs there long enough for NUMA balancing to notice, then its threads
# are put in one LLC each. Only then comes the feature, which knows but that.
shares()
{
	local i

	write_to "$numa" "$1"
	SHARES=
	for ((i = 1; i <= RUNS; i++)); do
		feature_off
		load_start --seed "$i" --threads "$THREADS" --mem-node "$target" \
			--burst "$THREADS:0.8" --scatter --hold-ms 300 --seconds 0.6
		sleep 0.95
		feature_on
		load_finish
		SHARES+=" $(samples_share 300 "${home[@]}")"
	done
	say "NUMA balancing $1: share on node $target: $SHARES"
}

shares 1
expect "share of samples on the node with the memory" "$(median "$SHARES")" ">=" 95
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
