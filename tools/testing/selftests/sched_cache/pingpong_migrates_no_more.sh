#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Threads that wake each other are not thrown about between wakeup and balancing: not more
# migrations than with the feature off.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 2

args=(--mode pingpong --threads "$THREADS" --scatter --seconds 0.5)

feature_off
loads migrations "${args[@]}"
off=$(median "${V[migrations]}")
[ "$off" -ge 0 ] || skip_all "the kernel does not count migrations (CONFIG_SCHED_DEBUG)"
feature_on
loads "migrations share_late" "${args[@]}"
expect "migrations" "$(median "${V[migrations]}")" "<=" $((off + off / 4 + 10 * THREADS))
expect "share of samples in one LLC" "$(median "${V[share_late]}")" ">=" "$TOGETHER"

ktap_finished
