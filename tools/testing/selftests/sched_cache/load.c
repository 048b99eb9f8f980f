// SPDX-License-Identifier: GPL-2.0
/*
 * Processes whose threads share data, in the ways that matter to a scheduler:
 * always running, waking each other, taking work from a queue, streaming.
 */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "llc_phase.h"
#include "load.h"

#define LINE		64
#define TRIAD_CHUNK	2048
#define POOL_BATCH	4	/* items per worker that the pool is given at once */

struct load_thread;

struct load_mode {
	const char *name;
	const char *help;
	/* One operation; false: there will be no more. */
	bool (*op)(struct load_thread *t);
	/* Once per process, before its threads. */
	void (*init)(struct load_thread *threads);
	/* By each thread, before the run. */
	void (*init_thread)(struct load_thread *t);
	/* Instead of the main thread's role, until the phase is LOAD_STOP. */
	void (*produce)(struct load_thread *threads);
	/* Threads come in pairs of one that asks and one that answers. */
	bool threads_paired;
	/* All threads end in the same step, which the first one names. */
	bool in_steps;
	/* Processes come in such pairs. */
	bool procs_paired;
};

enum load_token {
	TOKEN_NONE,
	TOKEN_WORK,
	TOKEN_QUIT,
};

struct load_thread {
	alignas(128) const struct load_opts *opts;
	const struct topo *topo;
	struct load_ctl *ctl;
	struct load_slot *slot;
	struct load_thread *peer;
	pthread_t id;
	int nr;
	bool extra;		/* only for the burst */
	bool answers;		/* ends when the peer says so, not by the phase */
	char *shared;
	__u64 rng;
	unsigned int step;
	int fd_in, fd_out;
	/* the word both ends of a futex pair use is that of the asking one */
	alignas(LINE) int word;
	double *a, *b, *c;
	size_t triad_len, triad_pos;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	int queued, pending;
	bool quit;
} pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static struct {
	pthread_barrier_t barrier;
	int quit[2];
} step;

/* Sockets between paired processes: [process][thread] */
static int *socks;

static __u64 rng_next(__u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Read and write random lines of the data all threads share. */
static void touch(struct load_thread *t)
{
	unsigned long lines = t->opts->shared_bytes / LINE;
	unsigned int i;

	for (i = 0; i < t->opts->work; i++) {
		__u64 *p = (__u64 *)(t->shared + rng_next(&t->rng) % lines * LINE);

		__atomic_store_n(p, __atomic_load_n(p, __ATOMIC_RELAXED) + 1,
				 __ATOMIC_RELAXED);
	}
}

static bool op_spin(struct load_thread *t)
{
	touch(t);
	return true;
}

static bool op_nap(struct load_thread *t)
{
	touch(t);
	sleep_ns(t->opts->nap_ns);
	return true;
}

static void token_send(struct load_thread *t, char token)
{
	if (write(t->fd_out, &token, 1) != 1)
		err(1, "cannot write a token");
}

static char token_receive(struct load_thread *t)
{
	char token;

	if (read(t->fd_in, &token, 1) != 1)
		err(1, "cannot read a token");
	return token;
}

static bool stopping(struct load_thread *t)
{
	return load_get(&t->ctl->phase) >= LOAD_STOP;
}

static bool op_pipe(struct load_thread *t)
{
	if (!t->answers) {
		bool quit = stopping(t);

		touch(t);
		token_send(t, quit ? TOKEN_QUIT : TOKEN_WORK);
		return !quit && token_receive(t) == TOKEN_WORK;
	}
	if (token_receive(t) == TOKEN_QUIT)
		return false;
	touch(t);
	token_send(t, TOKEN_WORK);
	return true;
}

static void word_set(int *word, enum load_token token)
{
	load_put(word, token);
	futex_wake(word, 1, false);
}

static bool op_futex(struct load_thread *t)
{
	int *word = t->answers ? &t->peer->word : &t->word;
	bool quit;

	if (t->answers) {
		int token;

		while ((token = load_get(word)) == TOKEN_NONE)
			futex_wait(word, TOKEN_NONE, false);
		if (token == TOKEN_QUIT)
			return false;
		touch(t);
		word_set(word, TOKEN_NONE);
		return true;
	}

	quit = stopping(t);
	touch(t);
	word_set(word, quit ? TOKEN_QUIT : TOKEN_WORK);
	while (!quit && load_get(word) == TOKEN_WORK)
		futex_wait(word, TOKEN_WORK, false);
	return !quit;
}

static bool op_pool(struct load_thread *t)
{
	bool work;

	pthread_mutex_lock(&pool.lock);
	while (!pool.queued && !pool.quit)
		pthread_cond_wait(&pool.work, &pool.lock);
	work = pool.queued > 0;
	if (work)
		pool.queued--;
	pthread_mutex_unlock(&pool.lock);
	if (!work)
		return false;

	touch(t);

	pthread_mutex_lock(&pool.lock);
	if (!--pool.pending)
		pthread_cond_signal(&pool.done);
	pthread_mutex_unlock(&pool.lock);
	return true;
}

static void produce_pool(struct load_thread *t)
{
	bool quit;

	do {
		quit = stopping(t);
		pthread_mutex_lock(&pool.lock);
		pool.quit = quit;
		if (!quit)
			pool.queued = POOL_BATCH * t->opts->threads;
		pool.pending = pool.queued;
		pthread_cond_broadcast(&pool.work);
		while (!quit && pool.pending)
			pthread_cond_wait(&pool.done, &pool.lock);
		pthread_mutex_unlock(&pool.lock);
	} while (!quit);
}

static void init_barrier(struct load_thread *threads)
{
	errno = pthread_barrier_init(&step.barrier, NULL, threads->opts->threads);
	if (errno)
		err(1, "cannot create a barrier");
}

/*
 * The first thread says whether this step is the last one; all hear it in the
 * same step. What it says of the next one goes to the other word.
 */
static bool op_barrier(struct load_thread *t)
{
	int *quit = &step.quit[t->step++ % 2];

	if (!t->nr)
		load_put(quit, stopping(t));
	touch(t);
	pthread_barrier_wait(&step.barrier);
	return !load_get(quit);
}

/* By the thread itself: its memory comes from where it runs. */
static void init_triad(struct load_thread *t)
{
	size_t i;

	t->triad_len = t->opts->bytes / t->opts->threads / 3 / sizeof(double);
	if (!t->triad_len)
		errx(2, "--bytes: too few for %d threads", t->opts->threads);
	t->a = xcalloc(3 * t->triad_len, sizeof(double));
	t->b = t->a + t->triad_len;
	t->c = t->b + t->triad_len;
	for (i = 0; i < 3 * t->triad_len; i++)
		t->a[i] = i;
}

static bool op_triad(struct load_thread *t)
{
	size_t i, end = t->triad_pos + TRIAD_CHUNK;

	if (end > t->triad_len)
		end = t->triad_len;
	for (i = t->triad_pos; i < end; i++)
		t->a[i] = t->b[i] + 3.0 * t->c[i];
	t->triad_pos = end == t->triad_len ? 0 : end;
	return true;
}

static void init_coldheap(struct load_thread *t)
{
	size_t i, page = sysconf(_SC_PAGESIZE);
	char *heap;

	heap = mmap(NULL, t->opts->bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		err(1, "cannot map a heap of %lu bytes", t->opts->bytes);
	for (i = 0; i < t->opts->bytes; i += page)
		heap[i] = 1;
}

static void init_pipes(struct load_thread *threads)
{
	int i;

	for (i = 0; i < threads->opts->threads; i += 2) {
		int there[2], back[2];

		if (pipe(there) || pipe(back))
			err(1, "cannot create a pipe");
		threads[i].fd_out = there[1];
		threads[i + 1].fd_in = there[0];
		threads[i + 1].fd_out = back[1];
		threads[i].fd_in = back[0];
	}
}

static const struct load_mode load_modes[] = {
	{
		.name = "spin",
		.help = "always running, random access to shared data",
		.op = op_spin,
	}, {
		.name = "nap",
		.help = "the same, with a sleep of --nap-us after each operation",
		.op = op_nap,
	}, {
		.name = "pingpong",
		.help = "pairs of threads that wake each other through pipes",
		.op = op_pipe,
		.init = init_pipes,
		.threads_paired = true,
	}, {
		.name = "futex",
		.help = "pairs of threads that wake each other through a futex",
		.op = op_futex,
		.threads_paired = true,
	}, {
		.name = "pair",
		.help = "client and server process, a socket for each pair of threads",
		.op = op_pipe,
		.procs_paired = true,
	}, {
		.name = "pool",
		.help = "workers that take items from a queue the main thread fills",
		.op = op_pool,
		.produce = produce_pool,
	}, {
		.name = "barrier",
		.help = "steps: each thread touches shared data, then waits for all others",
		.op = op_barrier,
		.init = init_barrier,
		.in_steps = true,
	}, {
		.name = "triad",
		.help = "STREAM triad, --bytes of arrays of which each thread has its part",
		.op = op_triad,
		.init_thread = init_triad,
	}, {
		.name = "coldheap",
		.help = "as spin, beside a heap of --bytes touched once",
		.op = op_spin,
		.init = init_coldheap,
	},
};

const struct load_mode *load_mode_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(load_modes); i++)
		if (!strcmp(load_modes[i].name, name))
			return &load_modes[i];
	return NULL;
}

void load_mode_list(FILE *f)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(load_modes); i++)
		fprintf(f, "  %-9s %s\n", load_modes[i].name, load_modes[i].help);
}

const char *load_check(const struct load_opts *opts)
{
	const struct load_mode *mode = opts->mode;

	if (mode->threads_paired && opts->threads % 2)
		return "this mode needs an even number of threads";
	if (mode->procs_paired && opts->procs % 2)
		return "this mode needs an even number of processes";
	if (opts->burst_threads && mode->op != op_spin)
		return "additional threads for a burst exist only in mode spin";
	if (mode->produce && opts->main_role != LOAD_MAIN_SLEEP)
		return "the main thread is busy in this mode";
	if (opts->pin_thread >= opts->threads)
		return "there is no thread with the number to pin";
	return NULL;
}

void load_connect(const struct load_opts *opts)
{
	int proc, i;

	if (!opts->mode->procs_paired)
		return;

	socks = xcalloc(opts->procs * opts->threads, sizeof(int));
	for (proc = 0; proc < opts->procs; proc += 2) {
		int *ask = socks + proc * opts->threads;
		int *answer = ask + opts->threads;

		for (i = 0; i < opts->threads; i++) {
			int sv[2];

			if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
				err(1, "cannot create a socket pair");
			ask[i] = sv[0];
			answer[i] = sv[1];
		}
	}
}

static void wait_while_phase(struct load_ctl *ctl, int phase)
{
	while (load_get(&ctl->phase) == phase)
		futex_wait(&ctl->phase, phase, true);
}

/* Keep the thread where the phase wants it. */
static void place(struct load_thread *t, int phase)
{
	const struct load_opts *opts = t->opts;
	struct cpuset cpus = opts->cpus;

	if (t->nr == opts->pin_thread) {
		pin_to_cpu(opts->pin_cpu);
		return;
	}
	if (phase == LOAD_BURST && opts->mem_node >= 0)
		topo_node(t->topo, opts->mem_node, &opts->cpus, &cpus);
	else if (opts->scatter && (phase == LOAD_HOLD || opts->stay))
		topo_nth_llc(t->topo, &opts->cpus, t->nr, &cpus);
	cpuset_or(&cpus, &cpus, &opts->also);
	cpuset_apply(&cpus);
}

static void enter_phase(struct load_thread *t, int phase)
{
	place(t, phase);
	if (phase == LOAD_RUN)
		t->slot->start_ns = thread_cpu_ns();
}

static void *thread_main(void *arg)
{
	struct load_thread *t = arg;
	int phase = LOAD_SETUP;
	bool more = true;

	if (t->opts->mode->init_thread)
		t->opts->mode->init_thread(t);
	t->slot->tid = syscall(SYS_gettid);
	place(t, LOAD_SETUP);
	load_put(&t->slot->cpu, sched_getcpu());
	__atomic_add_fetch(&t->ctl->ready, 1, __ATOMIC_RELEASE);
	wait_while_phase(t->ctl, LOAD_SETUP);

	while (more) {
		int now = load_get(&t->ctl->phase);

		if (now != phase && now <= LOAD_RUN)
			enter_phase(t, now);
		phase = now;
		if (t->extra && phase > LOAD_BURST)
			return NULL;
		if (phase >= LOAD_STOP && !t->answers)
			more = false;
		/* The asking end needs a last operation to let the other go. */
		if (more || t->opts->mode->threads_paired || t->opts->mode->procs_paired)
			more = t->opts->mode->op(t) && more;
		load_put(&t->slot->cpu, sched_getcpu());
		load_put(&t->slot->ops, t->slot->ops + 1);
		llc_phase_op();
	}

	t->slot->run_ns = thread_cpu_ns() - t->slot->start_ns;
	__atomic_add_fetch(&t->ctl->parked, 1, __ATOMIC_RELEASE);
	wait_while_phase(t->ctl, LOAD_STOP);
	return NULL;
}

/* Children that do nothing, as a program that runs commands has them. */
static void run_child(enum load_main role)
{
	static char *const argv[] = { "llc_load", "--nothing", NULL };
	int status;
	pid_t pid;

	pid = role == LOAD_MAIN_VFORK ? vfork() : fork();
	if (pid < 0)
		err(1, "cannot fork");
	if (!pid) {
		if (role == LOAD_MAIN_VFORK)
			execv("/proc/self/exe", argv);
		_exit(role == LOAD_MAIN_VFORK);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a child of the main thread ended with status %#x", status);
}

static void main_thread(struct load_thread *threads)
{
	const struct load_opts *opts = threads->opts;
	struct load_ctl *ctl = threads->ctl;

	if (opts->mode->produce) {
		wait_while_phase(ctl, LOAD_SETUP);
		opts->mode->produce(threads);
	}
	while (opts->main_role != LOAD_MAIN_SLEEP && load_get(&ctl->phase) < LOAD_STOP) {
		run_child(opts->main_role);
		load_put(&ctl->main_ops, ctl->main_ops + 1);
	}
}

/* A program of one thread has just that one. */
static bool main_thread_does_it(const struct load_opts *opts)
{
	return opts->threads + opts->burst_threads == 1 && !opts->mode->produce &&
	       opts->main_role == LOAD_MAIN_SLEEP;
}

static void thread_setup(struct load_thread *t, struct load_thread *threads, int proc)
{
	const struct load_opts *opts = t->opts;

	t->extra = t->nr >= opts->threads;
	t->rng = opts->seed * 0x9e3779b97f4a7c15ULL + proc * 65537 + t->nr + 1;
	/* neighbouring seeds start out alike */
	rng_next(&t->rng);
	rng_next(&t->rng);
	if (opts->mode->threads_paired) {
		t->answers = t->nr % 2;
		t->peer = &threads[t->nr ^ 1];
	}
	if (opts->mode->procs_paired) {
		t->answers = proc % 2;
		t->fd_in = socks[proc * opts->threads + t->nr];
		t->fd_out = t->fd_in;
	}
	/* Its end is in the hands of the thread that fills the queue. */
	if (opts->mode->produce || opts->mode->in_steps)
		t->answers = true;
}

void __noreturn load_process(const struct load_opts *opts, const struct topo *topo,
			     struct load_ctl *ctl, int proc)
{
	int i, rc, nr = opts->threads + opts->burst_threads;
	struct load_thread *threads;
	pthread_attr_t attr;
	char *shared;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cpuset_apply(&opts->cpus);
	/* Memory comes from where it is touched first. */
	if (opts->mem_node >= 0) {
		struct cpuset cpus;

		topo_node(topo, opts->mem_node, &opts->cpus, &cpus);
		cpuset_apply(&cpus);
	}

	threads = aligned_alloc(sizeof(*threads), nr * sizeof(*threads));
	shared = aligned_alloc(LINE, opts->shared_bytes);
	if (!threads || !shared)
		errx(1, "out of memory for %d threads", nr);
	memset(threads, 0, nr * sizeof(*threads));
	memset(shared, 0, opts->shared_bytes);

	for (i = 0; i < nr; i++) {
		struct load_thread *t = &threads[i];

		t->opts = opts;
		t->topo = topo;
		t->ctl = ctl;
		t->slot = &ctl->slot[i];
		t->shared = shared;
		t->nr = i;
		thread_setup(t, threads, proc);
	}
	if (opts->mode->init)
		opts->mode->init(threads);

	if (main_thread_does_it(opts)) {
		thread_main(threads);
		_exit(0);
	}

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	for (i = 0; i < nr; i++) {
		rc = pthread_create(&threads[i].id, &attr, thread_main, &threads[i]);
		if (rc) {
			errno = rc;
			err(1, "cannot create thread %d of %d", i + 1, nr);
		}
	}
	cpuset_apply(&opts->cpus);
	main_thread(threads);
	for (i = 0; i < nr; i++)
		pthread_join(threads[i].id, NULL);
	_exit(0);
}
