#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process that fits an LLC on average, but whose threads wake by more than the LLC has
# CPUs at once, is not kept there: its tasks would wait while CPUs elsewhere are idle.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 3

# bench: requests per second, p99 of the wakeup, gate near the end
bench()
{
	"$SC_DIR/schbench_lite" --workers $((2 * LLC[cpus])) --seconds 1 >"$SC_TMP/bench" &
	local pid=$!

	defer kill_quietly "$pid"
	sleep 0.8
	GATE=$(sched_field "$pid" gate)
	wait "$pid" || bail_out "schbench_lite failed"
	RPS+=" $(value_of rps <"$SC_TMP/bench")"
	P99+=" $(value_of wakeup_p99_us <"$SC_TMP/bench")"
}

RPS='' P99=''
feature_off
for ((i = 0; i < RUNS; i++)); do bench; done
off_rps=$(median "$RPS")
off_p99=$(largest "$P99")
say "off: requests per second$RPS, p99 of the wakeup$P99 us"

RPS='' P99='' gates=
feature_on
for ((i = 0; i < RUNS; i++)); do
	bench
	gates+=" $GATE"
done
say "on: requests per second$RPS, p99 of the wakeup$P99 us, gate$gates"
expect "requests per second" "$(median "$RPS")" ">=" "$(gawk -v x="$off_rps" 'BEGIN { print 0.97 * x }')"
# Its worst: the tail is noisy.
expect "p99 of the wakeup, us" "$(median "$P99")" "<=" "$(gawk -v x="$off_p99" 'BEGIN { print 1.1 * x }')"

# Gathered all the same, so that the gate is what makes the difference.
knob_set aggr_tolerance 100
bench
expect_text "control: gate with tolerance 100" "$GATE" open

ktap_finished
