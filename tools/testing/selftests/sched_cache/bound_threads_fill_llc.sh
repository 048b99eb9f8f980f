#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Threads of processes that may only run in one LLC fill it like any others: a process
# that lives there moves to another one.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 2

# programs of two threads
expect_moves 2

ktap_finished
