#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The knob switched as fast as possible under load, together with rebuilds of the
# domains: no warning, the knob works at the end, and so does the feature.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 6

last=$((LLC[llcs] - 1))
cpu=$(cpus_of "${LLC[llc${last}_list]}" | tail -n 1)
hotplug=
if has_hotplug "$cpu"; then
	hotplug=1
	defer cpus_online 1 "$cpu"
fi
knob=$(knob_file enabled)
taint_before=$(taint)

feature_off
load_start --procs 2 --threads "$THREADS" --scatter --main fork --seconds 60
"$SC_DIR/llc_load" --mode pingpong --threads 8 --seconds 60 >/dev/null &
talk=$!
defer kill_quietly "$talk"
for ((i = 0, end = $(now_ms) + 700 * RUNS; $(now_ms) < end; i++)); do
	echo $((i % 2)) >"$knob"
	if [ -n "$hotplug" ] && [ $((i % 30)) -eq 15 ]; then
		cpus_online 0 "$cpu"
		echo $((i / 30 % 2)) >"$knob"
		cpus_online 1 "$cpu"
	fi
	[ $((i % 5)) -ne 0 ] || sleep 0.003
done
say "the knob was written $i times"
kill -0 "$LOAD_PID" "$talk" || bail_out "a load died: $(<"$SC_TMP/load.err")"
kill_quietly "$LOAD_PID" "$talk"
wait "$LOAD_PID" "$talk" || true

expect_text "no warning from the kernel" "$(taint)" "$taint_before"
feature_off
expect_text "the knob is off" "$(knob_get enabled)" 0
feature_on
expect_text "the knob is on" "$(knob_get enabled)" 1

args=(--threads "$THREADS" --scatter --seconds 0.4)
expect_gathered "afterwards" "${args[@]}"
control_apart "control: feature off" "${args[@]}"

ktap_finished
