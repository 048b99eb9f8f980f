// SPDX-License-Identifier: GPL-2.0
/*
 * Storms: everything that may happen to tasks, mms, CPUs and knobs, as fast as
 * possible and at random, and afterwards a look whether all is as before.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storm.h"

static const char usage[] =
"Usage: storm [OPTION]...\n"
"Storms of everything that can happen to tasks, mms, CPUs and knobs, each beside a\n"
"load of processes with threads; after each a check that all is as before.\n"
"What is changed is put back, also when it is interrupted.\n"
"  --list        names and descriptions\n"
"  --only A,B    these storms (default: all)\n"
"  --together    all at the same time (default: one after the other)\n"
"  --seconds S   duration of each (default 1)\n"
"  --seed N      choose as in the run that printed this number\n"
"  --leaks       ask kmemleak too, if the kernel has it; takes up to minutes\n"
"Output: 'seed N', then a line for each storm: 'ok NAME N operations',\n"
"'skip NAME why' or 'fail NAME'. What is wrong is said on stderr.\n"
"Exit status: 0, 1 if something was wrong, 2 for bad usage, 4 if nothing ran,\n"
"128+N after signal N.\n";

static const struct option options[] = {
	{ "list", no_argument, NULL, 'l' },
	{ "only", required_argument, NULL, 'o' },
	{ "together", no_argument, NULL, 't' },
	{ "seconds", required_argument, NULL, 's' },
	{ "seed", required_argument, NULL, 'S' },
	{ "leaks", no_argument, NULL, 'L' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

#define MAX_STORMS	32
#define MAX_WORKERS	256
#define MAX_VICTIMS	256
#define DEATH_S		120	/* for workers to end; a standstill is a fault */

/* Shared by all processes. */
struct pool {
	int stop;
	pid_t pgid;
	pid_t victim[MAX_VICTIMS];
	__u64 ops[MAX_WORKERS];
	int failed;
	char why[512];
};

struct topo topo;
bool alone;
__u64 rnd_state;

static struct pool *pool;
static sig_atomic_t interrupted;

static struct worker {
	pid_t pid;
	const struct storm *storm;
} workers[MAX_WORKERS];
static int nr_workers;

/*
 * For the storms
 */

/* splitmix64 */
__u32 rnd_r(__u64 *state, __u32 n)
{
	__u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return (z >> 32) * n >> 32;
}

bool stopping(void)
{
	return __atomic_load_n(&pool->stop, __ATOMIC_RELAXED);
}

void nap_us(__u32 us)
{
	for (; us > 20000 && !stopping(); us -= 20000)
		usleep(20000);
	if (!stopping())
		usleep(us);
}

pid_t fork_child(void)
{
	pid_t parent = getpid(), pid;

	if (stopping())
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
	}
	return pid;
}

int reap(pid_t pid)
{
	int status;

	while (pid > 0 && waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -1;
	return pid > 0 ? status : -1;
}

void run_process(int threads, void *(*fn)(void *), void *arg)
{
	__u64 seed = rnd(UINT32_MAX);
	pthread_t id[64];
	int i, nr = 0;
	pid_t pid = fork_child();

	if (pid) {
		reap(pid);
		return;
	}
	rnd_state = seed;
	/* No more than there is memory for. */
	for (i = 1; i < threads && nr < 64; i++)
		if (!pthread_create(&id[nr], NULL, fn, arg))
			nr++;
	fn(arg);
	while (nr--)
		pthread_join(id[nr], NULL);
	_exit(0);
}

bool is_ours(pid_t tid)
{
	return tid > 0 && getpgid(tid) == pool->pgid;
}

static __thread int my_slot = -1;

void victim_add(void)
{
	int i;

	for (i = 0; i < MAX_VICTIMS; i++) {
		pid_t old = __atomic_load_n(&pool->victim[i], __ATOMIC_RELAXED);

		/* Some are killed in the middle and leave their slot behind. */
		if (is_ours(old))
			continue;
		if (__atomic_compare_exchange_n(&pool->victim[i], &old, gettid(), false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			my_slot = i;
			return;
		}
	}
}

void victim_del(void)
{
	if (my_slot >= 0)
		__atomic_store_n(&pool->victim[my_slot], 0, __ATOMIC_RELAXED);
}

pid_t victim(void)
{
	int i, start = rnd(MAX_VICTIMS);

	for (i = 0; i < MAX_VICTIMS; i++) {
		pid_t tid = __atomic_load_n(&pool->victim[(start + i) % MAX_VICTIMS],
					    __ATOMIC_RELAXED);

		/* The number may be somebody else's by now. */
		if (is_ours(tid))
			return tid;
	}
	return 0;
}

void fail(const char *fmt, ...)
{
	va_list args;

	if (__atomic_fetch_add(&pool->failed, 1, __ATOMIC_RELAXED))
		return;
	va_start(args, fmt);
	vsnprintf(pool->why, sizeof(pool->why), fmt, args);
	va_end(args);
}

static int put_str(const char *path, const char *str)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, str, strlen(str)) < 0)
		ret = errno;
	close(fd);
	return ret;
}

int put(const char *path, const char *fmt, ...)
{
	char buf[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	return put_str(path, buf);
}

/* What is to be written where at the end, the last one first. */
static struct {
	char *path, *value;
} saved[512];
static int nr_saved;

void put_back(const char *path, const char *value)
{
	if (nr_saved == ARRAY_SIZE(saved))
		errx(1, "too many files to put back");
	saved[nr_saved].path = strdup(path);
	saved[nr_saved].value = strdup(value);
	if (!saved[nr_saved].path || !saved[nr_saved].value)
		errx(1, "out of memory");
	nr_saved++;
}

const char *save(const char *path)
{
	static char why[300];
	char buf[256];

	if (read_file(path, buf, sizeof(buf)) < 0 || access(path, W_OK)) {
		snprintf(why, sizeof(why), "no %s, or not root", path);
		return why;
	}
	put_back(path, buf);
	return NULL;
}

static void restore(void)
{
	while (nr_saved) {
		int i, ret;

		nr_saved--;
		for (i = 0; (ret = put_str(saved[nr_saved].path, saved[nr_saved].value)) && i < 100;
		     i++)
			usleep(20000);
		if (ret)
			fail("cannot write '%s' back to %s: %s", saved[nr_saved].value,
			     saved[nr_saved].path, strerror(ret));
		free(saved[nr_saved].path);
		free(saved[nr_saved].value);
	}
}

void random_cpus(struct cpuset *cpus)
{
	const struct llc *llc = &topo.llc[rnd(topo.nr_llcs)];
	int cpu, kind = rnd(5);

	cpuset_zero(cpus);
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (topo.llc_of[cpu] < 0)
			continue;
		if ((kind == 0 && !rnd(topo.nr_cpus) && !cpuset_count(cpus)) ||
		    (kind == 1 && cpuset_has(cpu, &llc->cpus) && rnd(2)) ||
		    (kind == 2 && cpuset_has(cpu, &llc->cpus)) ||
		    (kind == 3 && rnd(2)) || kind == 4)
			cpuset_add(cpu, cpus);
	}
	if (!cpuset_count(cpus))
		*cpus = llc->cpus;
}

void random_cpu_list(char *buf, size_t size)
{
	struct cpuset cpus;

	random_cpus(&cpus);
	cpuset_print_list(&cpus, buf, size);
}

/*
 * The pool of processes
 */

static void work(const struct storm *storm, int nr)
{
	while (!stopping()) {
		storm->work();
		__atomic_fetch_add(&pool->ops[nr], 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

/* The same numbers for the same seed, storm and number of the worker. */
static __u64 worker_seed(__u64 seed, const char *name, int nr)
{
	while (*name)
		seed = seed * 31 + *name++;
	return seed * 31 + nr;
}

static void start_workers(const struct storm *storm, __u64 seed)
{
	int i, nr = storm->workers ? storm->workers : topo.nr_llcs;

	for (i = 0; i < nr && nr_workers < MAX_WORKERS; i++) {
		pid_t pid = fork_child();

		if (pid < 0)
			err(1, "cannot fork");
		if (!pid) {
			setpgid(0, pool->pgid);
			rnd_state = worker_seed(seed, storm->name, i);
			work(storm, nr_workers);
		}
		setpgid(pid, pool->pgid);
		workers[nr_workers++] = (struct worker) { pid, storm };
	}
}

/* A process that only holds the process group. */
static void start_pool(void)
{
	pid_t pid;

	memset(pool, 0, sizeof(*pool));
	nr_workers = 0;
	pid = fork_child();
	if (pid < 0)
		err(1, "cannot fork");
	if (!pid) {
		for (;;)
			pause();
	}
	setpgid(pid, pid);
	pool->pgid = pid;
}

/* Reap whoever is there; a worker must not end before the end. */
static bool reap_some(bool early)
{
	int status, i;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		for (i = 0; i < nr_workers; i++) {
			if (workers[i].pid != pid)
				continue;
			workers[i].pid = 0;
			if (early)
				fail("a worker of %s ended with status %#x",
				     workers[i].storm->name, status);
		}
	}
	return !pid || errno == EINTR;
}

/* Are there workers in the middle of what must not be broken off? */
static bool careful_ones(void)
{
	int i;

	for (i = 0; i < nr_workers; i++)
		if (workers[i].pid && workers[i].storm->careful)
			return true;
	return false;
}

static void stop_pool(void)
{
	__u64 end = now_ns() + DEATH_S * NSEC_PER_SEC;

	__atomic_store_n(&pool->stop, 1, __ATOMIC_RELAXED);
	do {
		usleep(5000);
		reap_some(false);
	} while (careful_ones() && now_ns() < end);

	/* Orphans are ours to reap, see PR_SET_CHILD_SUBREAPER. */
	end = now_ns() + DEATH_S * NSEC_PER_SEC;
	do {
		kill(-pool->pgid, SIGKILL);
		usleep(5000);
		if (now_ns() > end) {
			fail("killed processes of group %d are still there", pool->pgid);
			return;
		}
	} while (reap_some(false));
}

static void run(double seconds)
{
	__u64 end = now_ns() + seconds * NSEC_PER_SEC;

	while (now_ns() < end && !__atomic_load_n(&interrupted, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&pool->failed, __ATOMIC_RELAXED)) {
		usleep(10000);
		reap_some(true);
	}
}

static __u64 storm_ops(const struct storm *storm)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < nr_workers; i++)
		if (workers[i].storm == storm)
			sum += pool->ops[i];
	return sum;
}

/* The first one is the load, which is always there. Returns how many ran, -1 if bad. */
static int run_storms(const struct storm **list, int nr, double seconds, __u64 seed, bool leaks)
{
	const char *skip[MAX_STORMS];
	int i, bad, ran = 0;

	alone = nr <= 2;
	check_before();
	start_pool();
	for (i = 0; i < nr; i++) {
		skip[i] = list[i]->setup ? list[i]->setup() : NULL;
		if (skip[i])
			skip[i] = strdup(skip[i]);
		ran += i && !skip[i];
	}
	if (ran || nr == 1) {
		for (i = 0; i < nr; i++)
			if (!skip[i])
				start_workers(list[i], seed);
		run(seconds);
	}
	stop_pool();
	for (i = nr - 1; i >= 0; i--)
		if (!skip[i] && list[i]->undo)
			list[i]->undo();
	restore();

	bad = ran ? check_after(leaks) : 0;
	if (pool->failed) {
		fprintf(stderr, "storm: %s (%d in all)\n", pool->why, pool->failed);
		bad++;
	}
	for (i = 1; i < nr; i++) {
		if (skip[i])
			printf("skip %s %s\n", list[i]->name, skip[i]);
		else if (bad)
			printf("fail %s\n", list[i]->name);
		else
			printf("ok %s %llu operations\n", list[i]->name,
			       (unsigned long long)storm_ops(list[i]));
	}
	fflush(stdout);
	return bad ? -1 : ran;
}

/*
 * Options
 */

static int all_storms(const struct storm **list)
{
	const struct storm *const sets[] = { storms_proc, storms_sched, storms_sys };
	const struct storm *s;
	unsigned int i;
	int nr = 0;

	for (i = 0; i < ARRAY_SIZE(sets); i++)
		for (s = sets[i]; s->name; s++)
			list[nr++] = s;
	return nr;
}

/* Leave those in @list, beside the first one, that are named. */
static int choose_storms(const struct storm **list, int nr, char *names)
{
	bool keep[MAX_STORMS] = { true };
	char *name, *save;
	int i, kept = 0;

	for (name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		for (i = 1; i < nr && strcmp(name, list[i]->name);)
			i++;
		if (i == nr)
			errx(2, "--only: there is no storm '%s', see --list", name);
		keep[i] = true;
	}
	for (i = 0; i < nr; i++)
		if (keep[i])
			list[kept++] = list[i];
	return kept;
}

static void on_signal(int sig)
{
	__atomic_store_n(&interrupted, sig, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	const struct storm *list[MAX_STORMS], *pair[2];
	bool together = false, leaks = false;
	int opt, i, ret, nr, ran = 0, bad = 0;
	__u64 seed = now_ns() & UINT32_MAX;
	double seconds = 1;
	const char *why;

	if (argc == 2 && !strcmp(argv[1], "--nothing"))
		_exit(0);

	nr = all_storms(list);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'l':
			for (i = 1; i < nr; i++)
				printf("%-10s %s\n", list[i]->name, list[i]->what);
			return 0;
		case 'o':
			nr = choose_storms(list, nr, optarg);
			break;
		case 't':
			together = true;
			break;
		case 's':
			seconds = parse_double("--seconds", optarg, 0.01, 86400);
			break;
		case 'S':
			seed = parse_u64("--seed", optarg, 0, UINT64_MAX);
			break;
		case 'L':
			leaks = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs("Try 'storm --help'.\n", stderr);
			return 2;
		}
	}
	if (optind < argc)
		errx(2, "'%s' is not an option, see --help", argv[optind]);

	why = topo_read(&topo);
	if (why)
		errx(KSFT_SKIP, "%s", why);
	pool = mmap(NULL, sizeof(*pool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED)
		err(1, "out of memory");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGHUP, on_signal);
	signal(SIGPIPE, SIG_IGN);

	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	if (together) {
		ret = run_storms(list, nr, seconds, seed, leaks);
		bad = ret < 0;
		ran = ret;
	} else {
		pair[0] = list[0];
		for (i = 1; i < nr && !interrupted; i++) {
			pair[1] = list[i];
			ret = run_storms(pair, 2, seconds, seed, leaks && i == nr - 1);
			bad += ret < 0;
			ran += ret != 0;
		}
	}
	if (interrupted)
		return 128 + interrupted;
	return bad ? 1 : ran ? 0 : KSFT_SKIP;
}
