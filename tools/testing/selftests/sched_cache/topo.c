// SPDX-License-Identifier: GPL-2.0
/*
 * An LLC is the span of the widest sched domain with SD_SHARE_LLC.  The span
 * is in /proc/schedstat, the flag in debugfs.  The cache files in sysfs are not
 * used for this: isolated CPUs, cpuset partitions and firmware make them
 * differ from what the scheduler works with.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo.h"

#define DEBUGFS_SCHED	"/sys/kernel/debug/sched"
#define SYSFS_CPU	"/sys/devices/system/cpu"

/* SCHEDSTAT_VERSION since which a domain's line has the domain's name */
#define SCHEDSTAT_NAMED	17

static bool domain_shares_llc(int cpu, int domain)
{
	char path[128], flags[512];

	snprintf(path, sizeof(path), DEBUGFS_SCHED "/domains/cpu%d/domain%d/flags",
		 cpu, domain);
	return read_file(path, flags, sizeof(flags)) > 0 &&
	       strstr(flags, "SD_SHARE_LLC");
}

/* Number of the LLC with just these CPUs, added if it is new. */
static int topo_llc(struct topo *topo, const struct cpuset *cpus)
{
	struct llc *llc;
	int i;

	for (i = 0; i < topo->nr_llcs; i++)
		if (!memcmp(&topo->llc[i].cpus, cpus, sizeof(*cpus)))
			return i;

	llc = realloc(topo->llc, (topo->nr_llcs + 1) * sizeof(*llc));
	if (!llc)
		errx(1, "out of memory");
	topo->llc = llc;
	llc += topo->nr_llcs;
	memset(llc, 0, sizeof(*llc));
	llc->cpus = *cpus;
	llc->nr_cpus = cpuset_count(cpus);
	llc->node = -1;
	return topo->nr_llcs++;
}

static void topo_set(struct topo *topo, int cpu, const struct cpuset *cpus)
{
	topo->llc_of[cpu] = topo_llc(topo, cpus);
	topo->nr_cpus++;
}

/*
 * The end of a CPU's lines in /proc/schedstat.  Without any domain it is
 * isolated; with domains, but none that shares a cache, it is its own LLC.
 */
static void topo_set_cpu(struct topo *topo, int cpu, int domains,
			 struct cpuset *span)
{
	if (cpu < 0 || !domains)
		return;
	if (!cpuset_count(span))
		cpuset_add(cpu, span);
	topo_set(topo, cpu, span);
}

static bool topo_from_domains(struct topo *topo)
{
	int version = 0, cpu = -1, domains = 0;
	struct cpuset span;
	char *line = NULL;
	size_t size = 0;
	FILE *f;

	f = fopen("/proc/schedstat", "r");
	if (!f)
		return false;

	cpuset_zero(&span);
	while (getline(&line, &size, f) > 0) {
		char *save, *word = strtok_r(line, "\n ", &save);
		struct cpuset set;

		if (!word)
			continue;
		if (!strcmp(word, "version")) {
			word = strtok_r(NULL, "\n ", &save);
			version = word ? atoi(word) : 0;
		} else if (!strncmp(word, "cpu", 3)) {
			topo_set_cpu(topo, cpu, domains, &span);
			cpu = atoi(word + 3);
			domains = 0;
			cpuset_zero(&span);
		} else if (!strncmp(word, "domain", 6)) {
			int domain = atoi(word + 6);

			domains++;
			word = strtok_r(NULL, "\n ", &save);
			if (version >= SCHEDSTAT_NAMED)
				word = strtok_r(NULL, "\n ", &save);
			if (word && domain_shares_llc(cpu, domain) &&
			    cpuset_parse_mask(word, &set))
				span = set;
		}
	}
	topo_set_cpu(topo, cpu, domains, &span);
	free(line);
	fclose(f);
	return topo->nr_llcs > 0;
}

/* Lines "llc ID: cpus LIST ... size N KiB ..."; the domains' answer goes first. */
static bool topo_from_state(struct topo *topo)
{
	bool want_cpus = !topo->nr_llcs;
	char *line = NULL;
	size_t size = 0;
	FILE *f;

	f = fopen(DEBUGFS_SCHED "/llc_state", "r");
	if (!f)
		return false;

	while (getline(&line, &size, f) > 0) {
		char list[1024] = "", *text = strstr(line, " size ");
		unsigned long kib = text ? strtoul(text + 6, NULL, 10) : 0;
		struct cpuset cpus;
		unsigned int id;
		int i, cpu;

		if (sscanf(line, "llc %u: cpus %1023s", &id, list) != 2 ||
		    !cpuset_parse_list(list, &cpus))
			continue;
		if (want_cpus) {
			for (cpu = 0; cpu < MAX_CPUS; cpu++)
				if (cpuset_has(cpu, &cpus))
					topo_set(topo, cpu, &cpus);
		}
		for (i = 0; i < topo->nr_llcs; i++)
			if (!memcmp(&topo->llc[i].cpus, &cpus, sizeof(cpus)))
				topo->llc[i].size_kib = kib;
	}
	free(line);
	fclose(f);
	return topo->nr_llcs > 0;
}

static bool cpu_file(int cpu, const char *name, char *buf, size_t size)
{
	char path[160];

	snprintf(path, sizeof(path), SYSFS_CPU "/cpu%d/%s", cpu, name);
	return read_file(path, buf, size) > 0;
}

static int llc_count_cores(const struct llc *llc)
{
	char buf[4096];
	int cpu, first, cores = 0;

	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		struct cpuset siblings;

		if (!cpuset_has(cpu, &llc->cpus))
			continue;
		if (!cpu_file(cpu, "topology/thread_siblings_list", buf, sizeof(buf)) ||
		    !cpuset_parse_list(buf, &siblings)) {
			cores++;
			continue;
		}
		cpuset_and(&siblings, &siblings, &llc->cpus);
		for (first = 0; first < cpu && !cpuset_has(first, &siblings);)
			first++;
		cores += first == cpu;
	}
	return cores;
}

/*
 * Only a size, for tests that need "larger than the cache" on a kernel
 * without the state file: the largest cache that the CPU lists.
 */
static unsigned long cpu_cache_kib(int cpu)
{
	unsigned long best = 0;
	char name[64], buf[64];
	int i;

	for (i = 0; i < 8; i++) {
		unsigned long kib;
		char *end;

		snprintf(name, sizeof(name), "cache/index%d/size", i);
		if (!cpu_file(cpu, name, buf, sizeof(buf)))
			break;
		kib = strtoul(buf, &end, 10);
		if (*end == 'M')
			kib *= 1024;
		if (kib > best)
			best = kib;
	}
	return best;
}

static int cpu_node(int cpu)
{
	char path[160];
	int node;

	for (node = 0; node < 1024; node++) {
		snprintf(path, sizeof(path), SYSFS_CPU "/cpu%d/node%d", cpu, node);
		if (!access(path, F_OK))
			return node;
	}
	return -1;
}

static void topo_complete(struct topo *topo)
{
	int i, cpu;

	for (i = 0; i < topo->nr_llcs; i++) {
		struct llc *llc = &topo->llc[i];

		for (cpu = 0; !cpuset_has(cpu, &llc->cpus);)
			cpu++;
		llc->nr_cores = llc_count_cores(llc);
		llc->node = cpu_node(cpu);
		if (!llc->size_kib)
			llc->size_kib = cpu_cache_kib(cpu);
	}
}

static bool write_verbose(const char *val)
{
	FILE *f = fopen(DEBUGFS_SCHED "/verbose", "w");
	bool ok;

	if (!f)
		return false;
	ok = fputs(val, f) >= 0;
	return !fclose(f) && ok;
}

const char *topo_read(struct topo *topo)
{
	bool verbose = false;
	int cpu;

	memset(topo, 0, sizeof(*topo));
	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		topo->llc_of[cpu] = -1;

	if (access(DEBUGFS_SCHED, R_OK | X_OK))
		return "cannot read " DEBUGFS_SCHED
		       ": run as root, mount debugfs, use a kernel with CONFIG_SCHED_DEBUG";

	/* The directory of domains is there only while "verbose" is set. */
	if (access(DEBUGFS_SCHED "/domains/cpu0", F_OK))
		verbose = write_verbose("Y");
	if (!access(DEBUGFS_SCHED "/domains", F_OK))
		topo_from_domains(topo);
	if (verbose)
		write_verbose("N");

	topo_from_state(topo);
	if (!topo->nr_llcs)
		return "no sched domain has an LLC: one CPU, or no CONFIG_SCHEDSTATS";

	topo_complete(topo);
	return NULL;
}

void topo_read_or_skip(struct topo *topo)
{
	const char *why = topo_read(topo);

	if (why)
		errx(KSFT_SKIP, "%s", why);
}

void topo_nth_llc(const struct topo *topo, const struct cpuset *allowed, int nth,
		  struct cpuset *cpus)
{
	int i, usable = 0;

	for (i = 0; i < topo->nr_llcs; i++) {
		cpuset_and(cpus, allowed, &topo->llc[i].cpus);
		usable += cpuset_count(cpus) > 0;
	}
	if (!usable)
		errx(1, "none of the allowed CPUs belongs to an LLC");

	nth %= usable;
	for (i = 0; i < topo->nr_llcs; i++) {
		cpuset_and(cpus, allowed, &topo->llc[i].cpus);
		if (cpuset_count(cpus) && !nth--)
			return;
	}
}

void topo_node(const struct topo *topo, int node, const struct cpuset *allowed,
	       struct cpuset *cpus)
{
	int cpu;

	cpuset_zero(cpus);
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		int llc = topo->llc_of[cpu];

		if (llc >= 0 && topo->llc[llc].node == node && cpuset_has(cpu, allowed))
			cpuset_add(cpu, cpus);
	}
	if (!cpuset_count(cpus))
		errx(1, "none of the allowed CPUs is in an LLC of node %d", node);
}
