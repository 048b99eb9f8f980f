// SPDX-License-Identifier: GPL-2.0
/*
 * Storms of what others do to a task: class, affinity, core scheduling, memory
 * placement, cgroups.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <linux/sched/types.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storm.h"

/* A victim; time passes when there is none. */
static pid_t some_victim(void)
{
	pid_t tid = victim();

	if (!tid)
		nap_us(1000);
	return tid;
}

/* class: every policy, with nice levels and priorities */
static void class_work(void)
{
	static const int policies[] = {
		SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR, SCHED_DEADLINE,
	};
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = policies[rnd(ARRAY_SIZE(policies))],
	};
	pid_t tid = some_victim();
	bool realtime = false;

	if (!tid)
		return;
	switch (attr.sched_policy) {
	case SCHED_FIFO:
	case SCHED_RR:
		attr.sched_priority = 1 + rnd(50);
		realtime = true;
		break;
	case SCHED_DEADLINE:
		attr.sched_runtime = (1 + rnd(3)) * NSEC_PER_MSEC;
		attr.sched_deadline = 20 * NSEC_PER_MSEC;
		attr.sched_period = 20 * NSEC_PER_MSEC;
		realtime = true;
		break;
	default:
		attr.sched_nice = (int)rnd(40) - 20;
	}
	syscall(SYS_sched_setattr, tid, &attr, 0);
	nap_us(rnd(2000));
	/* Its threads spin: not for long. */
	if (realtime) {
		attr = (struct sched_attr) { .size = sizeof(attr) };
		syscall(SYS_sched_setattr, tid, &attr, 0);
	}
}

/* affinity */
static void affinity_work(void)
{
	pid_t tid = some_victim();
	struct cpuset cpus;

	if (!tid)
		return;
	random_cpus(&cpus);
	/* Fails while these CPUs are offline or in another partition. */
	sched_setaffinity(tid, sizeof(cpus), cpus.set);
	nap_us(rnd(1000));
}

/* cookie: core scheduling */
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE		62
#endif
enum { CORE_GET, CORE_CREATE, CORE_SHARE_TO, CORE_SHARE_FROM };

static const char *cookie_setup(void)
{
	unsigned long cookie;

	if (!prctl(PR_SCHED_CORE, CORE_GET, 0, 0, &cookie))
		return NULL;
	return errno == ENODEV ? "this machine has no SMT" : "no core scheduling";
}

static void cookie_work(void)
{
	pid_t tid = some_victim();
	int scope = rnd(3);

	if (!tid)
		return;
	if (chance(50))
		prctl(PR_SCHED_CORE, CORE_CREATE, tid, scope, 0);
	else if (chance(50))
		prctl(PR_SCHED_CORE, CORE_SHARE_TO, tid, scope, 0);
	else
		prctl(PR_SCHED_CORE, CORE_SHARE_FROM, tid, 0, 0);
	nap_us(rnd(1000));
}

/* numa: memory that moves between nodes, and policies for it */
#define NUMA_MB 4

static unsigned long nodes;	/* a bit each */

static const char *numa_setup(void)
{
	static const char *const knobs[] = { "scan_delay_ms", "scan_period_min_ms" };
	char path[128];
	unsigned int i;

	nodes = 0;
	for (i = 0; i < 8 * sizeof(nodes); i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u", i);
		nodes |= (unsigned long)!access(path, F_OK) << i;
	}
	if (!(nodes & (nodes - 1)))
		return "one NUMA node";
	/* Faults and moves as often as possible */
	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		snprintf(path, sizeof(path), SCHED_DEBUGFS "/numa_balancing/%s", knobs[i]);
		if (!save(path))
			put(path, "%d", 10);
	}
	return save("/proc/sys/kernel/numa_balancing");
}

static unsigned long random_nodes(void)
{
	unsigned long set = rnd(UINT32_MAX) & nodes;

	return set ? set : nodes;
}

static int random_node(void)
{
	int node;

	do
		node = rnd(8 * sizeof(nodes));
	while (!(nodes & (1UL << node)));
	return node;
}

static void *numa_thread(void *arg)
{
	static const int modes[] = {
		MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND, MPOL_INTERLEAVE, MPOL_LOCAL,
	};
	size_t page = getpagesize(), size = NUMA_MB << 20, i, step;
	int n, target[16], status[16];
	char *mem = *(char **)arg;
	unsigned long set;
	void *pages[16];

	for (n = 0; n < 20 && !stopping(); n++) {
		int mode = modes[rnd(ARRAY_SIZE(modes))];

		set = random_nodes();
		if (mode == MPOL_DEFAULT || mode == MPOL_LOCAL)
			set = 0;
		switch (rnd(4)) {
		case 0:
			syscall(SYS_set_mempolicy, mode, &set, 8 * sizeof(set));
			break;
		case 1:
			i = rnd(size / page) * page;
			syscall(SYS_mbind, mem + i, size - i, mode, &set, 8 * sizeof(set),
				MPOL_MF_MOVE);
			break;
		case 2:
			for (i = 0; i < 16; i++) {
				pages[i] = mem + rnd(size / page) * page;
				target[i] = random_node();
			}
			syscall(SYS_move_pages, 0, 16, pages, target, status, MPOL_MF_MOVE);
			break;
		case 3:
			for (step = page << rnd(4), i = 0; i < size; i += step)
				mem[i]++;
			break;
		}
	}
	return NULL;
}

static void numa_work(void)
{
	char *mem = mmap(NULL, NUMA_MB << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	unsigned long from = random_nodes(), to = random_nodes();
	pid_t tid = victim();

	if (mem == MAP_FAILED)
		return;
	if (chance(20))
		put("/proc/sys/kernel/numa_balancing", "%u", rnd(2));
	if (tid && chance(50))
		syscall(SYS_migrate_pages, tid, 8 * sizeof(from), &from, &to);
	run_process(2 + rnd(3), numa_thread, &mem);
	munmap(mem, NUMA_MB << 20);
}

/*
 * cgroups: a few of each kind below the root. Whoever is in them when a storm
 * ends is killed then.
 */

#define NR_CGROUPS 3

static char cgroup_root[256];
static pid_t cgroup_owner;

static const char *cgroup_mounted(void)
{
	char line[4096], *type, *save;
	FILE *f = fopen("/proc/mounts", "re");

	cgroup_root[0] = '\0';
	cgroup_owner = getpid();
	while (f && fgets(line, sizeof(line), f)) {
		const char *dir;

		strtok_r(line, " ", &save);
		dir = strtok_r(NULL, " ", &save);
		type = strtok_r(NULL, " ", &save);
		if (type && !strcmp(type, "cgroup2"))
			snprintf(cgroup_root, sizeof(cgroup_root), "%s", dir);
	}
	if (f)
		fclose(f);
	if (!cgroup_root[0])
		return "cgroup2 is not mounted";
	return access(cgroup_root, W_OK) ? "not root" : NULL;
}

static void cgroup_path(char *buf, size_t size, const char *kind, int nr, const char *file)
{
	snprintf(buf, size, "%s/storm_%s%d.%d%s%s", cgroup_root, kind, nr, cgroup_owner,
		 file ? "/" : "", file ? file : "");
}

static int cgroup_put(const char *kind, int nr, const char *file, const char *value)
{
	char path[512];

	cgroup_path(path, sizeof(path), kind, nr, file);
	return put(path, "%s", value);
}

static const char *cgroup_make(const char *kind, const char *controller)
{
	char path[512], buf[256];
	int i;

	if (controller) {
		snprintf(path, sizeof(path), "%s/cgroup.subtree_control", cgroup_root);
		if (read_file(path, buf, sizeof(buf)) < 0 || !strstr(buf, controller)) {
			if (put(path, "+%s", controller))
				return "cannot enable the controller";
			snprintf(buf, sizeof(buf), "-%s", controller);
			put_back(path, buf);
		}
	}
	for (i = 0; i < NR_CGROUPS; i++) {
		cgroup_path(path, sizeof(path), kind, i, NULL);
		if (mkdir(path, 0755))
			return "cannot create cgroups";
	}
	return NULL;
}

static void cgroup_remove(const char *kind)
{
	char path[512];
	int i, try;

	for (i = 0; i < NR_CGROUPS; i++) {
		cgroup_path(path, sizeof(path), kind, i, NULL);
		for (try = 0; rmdir(path) && errno == EBUSY && try < 200; try++)
			usleep(10000);
		if (!access(path, F_OK))
			fail("cannot remove %s", path);
	}
}

/* Move a victim, maybe back to the root. */
static void cgroup_move(const char *kind)
{
	char path[512], pid[16];
	pid_t tid = victim();

	if (!tid)
		return;
	snprintf(pid, sizeof(pid), "%d", tid);
	if (chance(25)) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup_root);
		put(path, "%s", pid);
	} else {
		cgroup_put(kind, rnd(NR_CGROUPS), "cgroup.procs", pid);
	}
}

/* cgroup: moves, weights, bandwidth */
static const char *cgroup_setup(void)
{
	const char *why = cgroup_mounted();

	return why ? why : cgroup_make("cpu", "cpu");
}

static void cgroup_work(void)
{
	int nr = rnd(NR_CGROUPS);
	char value[64];

	switch (rnd(6)) {
	case 0:
		snprintf(value, sizeof(value), "%u %u", 1000 + rnd(20000), 5000 + rnd(50000));
		cgroup_put("cpu", nr, "cpu.max", value);
		break;
	case 1:
		cgroup_put("cpu", nr, "cpu.max", "max");
		break;
	case 2:
		snprintf(value, sizeof(value), "%u", 1 + rnd(10000));
		cgroup_put("cpu", nr, "cpu.weight", value);
		break;
	case 3:
		cgroup_put("cpu", nr, "cpu.idle", rnd(2) ? "1" : "0");
		break;
	default:
		cgroup_move("cpu");
	}
	nap_us(rnd(2000));
}

static void cgroup_undo(void)
{
	cgroup_remove("cpu");
}

/*
 * cpuset: partitions that come, change and go. The cpusets of 6.12 warn by
 * themselves (partition_xcpus_del(), generate_sched_domains()) when CPUs are given
 * to a partition that is invalid, and when one loses its last CPU. So partitions
 * never overlap, leave the first CPU of each LLC to others, get their CPUs before
 * they become partitions and, beside the hotplug storm, have CPUs in two LLCs.
 *
 * An isolated one starts kernel threads of workqueues under cpuset_mutex. If somebody
 * else writes to cgroup.procs at that time, kthreadd waits for
 * cgroup_threadgroup_rwsem and its holder for cpuset_mutex: a deadlock of 6.12, so
 * that there are isolated ones only in the storm of this one alone.
 */
static struct cpuset used[NR_CGROUPS];

/* CPUs for partition @nr that no other one has; false if there are too few. */
static bool partition_cpus(int nr, struct cpuset *cpus)
{
	int i, cpu, llcs = 0;

	random_cpus(cpus);
	for (i = 0; i < topo.nr_llcs; i++) {
		const struct cpuset *llc = &topo.llc[i].cpus;
		struct cpuset part;

		for (cpu = 0; !cpuset_has(cpu, llc);)
			cpu++;
		cpuset_remove(cpu, cpus);
		cpuset_and(&part, cpus, llc);
		llcs += cpuset_count(&part) > 0;
	}
	for (i = 0; i < NR_CGROUPS; i++) {
		struct cpuset both;

		cpuset_and(&both, &used[i], cpus);
		if (i != nr && cpuset_count(&both))
			return false;
	}
	return llcs > !alone;
}

static const char *cpuset_setup(void)
{
	const char *why = cgroup_mounted();

	return why ? why : cgroup_make("set", "cpuset");
}

static void cpuset_work(void)
{
	int nr = rnd(NR_CGROUPS), i;
	struct cpuset cpus;
	char buf[1024];

	switch (rnd(6)) {
	case 0 ... 2:
		cgroup_put("set", nr, "cpuset.cpus.partition", "member");
		if (!partition_cpus(nr, &cpus))
			break;
		used[nr] = cpus;
		cpuset_print_list(&cpus, buf, sizeof(buf));
		if (!cgroup_put("set", nr, "cpuset.cpus", buf) && chance(80))
			cgroup_put("set", nr, "cpuset.cpus.partition",
				   alone && rnd(2) ? "isolated" : "root");
		break;
	case 3 ... 4:
		for (i = rnd(4); i > 0; i--)
			cgroup_move("set");
		break;
	case 5:
		/* Goes if nobody is in it, and comes again. */
		cgroup_path(buf, sizeof(buf), "set", nr, NULL);
		if (rmdir(buf))
			break;
		cpuset_zero(&used[nr]);
		mkdir(buf, 0755);
		break;
	}
	nap_us(rnd(10000));
}

static void cpuset_undo(void)
{
	cgroup_remove("set");
}

/* freezer */
static const char *freezer_setup(void)
{
	const char *why = cgroup_mounted();

	return why ? why : cgroup_make("ice", NULL);
}

static void freezer_work(void)
{
	int nr = rnd(NR_CGROUPS), i;

	for (i = rnd(4); i > 0; i--)
		cgroup_move("ice");
	cgroup_put("ice", nr, "cgroup.freeze", "1");
	nap_us(rnd(10000));
	cgroup_put("ice", nr, "cgroup.freeze", "0");
}

static void freezer_undo(void)
{
	cgroup_remove("ice");
}

const struct storm storms_sched[] = {
	{ "class", "scheduling policies, nice levels, priorities", 1, false, NULL,
	  class_work, NULL },
	{ "affinity", "CPU masks of threads", 1, false, NULL, affinity_work, NULL },
	{ "cookie", "core scheduling cookies", 1, false, cookie_setup, cookie_work, NULL },
	{ "numa", "memory policies, pages that move, NUMA balancing", 1, true, numa_setup,
	  numa_work, NULL },
	{ "cgroup", "moves between cgroups, weights, bandwidth", 1, true, cgroup_setup,
	  cgroup_work, cgroup_undo },
	{ "cpuset", "cpuset partitions that come, change and go", 1, true, cpuset_setup,
	  cpuset_work, cpuset_undo },
	{ "freezer", "cgroups that freeze and thaw", 1, true, freezer_setup, freezer_work,
	  freezer_undo },
	{ }
};
