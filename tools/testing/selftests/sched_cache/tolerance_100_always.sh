#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# llc_aggr_tolerance 100: the gates are ignored, also by a process that streams
# through far more memory than an LLC holds.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
need_cache_size
need_memory_kib $((CACHE_KIB * 10))
knob_file aggr_tolerance >/dev/null || skip_all "this kernel has no llc_aggr_tolerance"
test_plan 2

args=(--mode triad --threads "$THREADS" --scatter --bytes "$((CACHE_KIB * 8))K" --seconds 0.5)

knob_set aggr_tolerance 100
feature_on
loads share_late "${args[@]}"
expect "triad, tolerance 100: share of samples in one LLC" "$(median "${V[share_late]}")" \
	">=" "$TOGETHER"
control_apart "control: feature off" "${args[@]}"

ktap_finished
