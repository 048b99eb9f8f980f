#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# llc_aggr_tolerance 0: no process is gathered.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
knob_file aggr_tolerance >/dev/null || skip_all "this kernel has no llc_aggr_tolerance"
test_plan 2

knob_set aggr_tolerance 0
expect_left_alone "tolerance 0" --threads "$THREADS" --scatter --seconds 0.3

ktap_finished
