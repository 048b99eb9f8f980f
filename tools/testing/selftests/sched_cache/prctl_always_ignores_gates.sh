#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process that asked for it with prctl() is gathered although a gate is closed for
# it: its working set is too large, or the machine's default is to gather nobody.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
need_prctl
need_cache_size
need_memory_kib $((CACHE_KIB * 10))
knob_file aggr_tolerance >/dev/null || skip_all "this kernel has no llc_aggr_tolerance"
test_plan 4

triad=(--mode triad --threads "$THREADS" --scatter --bytes "$((CACHE_KIB * 8))K" --seconds 0.5)
small=(--threads "$THREADS" --scatter --seconds 0.4)

feature_on
LOAD_WITH=("$SC_DIR/llc_mode" always --)
loads share_late "${triad[@]}"
expect "always, triad: share of samples in one LLC" "$(median "${V[share_late]}")" \
	">=" "$TOGETHER"
knob_set aggr_tolerance 0
loads share_late "${small[@]}"
expect "always, tolerance 0: share of samples in one LLC" "$(median "${V[share_late]}")" \
	">=" "$TOGETHER"
LOAD_WITH=()
loads share_late "${small[@]}"
control "control: default, tolerance 0" "$(median "${V[share_late]}")"
knob_set aggr_tolerance 1
loads share_late "${triad[@]}"
control "control: default, triad" "$(median "${V[share_late]}")"

ktap_finished
