// SPDX-License-Identifier: GPL-2.0
/*
 * Wakeup latency of a program in the manner of schbench: message threads hand
 * requests to their workers.  A worker thinks (sleeps), works on data that the
 * workers of its message thread share, asks for the next request and sleeps
 * until the message thread wakes it.
 *
 *   wakeup   from just before the message thread's futex call to the worker running
 *   request  from there to the end of the work
 *
 * It is not schbench: the work is a fixed number of accesses to shared memory
 * instead of a matrix multiplication under a per-CPU lock, and all percentiles
 * are those of the whole run.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "llc_phase.h"
#include "util.h"

#define LINE		64
/* A power of two has 128 buckets: values are exact to 0.8 %. */
#define SUB_BITS	7
#define SUB		128
#define BUCKETS		((64 - SUB_BITS) * SUB + SUB)

static const char usage[] =
"Usage: schbench_lite [OPTION]...\n"
"Message threads wake workers that share data; how long does a wakeup take?\n"
"  --messages N      message threads (default 1)\n"
"  --workers N       workers of each message thread (default 4)\n"
"  --seconds S       how long to measure (default 2)\n"
"  --warmup S        run for so long before (default 0)\n"
"  --work N          cache lines of shared data a request touches (default 500)\n"
"  --shared B[K|M|G] data that the workers of a message thread share (default 256K)\n"
"  --think-us N      sleep before the work, 0: none (default 100)\n"
"  --json FILE       write the report as JSON too\n"
"Output, in us: wakeup_p50_us, _p90_us, _p99_us, _p999_us, _max_us, the same for\n"
"request_; rps: requests per second; requests\n";

static const struct option options[] = {
	{ "messages", required_argument, NULL, 'm' },
	{ "workers", required_argument, NULL, 'w' },
	{ "seconds", required_argument, NULL, 's' },
	{ "warmup", required_argument, NULL, 'W' },
	{ "work", required_argument, NULL, 'l' },
	{ "shared", required_argument, NULL, 'b' },
	{ "think-us", required_argument, NULL, 't' },
	{ "json", required_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

struct histogram {
	__u64 count[BUCKETS];
	__u64 max;
};

enum order {
	ORDER_WAIT,
	ORDER_WORK,
	ORDER_QUIT,
};

struct group;

struct worker {
	alignas(128) struct group *group;
	struct worker *next;		/* in the list of those that ask */
	pthread_t thread;
	int go;				/* futex: enum order */
	__u64 woken;			/* ns, written before "go" */
	__u64 rng;
	struct histogram wakeup, request;
};

struct group {
	alignas(128) struct worker *asking;	/* lock-free list, newest first */
	int ask;				/* futex: workers have come since */
	pthread_t thread;
	char *shared;
	struct worker *workers;
};

static struct {
	int messages, workers;
	unsigned int work;
	unsigned long shared;
	__u64 think_ns;
	double seconds, warmup;
} opts = {
	.messages = 1,
	.workers = 4,
	.work = 500,
	.shared = 256 << 10,
	.think_ns = 100 * NSEC_PER_USEC,
	.seconds = 2,
};

static bool measure, stop;

static int bucket_of(__u64 val)
{
	int shift;

	if (val < SUB)
		return val;
	shift = 63 - __builtin_clzll(val) - SUB_BITS;
	return (shift + 1) * SUB + (val >> shift) - SUB;
}

/* The middle of a bucket's values */
static double bucket_value(int bucket)
{
	int shift = bucket / SUB - 1;

	if (shift < 0)
		return bucket;
	return ((bucket % SUB + SUB) + 0.5) * (1ULL << shift) - 0.5;
}

static void histogram_add(struct histogram *h, __u64 val)
{
	h->count[bucket_of(val)]++;
	if (val > h->max)
		h->max = val;
}

static void histogram_merge(struct histogram *sum, const struct histogram *h)
{
	int i;

	for (i = 0; i < BUCKETS; i++)
		sum->count[i] += h->count[i];
	if (h->max > sum->max)
		sum->max = h->max;
}

static __u64 histogram_total(const struct histogram *h)
{
	__u64 total = 0;
	int i;

	for (i = 0; i < BUCKETS; i++)
		total += h->count[i];
	return total;
}

static double histogram_percentile(const struct histogram *h, double percent)
{
	__u64 below = 0, want = histogram_total(h) * percent / 100;
	int i;

	for (i = 0; i < BUCKETS; i++) {
		below += h->count[i];
		if (below > want)
			return bucket_value(i);
	}
	return h->max;
}

static void do_work(struct worker *w)
{
	unsigned long lines = opts.shared / LINE;
	unsigned int i;

	for (i = 0; i < opts.work; i++) {
		__u64 *p;

		w->rng = w->rng * 6364136223846793005ULL + 1442695040888963407ULL;
		p = (__u64 *)(w->group->shared + (w->rng >> 33) % lines * LINE);
		__atomic_store_n(p, __atomic_load_n(p, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
	}
}

/* Queue for a request and sleep until the message thread has an order. */
static int ask(struct worker *w)
{
	struct group *g = w->group;
	int order;

	__atomic_store_n(&w->go, ORDER_WAIT, __ATOMIC_RELEASE);
	w->next = __atomic_load_n(&g->asking, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&g->asking, &w->next, w, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	if (!__atomic_exchange_n(&g->ask, 1, __ATOMIC_ACQ_REL))
		futex_wake(&g->ask, 1, false);
	while ((order = __atomic_load_n(&w->go, __ATOMIC_ACQUIRE)) == ORDER_WAIT)
		futex_wait(&w->go, ORDER_WAIT, false);
	return order;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	while (ask(w) == ORDER_WORK) {
		__u64 start = now_ns();
		bool counts = __atomic_load_n(&measure, __ATOMIC_RELAXED);

		if (counts)
			histogram_add(&w->wakeup, start - w->woken);
		if (opts.think_ns)
			sleep_ns(opts.think_ns);
		do_work(w);
		if (counts)
			histogram_add(&w->request, now_ns() - start);
		llc_phase_op();
	}
	return NULL;
}

static void *message_main(void *arg)
{
	struct group *g = arg;
	int gone = 0;

	while (gone < opts.workers) {
		struct worker *w;

		while (!__atomic_load_n(&g->ask, __ATOMIC_ACQUIRE))
			futex_wait(&g->ask, 0, false);
		__atomic_store_n(&g->ask, 0, __ATOMIC_SEQ_CST);
		w = __atomic_exchange_n(&g->asking, NULL, __ATOMIC_SEQ_CST);
		while (w) {
			struct worker *next = w->next;
			bool quit = __atomic_load_n(&stop, __ATOMIC_RELAXED);

			gone += quit;
			w->woken = now_ns();
			__atomic_store_n(&w->go, quit ? ORDER_QUIT : ORDER_WORK, __ATOMIC_RELEASE);
			futex_wake(&w->go, 1, false);
			w = next;
		}
	}
	return NULL;
}

static void start_thread(pthread_t *thread, void *(*func)(void *), void *arg)
{
	errno = pthread_create(thread, NULL, func, arg);
	if (errno)
		err(1, "cannot create a thread");
}

static void start_group(struct group *g, int nr)
{
	int i;

	g->shared = aligned_alloc(LINE, opts.shared);
	g->workers = aligned_alloc(128, opts.workers * sizeof(*g->workers));
	if (!g->shared || !g->workers)
		errx(1, "out of memory for %d workers", opts.workers);
	memset(g->shared, 0, opts.shared);
	memset(g->workers, 0, opts.workers * sizeof(*g->workers));

	start_thread(&g->thread, message_main, g);
	for (i = 0; i < opts.workers; i++) {
		g->workers[i].group = g;
		g->workers[i].rng = nr * opts.workers + i + 1;
		start_thread(&g->workers[i].thread, worker_main, &g->workers[i]);
	}
}

static void join_group(struct group *g, struct histogram *wakeup, struct histogram *request)
{
	int i;

	for (i = 0; i < opts.workers; i++) {
		pthread_join(g->workers[i].thread, NULL);
		histogram_merge(wakeup, &g->workers[i].wakeup);
		histogram_merge(request, &g->workers[i].request);
	}
	pthread_join(g->thread, NULL);
}

static void report(const char *what, const struct histogram *h)
{
	static const struct {
		const char *name;
		double percent;
	} p[] = { { "p50", 50 }, { "p90", 90 }, { "p99", 99 }, { "p999", 99.9 } };
	char key[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		snprintf(key, sizeof(key), "%s_%s_us", what, p[i].name);
		emit_double(key, histogram_percentile(h, p[i].percent) / NSEC_PER_USEC);
	}
	snprintf(key, sizeof(key), "%s_max_us", what);
	emit_double(key, (double)h->max / NSEC_PER_USEC);
}

static void parse_options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'm':
			opts.messages = parse_u64("--messages", optarg, 1, 1024);
			break;
		case 'w':
			opts.workers = parse_u64("--workers", optarg, 1, 16384);
			break;
		case 's':
			opts.seconds = parse_double("--seconds", optarg, 0.01, 86400);
			break;
		case 'W':
			opts.warmup = parse_double("--warmup", optarg, 0, 86400);
			break;
		case 'l':
			opts.work = parse_u64("--work", optarg, 0, 100000000);
			break;
		case 'b':
			opts.shared = parse_size("--shared", optarg, LINE, 1UL << 40);
			opts.shared &= ~(LINE - 1UL);
			break;
		case 't':
			opts.think_ns = parse_u64("--think-us", optarg, 0, 1000000) * NSEC_PER_USEC;
			break;
		case 'j':
			emit_json(optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs("Try 'schbench_lite --help'.\n", stderr);
			exit(2);
		}
	}
	if (optind < argc)
		errx(2, "'%s' is not an option, see --help", argv[optind]);
}

int main(int argc, char **argv)
{
	static struct histogram wakeup, request;
	struct group *groups;
	double seconds;
	__u64 start;
	int i;

	parse_options(argc, argv);
	groups = aligned_alloc(alignof(struct group), opts.messages * sizeof(*groups));
	if (!groups)
		errx(1, "out of memory");
	memset(groups, 0, opts.messages * sizeof(*groups));

	for (i = 0; i < opts.messages; i++)
		start_group(&groups[i], i);
	sleep_ns(opts.warmup * NSEC_PER_SEC);
	start = now_ns();
	__atomic_store_n(&measure, true, __ATOMIC_RELAXED);
	sleep_ns(opts.seconds * NSEC_PER_SEC);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	seconds = (double)(now_ns() - start) / NSEC_PER_SEC;
	for (i = 0; i < opts.messages; i++)
		join_group(&groups[i], &wakeup, &request);

	report("wakeup", &wakeup);
	report("request", &request);
	emit_double("rps", histogram_total(&request) / seconds);
	emit_double("requests", histogram_total(&request));
	emit_end();
	return 0;
}
