#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tunables take what is in their range, refuse the rest with an error and stay as they
# were, under both of their names.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_feature

# tunable, smallest and largest value
RANGES='
enabled 0 1
aggr_tolerance 0 100
epoch_period 1 1000
epoch_affinity_timeout 1 1000
imb_pct 0 100
overaggr_pct 0 100
'

# 4 KiB of them
DIGITS=$(printf '1%.0s' {1..4096})

places=()
for place in "$SCHED_DEBUGFS/llc_" "$SCHED_DEBUGFS/llc_balancing/"; do
	[ ! -e "${place}aggr_tolerance" ] || places+=("$place")
done
[ ${#places[@]} -gt 0 ] || skip_all "no tunables beside $(knob_file enabled)"
test_plan $((${#places[@]} * $(grep -c . <<<"$RANGES") * 2))

# accepted FILE VALUE...: the first that is refused or reads differently
refused()
{
	local file=$1 value

	shift
	for value; do
		if ! write_to "$file" "$value" || [ "$(<"$file")" != "$value" ]; then
			echo "$value"
			return
		fi
	done
}

# The first that is not refused with EINVAL or ERANGE, or changes something
taken()
{
	local file=$1 value old error

	shift
	old=$(<"$file")
	for value; do
		error=$({ printf '%s\n' "$value" >"$file"; } 2>&1) && error=accepted
		case $error in
		*"Invalid argument"*|*"Numerical result out of range"*) ;;
		*) echo "'$value': $error" ;;
		esac
		[ "$(<"$file")" = "$old" ] || echo "'$value': changed to $(<"$file")"
	done
}

export LC_ALL=C
for place in "${places[@]}"; do
	while read -r name min max; do
		[ -n "$name" ] || continue
		file=$place$name
		if [ ! -e "$file" ]; then
			ktap_test_fail "$name: no $file"
			ktap_test_fail "$name: no $file"
			continue
		fi
		defer write_to "$file" "$(<"$file")"
		expect_text "${file#"$SCHED_DEBUGFS/"} takes $min to $max" \
			"$(refused "$file" "$max" "$((max - 1))" "$((min + 1))" "$min")" ""
		bad=("$((max + 1))" 2147483648 4294967295 4294967296 "$((4294967296 + max))"
		     18446744073709551616 -1 x "" "$DIGITS")
		[ "$min" -eq 0 ] || bad+=("$((min - 1))")
		expect_text "${file#"$SCHED_DEBUGFS/"} refuses what is outside" \
			"$(taken "$file" "${bad[@]}")" ""
	done <<<"$RANGES"
done

ktap_finished
