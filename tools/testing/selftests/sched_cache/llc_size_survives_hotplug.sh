#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The size and the number of an LLC are those of the cache: they are right from boot on,
# and stay so when SMT siblings or single CPUs go offline and come back.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_feature
need_llcs 1
need_cache_size
state=$SCHED_DEBUGFS/llc_state
[ -e "$state" ] || skip_all "no $state"
[ "${LLC[llc0_cpus]}" -ge 3 ] || skip_all "needs LLCs of three CPUs"
# Not the first, which can often not go offline.
cpu=$(cpus_of "${LLC[llc0_list]}" | tail -n 1)
has_hotplug "$cpu" || skip_all "CPU $cpu cannot go offline"
smt=$((LLC[llc0_cpus] > LLC[llc0_cores]))
test_plan 6

# field NAME: a field of the line of the LLC that has the first CPU of LLC 0
first=$(cpus_of "${LLC[llc0_list]}" | head -n 1)
field()
{
	gawk -v first="$first" -v name="$1" '/^llc [0-9]+:/ && $4 ~ "^" first "[-,]" {
		if (name == "id") print $2 + 0
		for (i = 3; i < NF; i++) if ($i == name) print $(i + 1)
	}' "$state"
}

all()
{
	echo "id $(field id) size $(field size)"
}

# What the hardware says, of a CPU that stays
hardware()
{
	local dir size=0 level=0

	for dir in "/sys/devices/system/cpu/cpu$first"/cache/index*; do
		if [ "$(<"$dir/level")" -ge "$level" ]; then
			level=$(<"$dir/level")
			size=$(<"$dir/size")
		fi
	done
	echo "${size%K}"
}

defer cpus_online 1 "$cpu"
before=$(all)
expect_text "size as the hardware has it" "$(field size)" "$(hardware)"
expect_text "cores" "$(field cores)" "${LLC[llc0_cores]}"

cpus_online 0 "$cpu"
sleep 0.1
expect_text "a CPU offline: number and size" "$(all)" "$before"
# A core that has lost one sibling is still a core.
expect_text "a CPU offline: cores" "$(field cores)" $((LLC[llc0_cores] - (smt ? 0 : 1)))

cpus_online 1 "$cpu"
sleep 0.1
expect_text "back again: number and size" "$(all)" "$before"
expect_text "back again: cores" "$(field cores)" "${LLC[llc0_cores]}"

ktap_finished
