// SPDX-License-Identifier: GPL-2.0
/*
 * Storms of what the administrator does: knobs, CPU hotplug, tracing, and
 * allocations that fail.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storm.h"

/* knob: the switch, the tunables and the scheduler features, each to all it may be */
static const char *const features[] = { "SC_VISIT", "SC_WAKE", "SC_HOME", "SC_KEEP" };

#define FEATURES_FILE SCHED_DEBUGFS "/features"

static const char *knob_setup(void)
{
	char buf[8192], off[32];
	const char *why = knobs_save();
	unsigned int i;

	if (why || read_file(FEATURES_FILE, buf, sizeof(buf)) < 0)
		return why;
	for (i = 0; i < ARRAY_SIZE(features); i++) {
		snprintf(off, sizeof(off), "NO_%s", features[i]);
		put_back(FEATURES_FILE, strstr(buf, off) ? off : features[i]);
	}
	return NULL;
}

static unsigned int knob_value(const struct knob *knob)
{
	switch (rnd(4)) {
	case 0:
		return knob->min;
	case 1:
		return knob->max;
	case 2:
		return knob->min + rnd(knob->max < 8 ? knob->max + 1 : 8);
	}
	return knob->min + rnd(knob->max - knob->min + 1);
}

static void knob_work(void)
{
	/* The switch more often than the others */
	const struct knob *knob = &knobs[rnd(2) ? 0 : rnd(NR_KNOBS)];
	unsigned int value = knob_value(knob);
	char path[256];
	int ret;

	if (chance(10)) {
		put(FEATURES_FILE, "%s%s", rnd(2) ? "NO_" : "",
		    features[rnd(ARRAY_SIZE(features))]);
		return;
	}
	knob_path(path, sizeof(path), knob, rnd(2));
	ret = put(path, "%u", value);
	if (ret)
		fail("%s does not take %u: %s", path, value, strerror(ret));
	if (chance(50))
		nap_us(rnd(3000));
}

/* hotplug: single CPUs and whole LLCs */
static void cpu_file(char *buf, size_t size, int cpu)
{
	snprintf(buf, size, "/sys/devices/system/cpu/cpu%d/online", cpu);
}

static const char *hotplug_setup(void)
{
	const char *why = "no CPU can go offline";
	char path[128];
	int cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		cpu_file(path, sizeof(path), cpu);
		if (topo.llc_of[cpu] >= 0 && !access(path, W_OK) && !save(path))
			why = NULL;
	}
	return why;
}

static void cpus_online(const struct cpuset *cpus, bool online)
{
	char path[128];
	int cpu;

	for (cpu = 0; cpu < MAX_CPUS && (online || !stopping()); cpu++) {
		if (!cpuset_has(cpu, cpus))
			continue;
		cpu_file(path, sizeof(path), cpu);
		/* The last CPU of a partition is refused. */
		put(path, "%d", online);
	}
}

/* A CPU that is offline is in no LLC, at the latest after a moment. */
static void check_offline(const struct cpuset *cpus)
{
	char path[128], buf[16];
	struct cpuset in_llcs;
	int cpu, try;

	for (try = 0; try < 200 && !stopping(); try++) {
		if (!llc_cpus(&in_llcs))
			return;
		cpuset_and(&in_llcs, &in_llcs, cpus);
		for (cpu = 0; cpu < MAX_CPUS; cpu++) {
			cpu_file(path, sizeof(path), cpu);
			if (cpuset_has(cpu, &in_llcs) &&
			    (read_file(path, buf, sizeof(buf)) <= 0 || buf[0] != '0'))
				cpuset_remove(cpu, &in_llcs);
		}
		if (!cpuset_count(&in_llcs))
			return;
		usleep(50000);
	}
	if (!stopping())
		fail("a CPU that is offline is in an LLC");
}

static void hotplug_work(void)
{
	struct cpuset cpus;
	int cpu;

	if (chance(25)) {
		cpus = topo.llc[rnd(topo.nr_llcs)].cpus;
	} else {
		do
			cpu = rnd(MAX_CPUS);
		while (topo.llc_of[cpu] < 0);
		cpuset_zero(&cpus);
		cpuset_add(cpu, &cpus);
	}
	cpus_online(&cpus, false);
	check_offline(&cpus);
	nap_us(rnd(100000));
	cpus_online(&cpus, true);
	nap_us(rnd(50000));
}

/* trace: events switched on and off, and read */
#define TRACEFS "/sys/kernel/tracing"

static const char *trace_setup(void)
{
	return save(TRACEFS "/events/sched_cache/enable");
}

static void trace_work(void)
{
	char buf[16384];

	put(TRACEFS "/events/sched_cache/enable", "%u", rnd(2));
	nap_us(rnd(5000));
	if (chance(20))
		read_file(TRACEFS "/trace", buf, sizeof(buf));
}

/*
 * alloc: allocations of ours that fail. The fault injector is told by the address
 * of a caller: everything is allocated below one of these two.
 */
static const char *const callers[] = { "task_cache_work", "sched_cache_attach" };

static const char *const injectors[] = { "failslab", "fail_page_alloc" };

static unsigned long caller_start[ARRAY_SIZE(callers)], caller_end[ARRAY_SIZE(callers)];

/* Times that an injector has left to go */
#define TIMES 1000000

/* From one symbol's address to that of the next one */
static void find_callers(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512];
	unsigned int i;
	int pass;

	memset(caller_start, 0, sizeof(caller_start));
	memset(caller_end, 0xff, sizeof(caller_end));
	for (pass = 0; f && pass < 2; pass++) {
		rewind(f);
		while (fgets(line, sizeof(line), f)) {
			unsigned long addr = strtoul(line, NULL, 16);
			char *name = strrchr(line, ' ');

			for (i = 0; name && i < ARRAY_SIZE(callers); i++) {
				size_t len = strlen(callers[i]);

				if (!strncmp(name + 1, callers[i], len) && name[1 + len] == '\n')
					caller_start[i] = addr;
				else if (pass && addr > caller_start[i] && addr < caller_end[i])
					caller_end[i] = addr;
			}
		}
	}
	if (f)
		fclose(f);
}

static void injector_path(char *buf, size_t size, int nr, const char *file)
{
	snprintf(buf, size, DEBUGFS "/%s/%s", injectors[nr], file);
}

static const char *alloc_setup(void)
{
	static const struct {
		const char *file, *value;
	} set[] = {
		{ "probability", "0" }, { "interval", "1" }, { "verbose", "0" },
		{ "stacktrace-depth", "32" }, { "require-start", "0" }, { "require-end", "0" },
		{ "times", "1000000" }, { "min-order", "0" }, { "ignore-gfp-wait", "N" },
		{ "ignore-gfp-highmem", "N" }, { "cache-filter", "N" }, { "task-filter", "N" },
	};
	char path[256];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(injectors); i++) {
		injector_path(path, sizeof(path), i, "require-start");
		if (access(path, W_OK))
			return "no failslab, fail_page_alloc with stack trace filter, or not root";
	}
	find_callers();
	if (!caller_start[0] || !caller_start[1])
		return "the functions are not in /proc/kallsyms";
	for (i = 0; i < ARRAY_SIZE(injectors); i++) {
		for (j = 0; j < ARRAY_SIZE(set); j++) {
			injector_path(path, sizeof(path), i, set[j].file);
			/* Not all have all of them. */
			if (!save(path))
				put(path, "%s", set[j].value);
		}
		injector_path(path, sizeof(path), i, "probability");
		put_back(path, "0");
	}
	return NULL;
}

static void alloc_work(void)
{
	int nr = rnd(ARRAY_SIZE(injectors)), caller = chance(90) ? 0 : 1;
	char path[256];

	injector_path(path, sizeof(path), nr, "probability");
	put(path, "0");
	injector_path(path, sizeof(path), nr, "require-start");
	put(path, "0x%lx", caller_start[caller]);
	injector_path(path, sizeof(path), nr, "require-end");
	put(path, "0x%lx", caller_end[caller]);
	injector_path(path, sizeof(path), nr, "probability");
	put(path, "%d", chance(30) ? 100 : 50);
	nap_us(20000 + rnd(100000));
}

static void alloc_undo(void)
{
	char path[256], buf[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(injectors); i++) {
		injector_path(path, sizeof(path), i, "times");
		if (read_file(path, buf, sizeof(buf)) > 0)
			fprintf(stderr, "storm: %s failed %d times\n", injectors[i],
				TIMES - atoi(buf));
	}
}

const struct storm storms_sys[] = {
	{ "knob", "the switch, the tunables, the scheduler features", 1, true, knob_setup,
	  knob_work, NULL },
	{ "fuzz", "odd writes to the knobs, odd reads of all files", 2, false, knobs_save,
	  fuzz_work, NULL },
	{ "prctl", "PR_SCHED_CACHE with sensible and with odd arguments", 1, false, prctl_setup,
	  prctl_work, NULL },
	{ "trace", "trace events on and off", 1, true, trace_setup, trace_work, NULL },
	{ "hotplug", "single CPUs and whole LLCs offline and online", 1, true, hotplug_setup,
	  hotplug_work, NULL },
	{ "alloc", "allocations of ours that fail", 1, true, alloc_setup, alloc_work, alloc_undo },
	{ }
};
