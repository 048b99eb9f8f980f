#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Threads that sleep most of the time come together also where nothing but their
# wakeups can bring them: with the scheduler feature SC_HOME, which moves running
# threads, switched off.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
features=$SCHED_DEBUGFS/features
for feature in SC_HOME SC_WAKE; do
	grep -qw "$feature" "$features" || skip_all "$feature is not on in $features"
done
test_plan 2

args=(--mode nap --threads "$THREADS" --scatter --seconds 0.5)

feature_on
defer write_to "$features" SC_HOME
write_to "$features" NO_SC_HOME
loads share_late "${args[@]}"
expect "woken threads: share of samples in one LLC" "$(median "${V[share_late]}")" \
	">=" "$TOGETHER"

defer write_to "$features" SC_WAKE
write_to "$features" NO_SC_WAKE
load "${args[@]}"
control "control: without SC_WAKE too" "${R[share_late]}"

ktap_finished
