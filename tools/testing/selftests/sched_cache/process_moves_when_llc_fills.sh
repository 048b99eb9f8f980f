#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process whose LLC is filled by other work moves whole to another one within a
# second and stays there.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
test_plan 2

MOVE_MS=1000

# One start: appends to MOVED (ms) and SHARES (after the move)
one_start()
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

	# Programs of one thread: they prefer no LLC. Time counts from when they run.
	rm -f "$SC_TMP/filler"
	"$SC_DIR/llc_load" --procs "${LLC[llc${home}_cpus]}" --threads 1 \
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

feature_on
MOVED=
SHARES=
for ((i = 1; i <= RUNS; i++)); do
	one_start "$i"
done
expect_soon "time until all of it has moved to another LLC, ms" "$(median "$MOVED")" "$MOVE_MS"
expect "share of samples there afterwards" "$(median "$SHARES")" ">=" "$TOGETHER"

ktap_finished
