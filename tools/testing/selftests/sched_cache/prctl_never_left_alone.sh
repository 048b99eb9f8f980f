#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process that asked for it with prctl() is left alone, and taken up again when it,
# or somebody else, asks for the default.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
need_prctl
test_plan 5

args=(--threads "$THREADS" --scatter --seconds 0.4)

feature_off
load "${args[@]}"
off=${R[share_late]}
feature_on
LOAD_WITH=("$SC_DIR/llc_mode" never --)
loads share_late "${args[@]}"
expect "never: share of samples in one LLC" "$(median "${V[share_late]}")" "<=" \
	"$(gawk -v x="$off" 'BEGIN { print x + 10 }')"
LOAD_WITH=()
loads share_late "${args[@]}"
expect "control: default" "$(median "${V[share_late]}")" ">=" "$TOGETHER"

# Set from outside while it runs: scattered, then together, then kept no more.
LOAD_WITH=("$SC_DIR/llc_mode" never --)
load_start --threads "$THREADS" --scatter --seconds 1
LOAD_WITH=()
sleep 0.3
pid=$(pgrep -P "$LOAD_PID")
expect_text "gate in /proc/PID/sched" "$(sched_field "$pid" gate)" never
read -r from _ < <(last_sample)
"$SC_DIR/llc_mode" default "$pid"
load_finish
expect "never at first: share of samples in one LLC" "$(samples_busiest 0 "$from")" "<=" \
	"$(gawk -v x="$off" 'BEGIN { print x + 10 }')"
expect "default from then on: share of samples in one LLC" \
	"$(samples_busiest "$((${from%.*} + GATHER_MS))")" ">=" "$TOGETHER"

ktap_finished
