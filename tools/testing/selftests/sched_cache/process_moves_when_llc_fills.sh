#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process whose LLC is filled by other work moves whole to another one within a
# second and stays there.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 2

# programs of one thread: they prefer no LLC
expect_moves 1

ktap_finished
