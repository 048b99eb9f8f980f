#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs with one thread cost no memory, alive or dead.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_feature
[ -r /proc/slabinfo ] || skip_all "no /proc/slabinfo"
test_plan 4

FORKS=$((500 * RUNS))
EXECS=$((200 * RUNS))

# Let go what is freed after a grace period, and empty slabs.
settle()
{
	local file

	sleep 0.2
	for file in /sys/kernel/slab/*/shrink; do
		[ ! -e "$file" ] || write_to "$file" 1
	done
}

percpu_kib()
{
	gawk '/^Percpu:/ { print $2 }' /proc/meminfo
}

# "NAME OBJECTS" of each slab cache. The kernel frees areas of vmalloc, that is
# stacks of tasks, only once there are many of them.
objects()
{
	gawk 'NR > 2 && $1 != "vmap_area" { print $1, $2 }' /proc/slabinfo
}

# Per-CPU memory of a hundred programs that are alive, and wait at a fifo
alive()
{
	local pids=() i before after _

	settle
	before=$(percpu_kib)
	for ((i = 0; i < 100; i++)); do
		(read -r _ <"$SC_TMP/fifo") &
		pids+=("$!")
	done
	settle
	after=$(percpu_kib)
	kill_quietly "${pids[@]}"
	wait
	say "100 programs, feature $(knob_get enabled): Percpu $before -> $after KiB"
	GROWTH=$((after - before))
}

feature_on
"$SC_DIR/forkexec" --loops 200 >/dev/null
settle
percpu=$(percpu_kib)
objects >"$SC_TMP/before"
"$SC_DIR/forkexec" --mode fork --loops "$FORKS" >/dev/null
"$SC_DIR/forkexec" --mode vfork --loops "$EXECS" >/dev/null
settle
percpu_after=$(percpu_kib)
objects >"$SC_TMP/after"

say "$FORKS forks, $EXECS execs: Percpu $percpu -> $percpu_after KiB"
expect "growth of Percpu, KiB" $((percpu_after - percpu)) "<=" 64
most=$(gawk 'NR == FNR { before[$1] = $2; next } { print $2 - before[$1], $1 }' \
	"$SC_TMP/before" "$SC_TMP/after" | sort -gr | head -n 1)
say "slab cache that grew most: ${most#* }"
expect "objects that are left of $((FORKS + EXECS)) programs" "${most% *}" "<=" \
	$(((FORKS + EXECS) / 4))

mkfifo "$SC_TMP/fifo"
feature_off
alive
off=$GROWTH
feature_on
alive
expect "Percpu of 100 programs, KiB" "$GROWTH" "<=" $((off + 32))

# One that runs for long enough to be looked at
bash -c 'while :; do :; done' &
busy=$!
defer kill_quietly "$busy"
sleep 0.3
expect_text "a busy program has no group: gate" "$(sched_field "$busy" gate)" none

ktap_finished
