#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A cpuset partition with a part of each of two LLCs: its processes are gathered in one
# of those parts, and after its end in whole LLCs again.

# shellcheck source=test.sh
. "$(dirname "$(readlink -f "$0")")/test.sh"

need_placement
for i in 0 1; do
	[ "${LLC[llc${i}_cpus]}" -ge 4 ] || skip_all "needs LLCs of four CPUs"
done
need_cpuset_cgroup partition
[ -e "$CGROUP/cpuset.cpus.partition" ] || skip_all "cpusets have no partitions here"

# Two CPUs of each LLC, not the first two: CPU 0 stays outside.
part()
{
	cpus_of "$1" | tail -n 2 | paste -sd,
}

cpus=$(part "${LLC[llc0_list]}"),$(part "${LLC[llc1_list]}")
write_to "$CGROUP/cpuset.cpus" "$cpus" || skip_all "cannot give CPUs $cpus to a cpuset"
write_to "$CGROUP/cpuset.cpus.partition" root || skip_all "cannot make a partition of CPUs $cpus"
case $(<"$CGROUP/cpuset.cpus.partition") in
root) ;;
*) skip_all "no partition of CPUs $cpus: $(<"$CGROUP/cpuset.cpus.partition")" ;;
esac
defer write_to "$CGROUP/cpuset.cpus.partition" member
test_plan 6

before=$(declare -p LLC)
taint_before=$(taint)
args=(--threads 2 --scatter --seconds 0.4)

# Inside: a process of this test's own.
inside()
{
	echo "$BASHPID" >"$CGROUP/cgroup.procs"
	loads "together_ms share_late llcs" "$@"
	declare -p V >"$SC_TMP/inside"
}

feature_on
(inside "${args[@]}")
# shellcheck source=/dev/null
. "$SC_TMP/inside"
say "LLCs while the partition is there: ${V[llcs]}"
expect "in the partition: share of samples in one LLC" "$(median "${V[share_late]}")" \
	">=" "$TOGETHER"

feature_off
(inside "${args[@]}")
# shellcheck source=/dev/null
. "$SC_TMP/inside"
control "control: in the partition, feature off" "$(median "${V[share_late]}")"

write_to "$CGROUP/cpuset.cpus.partition" member
llc_read || true
expect_text "the LLCs are the same as before" "$(declare -p LLC)" "$before"
expect_text "no warning from the kernel" "$(taint)" "$taint_before"
expect_gathered "afterwards" --threads "$THREADS" --scatter --seconds 0.4

ktap_finished
