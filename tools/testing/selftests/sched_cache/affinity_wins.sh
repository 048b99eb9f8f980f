#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where a thread may run goes before where it would like to run: masks that leave
# little of an LLC, a pinned thread, a mask that changes under way.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
[ "$THREADS" -ge 4 ] || skip_all "needs LLCs of four cores"
command -v taskset >/dev/null || skip_all "needs taskset"
command -v pgrep >/dev/null || skip_all "needs pgrep"
test_plan 6

feature_on

# Only two CPUs of the first LLC: whatever is preferred, nobody waits for one of
# them while the second LLC has idle CPUs.
mask=$(first_cpus 2 "${LLC[llc0_list]}"),${LLC[llc1_list]}
loads "outside run_min_pct" --threads "$THREADS" --scatter --cpus "$mask" --seconds 0.4
expect "narrow mask: samples on forbidden CPUs" "$(sum "${V[outside]}")" "==" 0
expect "narrow mask: run time of the thread that got least, %" \
	"$(median "${V[run_min_pct]}")" ">=" 90

# A thread that must stay in the second LLC
loads "outside share_late" --threads "$THREADS" --scatter --seconds 0.4 \
	--pin-thread "0:$(first_cpus 1 "${LLC[llc1_list]}")"
expect "pinned thread: samples elsewhere" "$(sum "${V[outside]}")" "==" 0
expect "pinned thread: share of the others in one LLC" "$(median "${V[share_late]}")" \
	">=" "$TOGETHER"

# Together in one LLC, then allowed in the other only
load_start --threads "$THREADS" --scatter --seconds 1.3
sleep 0.3
read -r _ home < <(last_sample)
target=$((home == 0 ? 1 : 0))
taskset -acp "${LLC[llc${target}_list]}" "$(pgrep -P "$LOAD_PID")" >/dev/null
sleep 0.05
read -r from _ < <(last_sample)
load_finish
# A thread that has stopped does not tell where it is.
gawk -v x="$from" 'BEGIN { exit !(x < 1200) }' ||
	bail_out "the mask was changed too late, after $from of 1300 ms"
expect "changed mask: share of samples where they are allowed" \
	"$(samples_share "$from" "$target")" ">=" 99.9
expect "changed mask: run time of the thread that got least, %" "${R[run_min_pct]}" ">=" 85

ktap_finished
