#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process with more running threads than an LLC has cores is left to the ordinary
# balancer.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
threads=0
for ((i = 0; i < LLC[llcs]; i++)); do
	n=$((${LLC[llc${i}_cores]} * 3 / 2))
	threads=$((n > threads ? n : threads))
done
[ "$threads" -le "${LLC[cpus]}" ] || skip_all "needs $threads CPUs in LLCs, has ${LLC[cpus]}"
test_plan 3

args=(--threads "$threads" --scatter --seconds 0.4)

expect_left_alone "$threads threads" "${args[@]}"
expect "run time of the thread that got least, %" "$(median "${V[run_min_pct]}")" ">=" 85

ktap_finished
