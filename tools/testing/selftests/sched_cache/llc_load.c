// SPDX-License-Identifier: GPL-2.0
/*
 * Run processes whose threads share data and watch in which LLC they run.
 *
 * The watcher is a process of its own.  Each thread publishes its CPU in shared
 * memory after each operation, so a sample is a few loads and disturbs nothing;
 * a thread that sleeps counts where it ran last.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

#define TOGETHER_NS	(20 * NSEC_PER_MSEC)
#define TIMEOUT_NS	(60 * NSEC_PER_SEC)

static const char usage[] =
"Usage: llc_load [OPTION]...\n"
"Run processes whose threads share data and watch in which LLC they run.\n"
"\n"
"Load:\n"
"  --mode MODE        what the threads do (default spin), see below\n"
"  --threads N        threads of each process (default 4), beside the main thread;\n"
"                     1: it is the main thread\n"
"  --procs N          processes (default 1)\n"
"  --seconds S        how long to watch (default 1)\n"
"  --bytes B[K|M|G]   triad: arrays of all threads of a process; coldheap: the heap\n"
"                     (default 8 times the largest LLC)\n"
"  --shared B[K|M|G]  data that the threads of a process share (default 1M)\n"
"  --work N           cache lines an operation touches (default 64)\n"
"  --nap-us N         sleep of mode nap (default 500)\n"
"  --main ROLE        what the main thread does meanwhile: sleep (default),\n"
"                     fork (fork and exit), vfork (vfork and exec) in a loop\n"
"  --seed N           seed of the accesses (default 1)\n"
"\n"
"Where they start:\n"
"  --scatter          keep thread I in LLC I modulo their number, then let go\n"
"  --hold-ms N        how long --scatter keeps them there (default 5)\n"
"  --gap-ms N         start processes one after the other, N ms apart\n"
"  --cpus LIST        the processes may run only there\n"
"  --stay             --scatter keeps them there for good\n"
"  --also LIST        all threads may run on these CPUs too, wherever they are kept\n"
"  --pin-thread I:CPU thread I stays on CPU for good and is in no sample\n"
"  --mem-node N       memory is touched first on NUMA node N, and a burst runs there\n"
"  --burst N:S        first run N threads for S seconds, then only --threads\n"
"\n"
"Watcher:\n"
"  --interval-us N    time between two samples (default 1000)\n"
"  --watch-cpu CPU    run the watcher on this CPU\n"
"  --watch-fifo PRIO  run the watcher as SCHED_FIFO, for machines without idle CPU\n"
"  --samples FILE     write each sample: ms, process, threads in each LLC\n"
"  --json FILE        write the report as JSON too\n"
"\n"
"The report has a value per process, separated by commas:\n"
"  together_ms   from the start until all threads were in one LLC for 20 ms, -1: never\n"
"  share         %% of samples in the busiest LLC after that; if never, as share_late\n"
"  share_late    the same in the second half of the run\n"
"  changes       times another LLC became the busiest, in the span of share\n"
"  departures    times a thread left the busiest LLC after all were together\n"
"  llc           the busiest LLC of the second half, -1: CPUs outside of every LLC\n"
"  ops_per_s     operations of all threads\n"
"  outside       times a thread was seen where it must not run\n"
"  migrations    of all threads, -1: the kernel does not tell\n"
"  run_pct       CPU time of all threads, %% of one CPU\n"
"  run_min_pct   CPU time of the thread that got least\n"
"  wait_ms       time runnable but not running, all threads, -1: not told\n"
"  main_per_s    operations of the main thread\n"
"\n"
"Modes:\n";

enum {
	OPT_MODE = 256, OPT_THREADS, OPT_PROCS, OPT_SECONDS, OPT_BYTES, OPT_SHARED,
	OPT_WORK, OPT_NAP, OPT_MAIN, OPT_SEED, OPT_SCATTER, OPT_HOLD, OPT_GAP, OPT_CPUS,
	OPT_PIN, OPT_STAY, OPT_ALSO, OPT_MEM_NODE, OPT_BURST, OPT_INTERVAL,
	OPT_WATCH_CPU, OPT_WATCH_FIFO, OPT_SAMPLES, OPT_JSON, OPT_HELP,
};

static const struct option options[] = {
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "procs", required_argument, NULL, OPT_PROCS },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "bytes", required_argument, NULL, OPT_BYTES },
	{ "shared", required_argument, NULL, OPT_SHARED },
	{ "work", required_argument, NULL, OPT_WORK },
	{ "nap-us", required_argument, NULL, OPT_NAP },
	{ "main", required_argument, NULL, OPT_MAIN },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "scatter", no_argument, NULL, OPT_SCATTER },
	{ "hold-ms", required_argument, NULL, OPT_HOLD },
	{ "gap-ms", required_argument, NULL, OPT_GAP },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "pin-thread", required_argument, NULL, OPT_PIN },
	{ "stay", no_argument, NULL, OPT_STAY },
	{ "also", required_argument, NULL, OPT_ALSO },
	{ "mem-node", required_argument, NULL, OPT_MEM_NODE },
	{ "burst", required_argument, NULL, OPT_BURST },
	{ "interval-us", required_argument, NULL, OPT_INTERVAL },
	{ "watch-cpu", required_argument, NULL, OPT_WATCH_CPU },
	{ "watch-fifo", required_argument, NULL, OPT_WATCH_FIFO },
	{ "samples", required_argument, NULL, OPT_SAMPLES },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ }
};

/* What the watcher knows of a process. */
struct proc {
	struct load_ctl *ctl;
	pid_t pid;
	__u64 start;			/* 0: does not run yet */
	__u64 ops, main_ops;		/* when it was started, then in the run */
	double migrations, wait_ms;	/* likewise; -1: not told */
	__u64 run_ns, run_min_ns;

	int busiest;			/* LLC of the last sample */
	__u64 together_since;	/* 0: now in more than one LLC */
	__u64 together;		/* 0: never for long enough */
	unsigned int changes, changes_late, outside, departures;
	int *llc;			/* of each thread in the last sample */
	/* samples in each LLC, the last one for all other CPUs */
	__u64 *seen, *seen_late;
	unsigned int *now;
};

static struct topo topo;
static struct load_opts opts = {
	.procs = 1,
	.threads = 4,
	.pin_thread = -1,
	.mem_node = -1,
	.shared_bytes = 1 << 20,
	.work = 64,
	.nap_ns = 500 * NSEC_PER_USEC,
	.seed = 1,
};

static struct {
	double seconds;
	__u64 hold_ns, gap_ns, burst_ns, interval_ns;
	int burst_total;
	int cpu, fifo;
	FILE *samples;
} watch = {
	.seconds = 1,
	.hold_ns = 5 * NSEC_PER_MSEC,
	.interval_ns = NSEC_PER_MSEC,
	.cpu = -1,
};

static struct proc *procs;

static void kill_processes(void)
{
	int i;

	for (i = 0; procs && i < opts.procs; i++)
		if (procs[i].pid > 0)
			kill(procs[i].pid, SIGKILL);
}

static void die_with_processes(int sig)
{
	kill_processes();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* A process that dies early would be waited for until the timeout. */
static void check_alive(struct proc *p)
{
	int status;

	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	p->pid = 0;
	errx(1, "a process of the load ended early, status %#x", status);
}

static void wait_for_threads(struct proc *p, int *counter, int want, const char *what)
{
	__u64 deadline = now_ns() + TIMEOUT_NS;

	while (load_get(counter) < want) {
		check_alive(p);
		if (now_ns() > deadline)
			errx(1, "only %d of %d threads %s within %llu s", load_get(counter), want,
			     what, (unsigned long long)(TIMEOUT_NS / NSEC_PER_SEC));
		sleep_ns(NSEC_PER_MSEC / 2);
	}
}

static void set_phase(struct proc *p, enum load_phase phase)
{
	load_put(&p->ctl->phase, phase);
	futex_wake(&p->ctl->phase, INT32_MAX, true);
}

static void start_process(int nr)
{
	int threads = opts.threads + opts.burst_threads;
	struct proc *p = &procs[nr];
	size_t size = sizeof(*p->ctl) + threads * sizeof(p->ctl->slot[0]);

	p->ctl = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->ctl == MAP_FAILED)
		err(1, "cannot map %zu bytes", size);
	p->seen = xcalloc(topo.nr_llcs + 1, sizeof(*p->seen));
	p->seen_late = xcalloc(topo.nr_llcs + 1, sizeof(*p->seen_late));
	p->now = xcalloc(topo.nr_llcs + 1, sizeof(*p->now));
	p->llc = xcalloc(threads, sizeof(*p->llc));
	p->busiest = -1;

	fflush(NULL);
	p->pid = fork();
	if (p->pid < 0)
		err(1, "cannot fork");
	if (!p->pid) {
		procs = NULL;
		load_process(&opts, &topo, p->ctl, nr);
	}
	wait_for_threads(p, &p->ctl->ready, threads, "started");
}

/* The value of "se.nr_migrations : N" of a thread, -1 if it is not there. */
static double thread_migrations(struct proc *p, int i)
{
	char path[64], buf[8192], *s;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/sched", p->pid, p->ctl->slot[i].tid);
	if (read_file(path, buf, sizeof(buf)) < 0)
		return -1;
	s = strstr(buf, "nr_migrations");
	s = s ? strchr(s, ':') : NULL;
	return s ? strtod(s + 1, NULL) : -1;
}

static double thread_wait_ms(struct proc *p, int i)
{
	char path[64], buf[128];
	double run, wait;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", p->pid, p->ctl->slot[i].tid);
	if (read_file(path, buf, sizeof(buf)) < 0 || sscanf(buf, "%lf %lf", &run, &wait) != 2)
		return -1;
	return wait / NSEC_PER_MSEC;
}

static double threads_sum(struct proc *p, double (*get)(struct proc *p, int i))
{
	double sum = 0;
	int i;

	for (i = 0; i < opts.threads; i++) {
		double val = get(p, i);

		if (val < 0)
			return -1;
		sum += val;
	}
	return sum;
}

static __u64 threads_ops(struct proc *p)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < opts.threads; i++)
		sum += load_get(&p->ctl->slot[i].ops);
	return sum;
}

/* Threads in each LLC; returns how many were looked at. */
static unsigned int count_threads(struct proc *p)
{
	int i, others = topo.nr_llcs;
	unsigned int counted = 0;

	memset(p->now, 0, (others + 1) * sizeof(*p->now));
	for (i = 0; i < opts.threads; i++) {
		int cpu = load_get(&p->ctl->slot[i].cpu);
		int llc = topo.llc_of[cpu];

		if (i == opts.pin_thread) {
			p->outside += cpu != opts.pin_cpu;
			continue;
		}
		p->outside += !cpuset_has(cpu, &opts.cpus);
		p->departures += p->together && p->llc[i] == p->busiest && llc != p->busiest;
		p->llc[i] = llc;
		p->now[llc < 0 ? others : llc]++;
		counted++;
	}
	return counted;
}

static void sample(struct proc *p, __u64 now)
{
	bool late = now >= p->start + watch.seconds * NSEC_PER_SEC / 2;
	unsigned int counted = count_threads(p);
	int i, best, others = topo.nr_llcs;

	best = p->busiest < 0 ? 0 : p->busiest;
	for (i = 0; i < others; i++)
		if (p->now[i] > p->now[best])
			best = i;
	if (p->busiest >= 0 && best != p->busiest) {
		p->changes += p->together != 0;
		p->changes_late += late;
	}
	p->busiest = best;

	for (i = 0; i <= others; i++) {
		p->seen[i] += p->together ? p->now[i] : 0;
		p->seen_late[i] += late ? p->now[i] : 0;
	}

	if (p->now[best] != counted)
		p->together_since = 0;
	else if (!p->together_since)
		p->together_since = now;
	else if (!p->together && now - p->together_since >= TOGETHER_NS)
		p->together = p->together_since;

	if (watch.samples) {
		fprintf(watch.samples, "%.3f %d", (now - p->start) / 1e6, (int)(p - procs));
		for (i = 0; i <= others; i++)
			fprintf(watch.samples, " %u", p->now[i]);
		fputc('\n', watch.samples);
	}
}

static void sample_until(__u64 end)
{
	__u64 next = now_ns() + watch.interval_ns;
	int i;

	for (; next < end; next += watch.interval_ns) {
		__u64 now;

		sleep_until_ns(next);
		now = now_ns();
		for (i = 0; i < opts.procs; i++)
			if (procs[i].start)
				sample(&procs[i], now);
		/* A late watcher skips samples, it does not take two at once. */
		while (next + watch.interval_ns < now)
			next += watch.interval_ns;
	}
	sleep_until_ns(end);
}

/* Bring processes @first to @last - 1 through their phases until they run. */
static void run_processes(int first, int last)
{
	int i;

	for (i = first; i < last; i++)
		start_process(i);
	if (watch.burst_ns) {
		for (i = first; i < last; i++)
			set_phase(&procs[i], LOAD_BURST);
		sample_until(now_ns() + watch.burst_ns);
	}
	if (opts.scatter) {
		for (i = first; i < last; i++)
			set_phase(&procs[i], LOAD_HOLD);
		sample_until(now_ns() + watch.hold_ns);
	}
	for (i = first; i < last; i++) {
		struct proc *p = &procs[i];

		p->migrations = threads_sum(p, thread_migrations);
		p->wait_ms = threads_sum(p, thread_wait_ms);
	}
	for (i = first; i < last; i++) {
		struct proc *p = &procs[i];

		p->ops = threads_ops(p);
		p->main_ops = load_get(&p->ctl->main_ops);
		p->start = now_ns();
		set_phase(p, LOAD_RUN);
	}
}

static double since(double before, double after)
{
	return before < 0 || after < 0 ? -1 : after - before;
}

/* Returns when they were told to stop. */
static __u64 stop_processes(void)
{
	__u64 end = now_ns();
	int i, j, status;

	for (i = 0; i < opts.procs; i++) {
		struct proc *p = &procs[i];

		p->ops = threads_ops(p) - p->ops;
		p->main_ops = load_get(&p->ctl->main_ops) - p->main_ops;
	}
	for (i = 0; i < opts.procs; i++)
		set_phase(&procs[i], LOAD_STOP);
	for (i = 0; i < opts.procs; i++) {
		struct proc *p = &procs[i];

		wait_for_threads(p, &p->ctl->parked, opts.threads, "stopped");
		p->migrations = since(p->migrations, threads_sum(p, thread_migrations));
		p->wait_ms = since(p->wait_ms, threads_sum(p, thread_wait_ms));
		p->run_min_ns = UINT64_MAX;
		for (j = 0; j < opts.threads; j++) {
			__u64 ns = p->ctl->slot[j].run_ns;

			p->run_ns += ns;
			if (ns < p->run_min_ns)
				p->run_min_ns = ns;
		}
	}
	for (i = 0; i < opts.procs; i++) {
		set_phase(&procs[i], LOAD_EXIT);
		if (waitpid(procs[i].pid, &status, 0) != procs[i].pid || status)
			errx(1, "process %d of the load ended with status %#x", i, status);
		procs[i].pid = 0;
	}
	return end;
}

static int busiest(const __u64 *seen)
{
	int i, best = 0;

	for (i = 1; i <= topo.nr_llcs; i++)
		if (seen[i] > seen[best])
			best = i;
	return best;
}

static double share(const __u64 *seen)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i <= topo.nr_llcs; i++)
		sum += seen[i];
	return sum ? 100.0 * seen[busiest(seen)] / sum : -1;
}

/* A process that came together in its last samples has no time after. */
static bool has_after(const struct proc *p)
{
	return p->together && share(p->seen) >= 0;
}

static double get_together(const struct proc *p, double seconds)
{
	(void)seconds;
	return p->together ? (p->together - p->start) / 1e6 : -1;
}

static double get_share(const struct proc *p, double seconds)
{
	(void)seconds;
	return share(has_after(p) ? p->seen : p->seen_late);
}

static double get_share_late(const struct proc *p, double seconds)
{
	(void)seconds;
	return share(p->seen_late);
}

static double get_changes(const struct proc *p, double seconds)
{
	(void)seconds;
	return has_after(p) ? p->changes : p->changes_late;
}

static double get_departures(const struct proc *p, double seconds)
{
	(void)seconds;
	return p->departures;
}

static double get_llc(const struct proc *p, double seconds)
{
	int llc = busiest(p->seen_late);

	(void)seconds;
	return llc == topo.nr_llcs ? -1 : llc;
}

static double get_ops(const struct proc *p, double seconds)
{
	return p->ops / seconds;
}

static double get_outside(const struct proc *p, double seconds)
{
	(void)seconds;
	return p->outside;
}

static double get_migrations(const struct proc *p, double seconds)
{
	(void)seconds;
	return p->migrations;
}

static double get_run(const struct proc *p, double seconds)
{
	return p->run_ns / 1e7 / seconds;
}

static double get_run_min(const struct proc *p, double seconds)
{
	return p->run_min_ns / 1e7 / seconds;
}

static double get_wait(const struct proc *p, double seconds)
{
	(void)seconds;
	return p->wait_ms;
}

static double get_main(const struct proc *p, double seconds)
{
	return p->main_ops / seconds;
}

static const struct {
	const char *key;
	double (*get)(const struct proc *p, double seconds);
} report[] = {
	{ "together_ms", get_together },
	{ "share", get_share },
	{ "share_late", get_share_late },
	{ "changes", get_changes },
	{ "departures", get_departures },
	{ "llc", get_llc },
	{ "ops_per_s", get_ops },
	{ "outside", get_outside },
	{ "migrations", get_migrations },
	{ "run_pct", get_run },
	{ "run_min_pct", get_run_min },
	{ "wait_ms", get_wait },
	{ "main_per_s", get_main },
};

static void print_report(__u64 end)
{
	double *val = xcalloc(opts.procs, sizeof(*val));
	size_t k;
	int i;

	emit_double("llcs", topo.nr_llcs);
	emit_double("procs", opts.procs);
	emit_double("threads", opts.threads);
	for (k = 0; k < ARRAY_SIZE(report); k++) {
		for (i = 0; i < opts.procs; i++)
			val[i] = report[k].get(&procs[i], (double)(end - procs[i].start) /
					       NSEC_PER_SEC);
		emit_doubles(report[k].key, val, opts.procs);
	}
	emit_end();
	free(val);
}

/* "A:B"; both parts are parsed by the caller. */
static char *split_colon(const char *what, char *arg)
{
	char *colon = strchr(arg, ':');

	if (!colon)
		errx(2, "%s: '%s' has no colon", what, arg);
	*colon = '\0';
	return colon + 1;
}

static enum load_main parse_main(const char *arg)
{
	static const char *const name[] = { "sleep", "fork", "vfork" };
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(name); i++)
		if (!strcmp(arg, name[i]))
			return i;
	errx(2, "--main: '%s' is not one of sleep, fork, vfork", arg);
}

static void parse_option(int opt, char *arg)
{
	char *second;

	switch (opt) {
	case OPT_MODE:
		opts.mode = load_mode_find(arg);
		if (!opts.mode)
			errx(2, "--mode: there is no mode '%s', see --help", arg);
		break;
	case OPT_THREADS:
		opts.threads = parse_u64("--threads", arg, 1, 16384);
		break;
	case OPT_PROCS:
		opts.procs = parse_u64("--procs", arg, 1, 1024);
		break;
	case OPT_SECONDS:
		watch.seconds = parse_double("--seconds", arg, 0.01, 86400);
		break;
	case OPT_BYTES:
		opts.bytes = parse_size("--bytes", arg, 4096, 1UL << 40);
		break;
	case OPT_SHARED:
		opts.shared_bytes = parse_size("--shared", arg, 64, 1UL << 40) & ~63UL;
		break;
	case OPT_WORK:
		opts.work = parse_u64("--work", arg, 0, 1000000);
		break;
	case OPT_NAP:
		opts.nap_ns = parse_u64("--nap-us", arg, 1, 1000000) * NSEC_PER_USEC;
		break;
	case OPT_MAIN:
		opts.main_role = parse_main(arg);
		break;
	case OPT_SEED:
		opts.seed = parse_u64("--seed", arg, 0, UINT64_MAX);
		break;
	case OPT_SCATTER:
		opts.scatter = true;
		break;
	case OPT_HOLD:
		watch.hold_ns = parse_u64("--hold-ms", arg, 1, 60000) * NSEC_PER_MSEC;
		break;
	case OPT_GAP:
		watch.gap_ns = parse_u64("--gap-ms", arg, 0, 60000) * NSEC_PER_MSEC;
		break;
	case OPT_CPUS:
		if (!cpuset_parse_list(arg, &opts.cpus))
			errx(2, "--cpus: '%s' is not a CPU list such as 0-3,8", arg);
		break;
	case OPT_PIN:
		second = split_colon("--pin-thread", arg);
		opts.pin_thread = parse_u64("--pin-thread", arg, 0, 16383);
		opts.pin_cpu = parse_u64("--pin-thread", second, 0, MAX_CPUS - 1);
		break;
	case OPT_STAY:
		opts.stay = true;
		break;
	case OPT_ALSO:
		if (!cpuset_parse_list(arg, &opts.also))
			errx(2, "--also: '%s' is not a CPU list such as 0-3,8", arg);
		break;
	case OPT_MEM_NODE:
		opts.mem_node = parse_u64("--mem-node", arg, 0, 1023);
		break;
	case OPT_BURST:
		second = split_colon("--burst", arg);
		watch.burst_total = parse_u64("--burst", arg, 1, 16384);
		watch.burst_ns = parse_double("--burst", second, 0.001, 3600) * NSEC_PER_SEC;
		break;
	case OPT_INTERVAL:
		watch.interval_ns = parse_u64("--interval-us", arg, 10, 1000000) * NSEC_PER_USEC;
		break;
	case OPT_WATCH_CPU:
		watch.cpu = parse_u64("--watch-cpu", arg, 0, MAX_CPUS - 1);
		break;
	case OPT_WATCH_FIFO:
		watch.fifo = parse_u64("--watch-fifo", arg, 1, 99);
		break;
	case OPT_SAMPLES:
		watch.samples = fopen(arg, "w");
		if (!watch.samples)
			err(1, "cannot write %s", arg);
		/* for those who read along */
		setvbuf(watch.samples, NULL, _IOLBF, 0);
		break;
	case OPT_JSON:
		emit_json(arg);
		break;
	case OPT_HELP:
		printf(usage);
		load_mode_list(stdout);
		exit(0);
	default:
		fputs("Try 'llc_load --help'.\n", stderr);
		exit(2);
	}
}

static void parse_options(int argc, char **argv)
{
	const char *why;
	int opt;

	opts.mode = load_mode_find("spin");
	cpuset_current(&opts.cpus);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		parse_option(opt, optarg);
	if (optind < argc)
		errx(2, "'%s' is not an option, see --help", argv[optind]);

	if (watch.burst_total > opts.threads)
		opts.burst_threads = watch.burst_total - opts.threads;
	why = load_check(&opts);
	if (why)
		errx(2, "--mode, --threads and --procs do not fit: %s", why);
}

static void default_bytes(void)
{
	int i;

	for (i = 0; i < topo.nr_llcs; i++)
		if (opts.bytes < topo.llc[i].size_kib * 8192)
			opts.bytes = topo.llc[i].size_kib * 8192;
	if (!opts.bytes)
		opts.bytes = 256UL << 20;
}

static void set_up_watcher(void)
{
	struct sched_param param = { .sched_priority = watch.fifo };

	if (watch.cpu >= 0)
		pin_to_cpu(watch.cpu);
	if (watch.fifo && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		err(1, "cannot become SCHED_FIFO, priority %d", watch.fifo);
}

int main(int argc, char **argv)
{
	int first, batch;

	/* what the children of --main vfork run */
	if (argc == 2 && !strcmp(argv[1], "--nothing"))
		return 0;

	parse_options(argc, argv);
	topo_read_or_skip(&topo);
	if (!opts.bytes)
		default_bytes();
	load_connect(&opts);

	procs = xcalloc(opts.procs, sizeof(*procs));
	signal(SIGINT, die_with_processes);
	signal(SIGTERM, die_with_processes);
	atexit(kill_processes);

	set_up_watcher();
	batch = watch.gap_ns ? 1 : opts.procs;
	for (first = 0; first < opts.procs; first += batch) {
		if (first)
			sample_until(now_ns() + watch.gap_ns);
		run_processes(first, first + batch);
	}
	sample_until(procs[opts.procs - 1].start + watch.seconds * NSEC_PER_SEC);
	print_report(stop_processes());
	if (watch.samples && fclose(watch.samples))
		err(1, "cannot write the samples");
	return 0;
}
