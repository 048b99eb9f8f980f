#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A thread of the process on an isolated CPU, which is in no LLC, does not keep the
# others from coming together.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
isolated=$(</sys/devices/system/cpu/isolated)
[ -n "$isolated" ] || skip_all "no isolated CPU: boot with isolcpus=LAST_CPU"
cpu=$(first_cpus 1 "$isolated")
test_plan 4

args=(--threads "$THREADS" --scatter --pin-thread "$((THREADS - 1)):$cpu" --seconds 0.4)

before=$(stat_of pref_changes)
expect_gathered "the other threads" "${args[@]}"
# It is elected once in a start, and given up at its end.
expect "changes of a preference" $(($(stat_of pref_changes) - before)) "<=" $((3 * RUNS))
control_apart "control: feature off" "${args[@]}"

ktap_finished
