#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# On a machine with one LLC the feature does nothing and says so; the knob can be written.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_feature
reason=$(llc_read) || skip_all "$reason"
llc_read
[ "${LLC[llcs]}" -eq 1 ] || skip_all "this machine has ${LLC[llcs]} LLCs"
test_plan 3

feature_on
expect_text "the knob reads 1" "$(knob_get enabled)" 1
state=$(head -n 1 "$SCHED_DEBUGFS/llc_state" 2>/dev/null || true)
say "$state"
case $state in
"active: no ("*) ktap_test_pass "the state says that it is not active, and why" ;;
*) ktap_test_fail "the state says that it is not active, and why" ;;
esac
feature_off
expect_text "the knob reads 0" "$(knob_get enabled)" 0

ktap_finished
