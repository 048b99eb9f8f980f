#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Threads that sleep most of the time and are woken by timers, started in
# different LLCs, come together: the wakeup must bring them, the load balancer hardly
# ever finds one of them queued.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 2

args=(--mode nap --threads "$THREADS" --scatter --seconds 0.5)

feature_on
loads share_late "${args[@]}"
expect "sleeping threads: share of samples in one LLC" "$(median "${V[share_late]}")" \
	">=" "$TOGETHER"
control_apart "control: feature off" "${args[@]}"

ktap_finished
