#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process with more running threads than an LLC has cores is left to the ordinary
# balancer.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
# Two more than the cores of the largest LLC
threads=0
cpus=0
for ((i = 0; i < LLC[llcs]; i++)); do
	n=$((${LLC[llc${i}_cores]} + 2))
	threads=$((n > threads ? n : threads))
	n=${LLC[llc${i}_cpus]}
	cpus=$((n > cpus ? n : cpus))
done
[ "$threads" -le "${LLC[cpus]}" ] || skip_all "needs $threads CPUs in LLCs, has ${LLC[cpus]}"
test_plan 3

args=(--threads "$threads" --scatter --seconds 0.6)

feature_off
loads "share_late run_min_pct" "${args[@]}"
off=$(median "${V[share_late]}")
off_run=$(median "${V[run_min_pct]}")
control "control: $threads threads, feature off" "$off"

# As many of them in one LLC as it has CPUs would be the most. Halfway is too far.
feature_on
loads "share_late run_min_pct" "${args[@]}"
limit=$(gawk -v off="$off" -v cpus="$cpus" -v threads="$threads" \
	'BEGIN { most = cpus < threads ? 100 * cpus / threads : 100; print (off + most) / 2 }')
expect "$threads threads: share of samples in one LLC" "$(median "${V[share_late]}")" \
	"<=" "$limit"
expect "run time of the thread that got least, %" "$(median "${V[run_min_pct]}")" ">=" \
	"$(gawk -v x="$off_run" 'BEGIN { print x - 10 }')"

ktap_finished
