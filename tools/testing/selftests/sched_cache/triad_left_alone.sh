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

args=(--mode triad --threads "$THREADS" --scatter --bytes "$((CACHE_KIB * 8))K" --seconds 0.4)
numa=/proc/sys/kernel/numa_balancing

if [ ! -e "$numa" ]; then
	test_plan 2
	expect_left_alone "triad" "${args[@]}"
	ktap_finished
fi

test_plan 4
change "$numa" 0
expect_left_alone "triad without NUMA balancing" "${args[@]}"
write_to "$numa" 1
expect_left_alone "triad with NUMA balancing" "${args[@]}"

ktap_finished
