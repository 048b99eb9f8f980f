#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Threads that stream through arrays much larger than an LLC gain nothing from sharing
# one, and lose memory bandwidth: they are left where they are. Whether or not NUMA
# balancing is there to measure what they touch.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
need_cache_size
need_memory_kib $((CACHE_KIB * 10))

args=(--mode triad --threads "$THREADS" --scatter --bytes "$((CACHE_KIB * 8))K")
# In huge pages, of which there are fewer than samples
small=(--mode triad --threads "$THREADS" --scatter --bytes "$((CACHE_KIB * 3))K")
numa=/proc/sys/kernel/numa_balancing

# It takes time to see what they touch, and more until the ordinary balancer
# has spread what was gathered meanwhile.
SETTLED_MS=900
SECONDS_EACH=1.3
# Not gathered, though maybe not spread as evenly as without the feature.
LIMIT=80

left_alone()
{
	local what=$1 shares='' i

	shift
	for ((i = 1; i <= RUNS; i++)); do
		load_start --seed "$i" "$@" --seconds "$SECONDS_EACH"
		load_finish
		shares+=" $(samples_busiest "$SETTLED_MS")"
	done
	say "$what: share of samples in the busiest LLC after $SETTLED_MS ms: $shares"
	expect "$what: share of samples in one LLC" "$(median "$shares")" "<=" "$LIMIT"
}

test_plan 4

control_apart "control: feature off" "${args[@]}" --seconds 0.4
if [ ! -e "$numa" ]; then
	left_alone "no NUMA balancing" "${args[@]}"
	left_alone "three times the LLC" "${small[@]}"
	ktap_test_skip "with NUMA balancing: no $numa"
	ktap_finished
fi
change "$numa" 0
left_alone "NUMA balancing off" "${args[@]}"
left_alone "three times the LLC" "${small[@]}"
write_to "$numa" 1
left_alone "NUMA balancing on" "${args[@]}"

ktap_finished
