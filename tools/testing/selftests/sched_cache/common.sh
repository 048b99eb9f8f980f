#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the tests and benchmarks of this directory share: the knobs, the LLCs
# and putting back whatever was changed. To be sourced.

SCHED_DEBUGFS=/sys/kernel/debug/sched
SC_DIR=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
SC_TMP=

# Commands that undo what the script did, run last one first when it ends.
SC_DEFERRED=()

defer()
{
	SC_DEFERRED+=("$(printf '%q ' "$@")")
}

run_deferred()
{
	local i

	trap '' INT TERM HUP
	set +e
	for ((i = ${#SC_DEFERRED[@]} - 1; i >= 0; i--)); do
		eval "${SC_DEFERRED[i]}"
	done
	SC_DEFERRED=()
}

# Call once at the start: everything deferred is done however the script ends.
clean_up_at_exit()
{
	trap run_deferred EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	SC_TMP=$(mktemp -d "${TMPDIR:-/tmp}/sched_cache.XXXXXX")
	defer rm -rf "$SC_TMP"
}

# Write $2 into the file $1. The kernel's refusal is the caller's to judge.
write_to()
{
	{ printf '%s\n' "$2" >"$1"; } 2>/dev/null
}

# As write_to, and have the file's present content written back at the end.
change()
{
	local file=$1 value=$2 old

	old=$(<"$file")
	defer write_to "$file" "$old"
	write_to "$file" "$value" || {
		echo "cannot write '$value' to $file" >&2
		return 1
	}
}

# The file of a knob ("enabled", "aggr_tolerance", ...): beside the other
# scheduler files, or in the directory that mainline has.
knob_file()
{
	local file

	for file in "$SCHED_DEBUGFS/llc_$1" "$SCHED_DEBUGFS/llc_balancing/$1"; do
		if [ -e "$file" ]; then
			echo "$file"
			return
		fi
	done
	return 1
}

knob_get()
{
	local value

	value=$(<"$(knob_file "$1")") || return
	# mainline shows a bool
	case $value in Y) value=1 ;; N) value=0 ;; esac
	echo "$value"
}

declare -A SC_KNOB_SAVED=()

# knob_set NAME VALUE: the value found first comes back at the end.
knob_set()
{
	local file

	file=$(knob_file "$1") || {
		echo "this kernel has no knob $1 in $SCHED_DEBUGFS" >&2
		return 1
	}
	if [ -z "${SC_KNOB_SAVED[$1]:-}" ]; then
		SC_KNOB_SAVED[$1]=1
		change "$file" "$2"
	else
		write_to "$file" "$2" || {
			echo "cannot write '$2' to $file" >&2
			return 1
		}
	fi
}

# Read the LLCs into the array LLC: LLC[llcs], LLC[llc0_list], ...
declare -A LLC=()

llc_read()
{
	local key value out

	out=$("$SC_DIR/llc_topo" 2>&1) || {
		echo "$out"
		return 1
	}
	LLC=()
	while IFS="=" read -r key value; do
		# shellcheck disable=SC2034 # read by who sources this file
		LLC[$key]=$value
	done <<<"$out"
}

# Value of KEY in lines of key=value, from stdin.
value_of()
{
	sed -n "s/^$1=//p"
}
