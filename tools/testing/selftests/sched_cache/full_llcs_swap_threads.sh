#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Processes that fill an LLC each, all threads of which are in somebody else's: no CPU is
# idle anywhere, so threads have to change places to come together.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
for ((i = 0; i < LLC[llcs]; i++)); do
	[ "${LLC[llc${i}_cpus]}" -eq "${LLC[llc0_cpus]}" ] || skip_all "needs LLCs of one size"
	[ "${LLC[llc${i}_cpus]}" -eq "${LLC[llc${i}_cores]}" ] ||
		skip_all "needs one CPU in a core: processes that fill an LLC have one thread for each"
done
[ -e /proc/sys/kernel/numa_balancing ] ||
	skip_all "needs a kernel with CONFIG_NUMA_BALANCING, which has what swaps two tasks"
test_plan 2

args=(--procs "${LLC[llcs]}" --threads "${LLC[llc0_cpus]}" --scatter --watch-fifo 1 --seconds 0.6)

feature_on
loads "share_late llc" "${args[@]}"
# The watcher takes its turn on one CPU.
expect "share of each in one LLC, median" "$(median "${V[share_late]}")" ">=" "$TOGETHER"
control_apart "control: feature off" "${args[@]}"

ktap_finished
