// SPDX-License-Identifier: GPL-2.0
/*
 * Is everything as it was before the storm?
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storm.h"

#define STATE_FILE	SCHED_DEBUGFS "/llc_state"
#define KMEMLEAK	DEBUGFS "/kmemleak"

/*
 * What may be more than before, KiB. Freed memory waits in caches: per CPU and
 * per slab, in KASAN's quarantine (a 32nd of all memory), in the remains of cgroups.
 * That a group is left shows in its number, which has no tolerance.
 */
#define PERCPU_KIB	1024
#define SLAB_KIB	(16 * 1024)
#define SLAB_PART	32	/* of all memory */

#define SETTLE_S	30	/* for what is freed late */
#define IDLE_WANTED	100	/* 1/100 CPU, when nobody but us runs */

#define TAINT_DIE	0x80
#define TAINT_WARN	0x200

struct state {
	bool active, enabled;
	long llcs, groups;
	double wanted;
	struct cpuset cpus;
	char lines[65536];	/* the LLCs, without what changes with the load */
};

static struct {
	struct state state;
	unsigned long taint;
	long percpu, slab, total;
	char online[1024];
} before;

static int nr_bad;

static void __printf(1, 2) bad(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("storm: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	nr_bad++;
}

/* The number behind @key in a file of lines "key number"; -1 if there is none. */
static long number_of(const char *path, const char *key)
{
	char buf[16384], *p;

	if (read_file(path, buf, sizeof(buf)) <= 0)
		return -1;
	p = strstr(buf, key);
	return p ? strtol(p + strlen(key), NULL, 10) : -1;
}

static bool state_read(struct state *state)
{
	char buf[65536], *line, *save;

	memset(state, 0, sizeof(*state));
	if (read_file(STATE_FILE, buf, sizeof(buf)) <= 0)
		return false;
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *wanted = strstr(line, " wanted "), list[1024];
		struct cpuset cpus;

		state->active |= !strcmp(line, "active: yes");
		if (!strncmp(line, "llcs: ", 6))
			state->llcs = atol(line + 6);
		if (!strncmp(line, "groups: ", 8))
			state->groups = atol(line + 8);
		if (!wanted || sscanf(line, "llc %*d: cpus %1023s", list) != 1)
			continue;
		state->wanted += atof(wanted + strlen(" wanted "));
		*wanted = '\0';
		strcat(strcat(state->lines, line), "\n");
		if (!cpuset_parse_list(list, &cpus)) {
			bad("%s: not a list of CPUs: %s", STATE_FILE, list);
			continue;
		}
		/* A CPU is in one LLC only. */
		cpuset_and(&cpus, &cpus, &state->cpus);
		if (cpuset_count(&cpus))
			bad("%s: a CPU is in two LLCs:\n%s", STATE_FILE, state->lines);
		cpuset_parse_list(list, &cpus);
		cpuset_or(&state->cpus, &state->cpus, &cpus);
	}
	state->enabled = number_of(SCHED_DEBUGFS "/llc_enabled", "") == 1;
	return true;
}

bool llc_cpus(struct cpuset *cpus)
{
	struct state state;

	if (!state_read(&state))
		return false;
	*cpus = state.cpus;
	return true;
}

/* An idle CPU holds on to the mm that ran there last: give it ours. */
static void visit_cpus(void)
{
	struct cpuset all, one;
	int cpu;

	cpuset_current(&all);
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!cpuset_has(cpu, &all))
			continue;
		cpuset_zero(&one);
		cpuset_add(cpu, &one);
		if (!sched_setaffinity(0, sizeof(one), one.set))
			usleep(1000);
	}
	sched_setaffinity(0, sizeof(all), all.set);
}

static void memory_read(long *percpu, long *slab)
{
	/* 4: without a word in the log */
	put("/proc/sys/vm/drop_caches", "7");
	*percpu = number_of("/proc/meminfo", "Percpu:");
	*slab = number_of("/proc/meminfo", "Slab:");
}

static void leaks_scan(void)
{
	put(KMEMLEAK, "scan");
}

void check_before(void)
{
	visit_cpus();
	usleep(100000);
	state_read(&before.state);
	before.taint = number_of("/proc/sys/kernel/tainted", "");
	before.total = number_of("/proc/meminfo", "MemTotal:");
	read_file("/sys/devices/system/cpu/online", before.online, sizeof(before.online));
	memory_read(&before.percpu, &before.slab);
	nr_bad = 0;
}

/* What is freed late has time until SETTLE_S. */
static void check_groups(struct state *now)
{
	__u64 end = now_ns() + SETTLE_S * NSEC_PER_SEC;

	do {
		visit_cpus();
		usleep(100000);
		if (!state_read(now))
			return;
		if (now->groups <= before.state.groups && now->wanted * 100 <= IDLE_WANTED)
			return;
	} while (now_ns() < end);

	if (now->groups > before.state.groups)
		bad("%ld groups, %ld before: some were not freed", now->groups,
		    before.state.groups);
	if (now->wanted * 100 > IDLE_WANTED)
		bad("%.2f CPUs wanted by nobody", now->wanted);
}

static void check_state(const struct state *now)
{
	struct cpuset online;
	char buf[1024];

	if (now->active != (now->enabled && now->llcs > 1))
		bad("%s, %ld LLCs, but active: %s", now->enabled ? "enabled" : "not enabled",
		    now->llcs, now->active ? "yes" : "no");
	if (now->enabled != before.state.enabled)
		bad("enabled: %d, %d before", now->enabled, before.state.enabled);
	if (strcmp(now->lines, before.state.lines))
		bad("other LLCs than before:\n%sbefore:\n%s", now->lines, before.state.lines);

	read_file("/sys/devices/system/cpu/online", buf, sizeof(buf));
	if (strcmp(buf, before.online))
		bad("CPUs online: %s, before: %s", buf, before.online);
	if (!cpuset_parse_list(buf, &online))
		return;
	cpuset_and(&online, &online, &now->cpus);
	if (cpuset_count(&online) != cpuset_count(&now->cpus))
		bad("an LLC has a CPU that is offline (online: %s):\n%s", buf, now->lines);
}

static void check_memory(void)
{
	long slab_kib = SLAB_KIB + before.total / SLAB_PART, percpu, slab;
	__u64 end = now_ns() + SETTLE_S * NSEC_PER_SEC;

	for (;;) {
		memory_read(&percpu, &slab);
		if ((percpu <= before.percpu + PERCPU_KIB && slab <= before.slab + slab_kib) ||
		    now_ns() > end)
			break;
		sleep(1);
	}
	printf("memory Percpu %+ld of %ld KiB, Slab %+ld of %ld KiB\n", percpu - before.percpu,
	       before.percpu, slab - before.slab, before.slab);
	if (percpu > before.percpu + PERCPU_KIB)
		bad("Percpu: %ld KiB, %ld before (tolerance %d)", percpu, before.percpu,
		    PERCPU_KIB);
	if (slab > before.slab + slab_kib)
		bad("Slab: %ld KiB, %ld before (tolerance %ld)", slab, before.slab, slab_kib);
}

/* Two scans: what is on its way somewhere in the first is not in the second. */
static void check_leaks(void)
{
	char buf[4096];

	if (access(KMEMLEAK, W_OK))
		return;
	leaks_scan();
	usleep(200000);
	leaks_scan();
	if (read_file(KMEMLEAK, buf, sizeof(buf)) > 0)
		bad("kmemleak, the first ones:\n%s", buf);
	put(KMEMLEAK, "clear");
}

int check_after(bool leaks)
{
	unsigned long taint = number_of("/proc/sys/kernel/tainted", "");
	struct state now;

	nr_bad = 0;
	if (before.state.llcs) {
		check_groups(&now);
		check_state(&now);
	}
	check_memory();
	if (leaks)
		check_leaks();
	if ((taint & ~before.taint) & (TAINT_DIE | TAINT_WARN))
		bad("the kernel has complained, see dmesg");
	if (number_of("/proc/lockdep_stats", " debug_locks:") == 0)
		bad("lockdep has switched itself off, see dmesg");
	return nr_bad;
}
