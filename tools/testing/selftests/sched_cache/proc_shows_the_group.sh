#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# /proc/PID/sched says of a process where it should be, where it is, how many threads
# run and which gate is closed for it.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
need_prctl
[ -e "$SCHED_DEBUGFS/llc_state" ] || skip_all "no $SCHED_DEBUGFS/llc_state"
test_plan 9

feature_on
expect_text "one thread: gate" "$(sched_field self gate)" none
expect_text "one thread: mode" "$(sched_field self mode)" default

load_start --threads "$THREADS" --scatter --seconds 60
sleep 0.3
pid=$(pgrep -P "$LOAD_PID")
read -r _ home < <(last_sample)
expect_text "gathered: gate" "$(sched_field "$pid" gate)" open
expect_text "gathered: CPUs of the preferred LLC" \
	"$(sed -n "s/^llc $(sched_field "$pid" pref_llc): cpus \([^ ]*\) .*/\1/p" "$SCHED_DEBUGFS/llc_state")" \
	"${LLC[llc${home}_list]}"
expect "gathered: share there, %" "$(sched_field "$pid" share_pct)" ">=" 95
running=$(sched_field "$pid" running)
expect "gathered: running threads" "$running" ">=" "$(gawk -v n="$THREADS" 'BEGIN { print n - 0.5 }')"
expect "gathered: running threads" "$running" "<=" "$(gawk -v n="$THREADS" 'BEGIN { print n + 0.5 }')"
kill_quietly "$LOAD_PID"
wait "$LOAD_PID" || true

# More threads than cores, also with SMT
load_start --threads $((LLC[llc0_cores] * 2)) --scatter --seconds 60
sleep 0.3
pid=$(pgrep -P "$LOAD_PID")
expect_text "wide: gate" "$(sched_field "$pid" gate)" threads
expect_text "wide: preferred LLC" "$(sched_field "$pid" pref_llc)" -1
kill_quietly "$LOAD_PID"

ktap_finished
