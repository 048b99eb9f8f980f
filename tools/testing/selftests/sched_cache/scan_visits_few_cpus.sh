#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A scan looks at the CPUs where the process ran lately, not at those of the machine.
# With the feature bit SC_VISIT off it looks at all of them; switched back on while
# the process runs it misses none.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
events=/sys/kernel/tracing/events/sched_cache/sched_cache_scan
[ -w "$events/enable" ] || skip_all "no $events: mount tracefs, use a kernel with CONFIG_FTRACE"
features=$SCHED_DEBUGFS/features
grep -qw -E '(NO_)?SC_VISIT' "$features" || skip_all "this kernel has no feature bit SC_VISIT"
[ "${LLC[cpus]}" -gt $((2 * THREADS)) ] || skip_all "needs more CPUs than twice $THREADS"
test_plan 4

trace=/sys/kernel/tracing/trace
defer write_to "$features" SC_VISIT
defer write_to "$events/enable" 0
feature_on
write_to "$events/enable" 1

# scans FIELD [SECONDS]: this field of the scans of the last load
scans()
{
	gawk -v tgid="tgid=$(pgrep -P "$LOAD_PID")" -v field="$1=" '
		index($0, tgid " ") { for (i = 1; i <= NF; i++) if (index($i, field) == 1)
			print substr($i, length(field) + 1) }' "$trace"
}

# The process is gathered and its start forgotten.
load_start --threads "$THREADS" --scatter --seconds 60
sleep 0.3
: >"$trace"
sleep 0.2
cpus=$(scans cpus)
# The main thread is asleep; a tick may take a thread to another CPU now and then.
expect "CPUs looked at, median" "$(median "$cpus")" "<=" $((THREADS + 1))

write_to "$features" NO_SC_VISIT
: >"$trace"
sleep 0.1
expect "without SC_VISIT, fewest" "$(smallest "$(scans cpus)")" ">=" "${LLC[cpus]}"

write_to "$features" SC_VISIT
sleep 0.1
: >"$trace"
sleep 0.2
expect "with SC_VISIT again, median" "$(median "$(scans cpus)")" "<=" $((THREADS + 1))
# Blind CPUs would have their threads missing from the average.
expect "running threads then, median" "$(median "$(scans running)")" ">" \
	"$(gawk -v n="$THREADS" 'BEGIN { print n - 0.5 }')"
kill_quietly "$LOAD_PID"

ktap_finished
