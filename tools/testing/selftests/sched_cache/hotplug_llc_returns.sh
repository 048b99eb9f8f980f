#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An LLC whose CPUs all go offline and come back, under load, is the same LLC as before:
# same CPUs, same number, and processes are gathered as before.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
last=$((LLC[llcs] - 1))
cpus=${LLC[llc${last}_list]}
has_hotplug "$cpus" || skip_all "CPUs $cpus cannot go offline"
test_plan 6

# Number, CPUs and size of each LLC, without what changes with the load
state()
{
	[ ! -e "$SCHED_DEBUGFS/llc_state" ] ||
		sed -n 's/^\(llc [0-9].* KiB\).*/\1/p' "$SCHED_DEBUGFS/llc_state"
}

before=$(declare -p LLC)
state_before=$(state)
if [ -e "$SCHED_DEBUGFS/llc_state" ] && [ -z "$state_before" ]; then
	bail_out "no line of an LLC in $SCHED_DEBUGFS/llc_state"
fi
taint_before=$(taint)
defer cpus_online 1 "$cpus"

feature_on
load_start --threads "$THREADS" --scatter --seconds 60
sleep 0.1
cpus_online 0 "$cpus"
say "without CPUs $cpus: $(state | tail -n 1)"
sleep 0.1
kill -0 "$LOAD_PID" || bail_out "the load died: $(<"$SC_TMP/load.err")"
cpus_online 1 "$cpus"
sleep 0.1
kill_quietly "$LOAD_PID"
wait "$LOAD_PID" || true

llc_read || true
expect_text "the LLCs are the same" "$(declare -p LLC)" "$before"
expect_text "the state file is the same" "$(state)" "$state_before"
expect_text "no warning from the kernel" "$(taint)" "$taint_before"

args=(--threads "$THREADS" --scatter --seconds 0.4)
expect_gathered "afterwards" "${args[@]}"
control_apart "control: feature off" "${args[@]}"

ktap_finished
