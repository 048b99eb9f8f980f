#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process that ran on all CPUs for a while, more threads than an LLC has cores, and
# is left with a few of them is gathered like any other: the average that closed the
# gate must not have latched.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 3

args=(--threads "$THREADS" --burst "${LLC[cpus]}:0.4" --scatter --seconds 0.4)
GATHER_MS=100

expect_gathered "the threads that are left" "${args[@]}"
control_apart "control: feature off" "${args[@]}"

ktap_finished
