#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where NUMA balancing takes threads to the node with their memory, the preferred LLC does
# not take them away from it.

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
test_plan 2

change "$numa" 1
# Do not wait a second for the first look at the memory.
for file in scan_delay_ms scan_period_min_ms; do
	[ ! -e "$SCHED_DEBUGFS/numa_balancing/$file" ] ||
		change "$SCHED_DEBUGFS/numa_balancing/$file" 20
done

# share of samples on the node with the memory, second half
shares()
{
	local i

	SHARES=
	for ((i = 1; i <= RUNS; i++)); do
		load_start --seed "$i" --threads "$THREADS" --scatter --mem-node "$target" \
			--shared 8M --seconds 1.2
		load_finish
		SHARES+=" $(samples_share 600 "${home[@]}")"
	done
	say "feature $(knob_get enabled): share on node $target: $SHARES"
}

feature_off
shares
off=$(median "$SHARES")
feature_on
shares
on=$(median "$SHARES")
expect "share of samples on the node with the memory" "$on" ">=" \
	"$(gawk -v x="$off" 'BEGIN { print x - 5 }')"
if gawk -v x="$off" 'BEGIN { exit !(x >= 95) }'; then
	ktap_test_pass "control: NUMA balancing alone takes them there"
else
	ktap_test_skip "control: NUMA balancing alone does not take them there"
fi

ktap_finished
