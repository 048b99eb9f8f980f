#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs with one thread cost no memory, alive or dead.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_feature
test_plan 3

# Memory in KiB: per-CPU, slab
memory()
{
	# what is freed after a grace period
	sleep 0.2
	gawk '/^Percpu:/ { p = $2 } /^Slab:/ { s = $2 } END { print p, s }' /proc/meminfo
}

churn()
{
	"$SC_DIR/forkexec" --mode fork --loops "$1" >/dev/null
	"$SC_DIR/forkexec" --mode vfork --loops $(($1 / 3)) >/dev/null
}

# Growth by programs that come and go, in PERCPU and SLAB
dead()
{
	local loops=$((500 * RUNS)) percpu slab percpu_after slab_after

	read -r percpu slab < <(memory)
	churn "$loops"
	read -r percpu_after slab_after < <(memory)
	say "$loops forks, $((loops / 3)) execs, feature $(knob_get enabled):" \
		"Percpu $percpu -> $percpu_after KiB, Slab $slab -> $slab_after KiB"
	PERCPU=$((percpu_after - percpu))
	SLAB=$((slab_after - slab))
}

# The first time fills what caches there are. Then it still grows by what the
# kernel frees late.
feature_off
dead
dead
off_percpu=$PERCPU
off_slab=$SLAB
feature_on
dead
expect "growth of Percpu, KiB" "$PERCPU" "<=" $((off_percpu + 64))
expect "growth of Slab, KiB" "$SLAB" "<=" $((off_slab + 128))

# Per-CPU memory of a hundred programs that are alive, and wait at a fifo
alive()
{
	local pids=() i before after _

	read -r before _ < <(memory)
	for ((i = 0; i < 100; i++)); do
		(read -r _ <"$SC_TMP/fifo") &
		pids+=("$!")
	done
	read -r after _ < <(memory)
	kill_quietly "${pids[@]}"
	wait
	say "100 programs, feature $(knob_get enabled): Percpu $before -> $after KiB"
	GROWTH=$((after - before))
}

mkfifo "$SC_TMP/fifo"
feature_off
alive
off=$GROWTH
feature_on
alive
expect "Percpu of 100 programs, KiB" "$GROWTH" "<=" $((off + 32))

ktap_finished
