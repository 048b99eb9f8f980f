#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The knob: 0 and 1 are taken, nothing else; both of its files show the same; the state
# file tells whether the feature is really active.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_feature
test_plan 12

knob=$(knob_file enabled)
state=$SCHED_DEBUGFS/llc_state
reason=$(llc_read) || true

active()
{
	[ ! -e "$state" ] || sed -n 's/^active: \([a-z]*\).*/\1/p' "$state"
}

for value in 0 1 0 1; do
	knob_set enabled "$value"
	expect_text "after writing $value the knob reads it" "$(knob_get enabled)" "$value"
done

for bad in 2 -1 4294967297 x ""; do
	if write_to "$knob" "$bad"; then
		ktap_test_fail "'$bad' is refused"
	else
		expect_text "'$bad' is refused and changes nothing" "$(knob_get enabled)" 1
	fi
done

if [ -e "$SCHED_DEBUGFS/llc_enabled" ] && [ -e "$SCHED_DEBUGFS/llc_balancing/enabled" ]; then
	write_to "$SCHED_DEBUGFS/llc_balancing/enabled" 0
	expect_text "both files are the same knob" "$(<"$SCHED_DEBUGFS/llc_enabled")" 0
else
	ktap_test_skip "both files are the same knob: there is only $knob"
fi

if [ ! -e "$state" ]; then
	ktap_test_skip "off: not active: no $state"
	ktap_test_skip "on: active: no $state"
	ktap_finished
fi
feature_off
expect_text "off: not active" "$(active)" no
feature_on
expect_text "on: active if there are several LLCs" "$(active)" \
	"$([ -z "$reason" ] && llc_read && [ "${LLC[llcs]}" -ge 2 ] && echo yes || echo no)"

ktap_finished
