#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A large heap that nobody touches any more says nothing about the working set: the
# process is gathered.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
need_cache_size
need_memory_kib $((CACHE_KIB * 10))
test_plan 2

args=(--mode coldheap --threads "$THREADS" --scatter --bytes "$((CACHE_KIB * 8))K" --seconds 0.6)

feature_on
loads share_late "${args[@]}"
expect "beside a cold heap: share of samples in one LLC" "$(median "${V[share_late]}")" \
	">=" "$TOGETHER"
control_apart "control: feature off" "${args[@]}"

ktap_finished
