#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the tests of this directory share. A test sources this file, says what
# it needs, plans its checks and makes them; everything it changes comes back.
#
# Environment:
#   SCHED_CACHE_TEST_RUNS  starts that a median is taken of (default 3);
#                          durations grow with it where a test is about time
#
# Placement is decided on medians over several starts, of shares of samples,
# never on one sample. A control, the same load with the feature off, shows that
# the check could have failed; where the load gathers by itself it proves nothing
# and the control is skipped.

set -eu

# shellcheck source=common.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/common.sh"

if [ ! -e "$SC_DIR/../kselftest/ktap_helpers.sh" ]; then
	echo "1..0 # SKIP no ktap_helpers.sh in $SC_DIR/../kselftest: use 'make run_tests' or 'make install'"
	exit 4
fi
# shellcheck source=/dev/null
. "$SC_DIR/../kselftest/ktap_helpers.sh"

RUNS=${SCHED_CACHE_TEST_RUNS:-3}
[[ $RUNS =~ ^[1-9][0-9]{0,3}$ ]] || {
	echo "Bail out! SCHED_CACHE_TEST_RUNS: '$RUNS' is not a positive number"
	exit 1
}

# Share of samples in one LLC, in percent: from here on a process is together;
# up to there it is as apart as without the feature.
TOGETHER=99
APART=90

# What a scattered process may take to come together, in ms. The feature's aim
# is 30; a test that runs on any machine leaves some room.
GATHER_MS=60

# What a process may take to move to another LLC when its own is filled, in ms
MOVE_MS=1000

#
# Needs: skip the whole test when one is not met.
#

skip_all()
{
	ktap_skip_all "$*"
	exit "$KSFT_SKIP"
}

need_root()
{
	[ "$(id -u)" -eq 0 ] || skip_all "needs root"
	[ -d "$SCHED_DEBUGFS" ] ||
		skip_all "no $SCHED_DEBUGFS: mount debugfs, use a kernel with CONFIG_SCHED_DEBUG"
}

need_feature()
{
	need_root
	knob_file enabled >/dev/null ||
		skip_all "this kernel has no cache-aware scheduling (CONFIG_SCHED_CACHE)"
}

# need_llcs N: at least so many, of CPUs that this process may use
need_llcs()
{
	local reason

	reason=$(llc_read) || skip_all "$reason"
	llc_read
	[ "${LLC[llcs]}" -ge "$1" ] || skip_all "needs $1 LLCs, this machine has ${LLC[llcs]}"
}

# THREADS: threads of a process that every LLC has the cores for, an even number of
# at most four. WORKERS: the same with one core left for the main thread.
need_threads()
{
	local i

	THREADS=5
	for ((i = 0; i < LLC[llcs]; i++)); do
		if [ "${LLC[llc${i}_cores]}" -lt "$THREADS" ]; then
			THREADS=${LLC[llc${i}_cores]}
		fi
	done
	[ "$THREADS" -ge 2 ] || skip_all "needs LLCs of two cores"
	# shellcheck disable=SC2034 # for the tests
	WORKERS=$((THREADS - 1))
	THREADS=$((THREADS / 2 * 2))
}

# The usual beginning of a placement test
need_placement()
{
	need_feature
	need_llcs 2
	need_threads
}

need_prctl()
{
	"$SC_DIR/llc_mode" get >/dev/null 2>&1 ||
		skip_all "this kernel has no prctl(PR_SCHED_CACHE)"
}

# sched_field PID NAME: a line of /proc/PID/sched, without its prefix
sched_field()
{
	gawk -v key="sched_cache.$2" '$1 == key { sub(/.*: */, ""); print }' "/proc/$1/sched"
}

need_memory_kib()
{
	local free

	free=$(gawk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
	[ "$free" -ge "$1" ] || skip_all "needs $1 KiB of memory, $free are available"
}

# Sets CACHE_KIB, the largest LLC
need_cache_size()
{
	local i

	CACHE_KIB=0
	for ((i = 0; i < LLC[llcs]; i++)); do
		if [ "${LLC[llc${i}_kib]}" -gt "$CACHE_KIB" ]; then
			CACHE_KIB=${LLC[llc${i}_kib]}
		fi
	done
	[ "$CACHE_KIB" -gt 0 ] || skip_all "the size of the LLCs is not known"
}

# A cgroup of our own, $1 the name; sets CGROUP. Empty and gone at the end.
need_cpuset_cgroup()
{
	local root

	root=$(gawk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$root" ] || skip_all "cgroup2 is not mounted"
	grep -qw cpuset "$root/cgroup.controllers" || skip_all "cgroup2 has no cpuset controller"
	if ! grep -qw cpuset "$root/cgroup.subtree_control"; then
		write_to "$root/cgroup.subtree_control" +cpuset ||
			skip_all "cannot enable the cpuset controller"
		defer write_to "$root/cgroup.subtree_control" -cpuset
	fi
	CGROUP=$root/sched_cache_$1.$$
	mkdir "$CGROUP" || skip_all "cannot create $CGROUP"
	defer rmdir "$CGROUP"
}

#
# The course of a test
#

# test_plan N: how many checks there will be. After all needs.
test_plan()
{
	ktap_print_header
	ktap_set_plan "$1"
}

say()
{
	ktap_print_msg "$*"
}

bail_out()
{
	ktap_exit_fail_msg "$*"
}

# expect WHAT VALUE OPERATOR LIMIT: one check, a comparison of numbers
expect()
{
	local what=$1 value=$2 operator=$3 limit=$4

	if [ -n "$value" ] && gawk -v a="$value" -v b="$limit" -v op="$operator" 'BEGIN {
		a += 0; b += 0
		exit !(op == ">=" ? a >= b : op == "<=" ? a <= b : op == "==" ? a == b : a > b)
	}'; then
		say "$what: $value (want $operator $limit)"
		ktap_test_pass "$what"
	else
		say "$what: ${value:-no value} (want $operator $limit)"
		ktap_test_fail "$what"
	fi
}

# expect_text WHAT VALUE WANTED
expect_text()
{
	if [ "$2" = "$3" ]; then
		ktap_test_pass "$1"
	else
		say "$1: '$2', want '$3'"
		ktap_test_fail "$1"
	fi
}

# control WHAT VALUE: the check for TOGETHER could have failed
control()
{
	say "$1: $2 % in one LLC"
	if gawk -v a="$2" -v b="$APART" 'BEGIN { exit !(a < b) }'; then
		ktap_test_pass "$1"
	else
		ktap_test_skip "$1: stays together without the feature too"
	fi
}

#
# Loads
#

feature_on()
{
	knob_set enabled 1
}

feature_off()
{
	knob_set enabled 0
}

# Report of the last load: R[share], R[together_ms], ...
declare -A R=()

load_report()
{
	local key value

	R=()
	while IFS="=" read -r key value; do
		[ -z "$key" ] || R[$key]=$value
	done <"$1"
}

LOAD_WITH=()	# a program that starts a load, such as numactl

# load OPTION...: run llc_load, report in R. The load must work.
load()
{
	"${LOAD_WITH[@]}" "$SC_DIR/llc_load" "$@" >"$SC_TMP/load" 2>"$SC_TMP/load.err" ||
		bail_out "llc_load $* failed: $(<"$SC_TMP/load.err")"
	load_report "$SC_TMP/load"
}

# loads KEYS OPTION...: RUNS starts, each with other accesses. Values of the
# KEYS over all starts (and processes) in V[key], separated by blanks.
declare -A V=()

loads()
{
	local keys=$1 key i

	shift
	for key in $keys; do
		V[$key]=
	done
	for ((i = 1; i <= RUNS; i++)); do
		load --seed "$i" "$@"
		for key in $keys; do
			V[$key]+="${R[$key]//,/ } "
		done
	done
	for key in $keys; do
		say "llc_load $*: $key: ${V[$key]}"
	done
}

# The median, with -1 for "never" counted as endless. Of an even number the worse
# (larger) one.
median()
{
	tr ' ' '\n' <<<"$*" | gawk 'NF { print $1 < 0 ? 1e9 : $1 }' | sort -g |
		gawk '{ v[NR] = $1 } END { print v[int(NR / 2) + 1] == 1e9 ? -1 : v[int(NR / 2) + 1] }'
}

smallest()
{
	tr ' ' '\n' <<<"$*" | gawk 'NF' | sort -g | head -n 1
}

largest()
{
	tr ' ' '\n' <<<"$*" | gawk 'NF' | sort -g | tail -n 1
}

sum()
{
	tr ' ,' '\n' <<<"$*" | gawk '{ s += $1 } END { print s + 0 }'
}

# expect_gathered WHAT OPTION...: two checks, that a process started with these
# options comes together and stays together. The feature is on.
expect_gathered()
{
	local what=$1

	shift
	feature_on
	loads "together_ms share" "$@"
	expect_soon "$what: time until together, ms" "$(median "${V[together_ms]}")" "$GATHER_MS"
	expect "$what: share of samples in one LLC" "$(median "${V[share]}")" ">=" "$TOGETHER"
}

# expect_soon WHAT MS LIMIT: one check of a time, -1 for never
expect_soon()
{
	say "$1: $2 (want <= $3, -1 is never)"
	if gawk -v a="$2" -v b="$3" 'BEGIN { exit !(a >= 0 && a <= b) }'; then
		ktap_test_pass "$1"
	else
		ktap_test_fail "$1"
	fi
}

# control_apart WHAT OPTION...: the same load with the feature off
control_apart()
{
	local what=$1

	shift
	feature_off
	load "$@"
	control "$what" "${R[share_late]//,*/}"
	feature_on
}

# expect_left_alone WHAT OPTION...: two checks, that the load is as little together
# with the feature on as it is with the feature off, and that off it is apart.
expect_left_alone()
{
	local what=$1 off

	shift
	feature_off
	loads share_late "$@"
	off=$(median "${V[share_late]}")
	control "control: $what, feature off" "$off"
	feature_on
	loads share_late "$@"
	expect "$what: share of samples in one LLC" "$(median "${V[share_late]}")" "<=" \
		"$(gawk -v x="$off" 'BEGIN { print x + 10 }')"
}

# load_start OPTION...: llc_load in the background, its samples in $SAMPLES
load_start()
{
	SAMPLES=$SC_TMP/samples
	rm -f "$SAMPLES"
	"${LOAD_WITH[@]}" "$SC_DIR/llc_load" --samples "$SAMPLES" "$@" >"$SC_TMP/load" 2>"$SC_TMP/load.err" &
	LOAD_PID=$!
	# Takes its processes along.
	defer kill_quietly "$LOAD_PID"
}

kill_quietly()
{
	kill "$@" 2>/dev/null || true
}

# Wait for its end; the report is in R.
load_finish()
{
	wait "$LOAD_PID" || bail_out "llc_load failed: $(<"$SC_TMP/load.err")"
	load_report "$SC_TMP/load"
}

# "MS LLC" of the last sample: when it was and the busiest LLC, -1 if the
# threads are in more than one
last_sample()
{
	tail -n 2 "$SAMPLES" | head -n 1 | gawk '{
		llc = -1
		for (i = 3; i <= NF; i++) {
			if ($i)
				used++
			if ($i && i < NF)
				llc = i - 3
		}
		print $1, used == 1 ? llc : -1
	}'
}

# samples_share FROM_MS LLC...: percent of the samples since then in these LLCs
samples_share()
{
	gawk -v from="$1" -v llcs="${*:2}" 'BEGIN { split(llcs, l, " ") }
		$1 >= from {
			for (i = 3; i <= NF; i++)
				all += $i
			for (i in l)
				seen += $(3 + l[i])
		}
		END { printf "%.2f\n", all ? 100 * seen / all : -1 }' "$SAMPLES"
}

# samples_busiest FROM_MS [TO_MS]: percent of the samples of that time in the busiest LLC
samples_busiest()
{
	gawk -v from="$1" -v to="${2:-1e9}" '$1 >= from && $1 < to {
			for (i = 3; i <= NF; i++) {
				all += $i
				seen[i] += $i
			}
		}
		END {
			for (i in seen)
				most = seen[i] > most ? seen[i] : most
			printf "%.2f\n", all ? 100 * most / all : -1
		}' "$SAMPLES"
}

# samples_moved FROM_MS LLC: "MS NEW", how long after FROM_MS all threads were
# together for 20 samples in an LLC other than that, and which; -1 if never
samples_moved()
{
	gawk -v from="$1" -v home="$2" '$1 >= from && !done {
		where = -1
		used = 0
		for (i = 3; i <= NF; i++)
			if ($i) {
				used++
				where = i - 3
			}
		if (used > 1 || where == home || where == NF - 3) {
			run = 0
			next
		}
		if (where != last)
			run = 0
		last = where
		if (!run++)
			since = $1
		done = run == 20
	}
	END { if (done) printf "%.0f %d\n", since - from, last; else print "-1 -1" }' "$SAMPLES"
}

# stat_of NAME: a counter of the kernel, 0 where it has none
stat_of()
{
	local value

	value=$(sed -n "s/^$1 //p" "$SCHED_DEBUGFS/llc_stats" 2>/dev/null || true)
	echo "${value:-0}"
}

# Groups that the kernel holds: one for each process it looks at
groups()
{
	sed -n 's/^groups: //p' "$SCHED_DEBUGFS/llc_state" 2>/dev/null || true
}

now_ms()
{
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

# The CPUs of a list such as 0-2,8 one by one
cpus_of()
{
	local range

	for range in ${1//,/ }; do
		seq "${range%-*}" "${range#*-}"
	done
}

# First N CPUs of a list, as a list
first_cpus()
{
	cpus_of "$2" | head -n "$1" | paste -sd,
}

has_hotplug()
{
	local cpu

	for cpu in $(cpus_of "$1"); do
		[ -w "/sys/devices/system/cpu/cpu$cpu/online" ] || return 1
	done
}

# cpus_online 0|1 LIST
cpus_online()
{
	local cpu

	for cpu in $(cpus_of "$2"); do
		write_to "/sys/devices/system/cpu/cpu$cpu/online" "$1" ||
			say "cannot write $1 to cpu$cpu/online"
	done
}

# move_start NR THREADS: a process comes together, then programs of
# THREADS threads each, bound to its LLC, fill that. Appends to MOVED, after how many
# ms it was together in another LLC, and to SHARES, percent of samples there then.
move_start()
{
	local from home moved new filler

	load_start --seed "$1" --threads "$THREADS" --scatter --seconds 2.1
	sleep 0.3
	read -r from home < <(last_sample)
	if [ "$home" -lt 0 ]; then
		say "start $1: not together after $from ms"
		MOVED+=" -1"
		SHARES+=" 0"
		load_finish
		return
	fi

	# Time counts from when they run.
	rm -f "$SC_TMP/filler"
	"$SC_DIR/llc_load" --procs "$((${LLC[llc${home}_cpus]} / $2))" --threads "$2" \
		--cpus "${LLC[llc${home}_list]}" --seconds 60 --shared 4K --interval-us 20000 \
		--samples "$SC_TMP/filler" >/dev/null &
	filler=$!
	defer kill_quietly "$filler"
	while kill -0 "$filler" && [ ! -s "$SC_TMP/filler" ]; do
		sleep 0.01
	done
	read -r from _ < <(last_sample)
	load_finish
	kill_quietly "$filler"
	wait "$filler" || true
	if gawk -v x="$from" 'BEGIN { exit !(x > 1050) }'; then
		bail_out "the LLC was filled too late, after $from of 2100 ms"
	fi

	read -r moved new < <(samples_moved "$from" "$home")
	say "start $1: LLC $home filled at $from ms, together in LLC $new after $moved ms"
	MOVED+=" $moved"
	if [ "$new" -ge 0 ]; then
		SHARES+=" $(samples_share $((${from%.*} + moved + 20)) "$new")"
	else
		SHARES+=" 0"
	fi
}

# expect_moves THREADS: two checks, see move_start
expect_moves()
{
	local i

	feature_on
	MOVED=
	SHARES=
	for ((i = 1; i <= RUNS; i++)); do
		move_start "$i" "$1"
	done
	expect_soon "time until all of it has moved to another LLC, ms" "$(median "$MOVED")" \
		"$MOVE_MS"
	expect "share of samples there afterwards" "$(median "$SHARES")" ">=" "$TOGETHER"
}

# What the kernel complained about so far: the W and D bits
taint()
{
	echo $(($(</proc/sys/kernel/tainted) & (512 | 128)))
}

clean_up_at_exit
