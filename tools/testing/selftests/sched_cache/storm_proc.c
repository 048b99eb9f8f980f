// SPDX-License-Identifier: GPL-2.0
/*
 * Storms of what a program does by itself: the load beside all storms, processes and
 * threads that come and go, memory that changes, kernel threads that work for it.
 */
#include <errno.h>
#include <libgen.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "storm.h"

extern char **environ;

static char *const nothing[] = { "storm", "--nothing", NULL };

/*
 * load: processes whose threads talk to each other and to other processes. They
 * live for long enough to become a group and to be gathered.
 */

#define NR_PIPES 8

static int pipes[NR_PIPES][2];

static struct life {
	char *mem;
	size_t size;
	__u64 end;
	int word;	/* a futex */
} life;

static const char *load_setup(void)
{
	int i;

	for (i = 0; i < NR_PIPES; i++)
		if (!pipes[i][1] && pipe2(pipes[i], O_NONBLOCK | O_CLOEXEC))
			return "cannot create pipes";
	return NULL;
}

static bool living(void)
{
	return now_ns() < life.end && !stopping();
}

/* Touch shared memory. */
static void touch(__u64 *state, __u32 times)
{
	while (times--) {
		life.mem[rnd_r(state, life.size)]++;
		relax();
	}
}

static void talk(__u64 *state)
{
	const struct timespec ms = { .tv_nsec = NSEC_PER_MSEC };
	struct pollfd fd = { .events = POLLIN };
	int *end = pipes[rnd_r(state, NR_PIPES)];
	char buf[64];

	switch (rnd_r(state, 4)) {
	case 0:
		__atomic_fetch_add(&life.word, 1, __ATOMIC_RELAXED);
		futex_wake(&life.word, 1, false);
		break;
	case 1:
		syscall(SYS_futex, &life.word, 0 /* FUTEX_WAIT */ | 128 /* private */,
			__atomic_load_n(&life.word, __ATOMIC_RELAXED), &ms, NULL, 0);
		break;
	case 2:
		if (write(end[1], buf, 1) < 0)
			sched_yield();
		break;
	case 3:
		fd.fd = end[0];
		if (poll(&fd, 1, 2) == 1 && read(fd.fd, buf, sizeof(buf)) < 0)
			sched_yield();
		break;
	}
}

static void *load_thread(void *arg)
{
	__u64 state = rnd_state + gettid();

	(void)arg;
	victim_add();
	while (living()) {
		switch (rnd_r(&state, 4)) {
		case 0:
			touch(&state, 1 + rnd_r(&state, 500));
			break;
		/* CPUs that are idle now and then: what is full is left alone. */
		case 1 ... 2:
			usleep(rnd_r(&state, 3000));
			break;
		default:
			talk(&state);
		}
	}
	victim_del();
	return NULL;
}

static void ignore_signal(int sig)
{
	(void)sig;
}

static void load_work(void)
{
	/* Some are larger than a cache, so that their working set is looked at. */
	life.size = rnd(6) ? 256 << 10 : 20 << 20;
	life.mem = mmap(NULL, life.size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (life.mem == MAP_FAILED) {
		nap_us(1000);
		return;
	}
	life.end = now_ns() + (30 + rnd(600)) * NSEC_PER_MSEC;
	signal(SIGUSR1, ignore_signal);
	run_process(2 + rnd(5), load_thread, NULL);
	munmap(life.mem, life.size);
}

/* exec: the program exec_storm, which see */
static void exec_work(void)
{
	char pairs[16], threads[16], live[16], seconds[16];
	char *const argv[] = {
		"exec_storm", "--pairs", pairs, "--threads", threads, "--live-ms", live,
		"--seconds", seconds, NULL
	};
	char path[4096], program[4200];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int status;
	pid_t pid;

	if (len < 0)
		return;
	path[len] = '\0';
	snprintf(program, sizeof(program), "%s/%s", dirname(path), argv[0]);
	snprintf(pairs, sizeof(pairs), "%u", 1 + rnd(2));
	snprintf(threads, sizeof(threads), "%u", 1 + rnd(3));
	snprintf(live, sizeof(live), "%u", rnd(60));
	/* For long enough that what belonged to the first of them is freed */
	snprintf(seconds, sizeof(seconds), "%u.%u", rnd(3), 1 + rnd(9));

	pid = fork_child();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		execv(program, argv);
		_exit(127);
	}
	status = reap(pid);
	if (status > 0 && WIFEXITED(status) && !stopping())
		fail("%s ended with status %d", program, WEXITSTATUS(status));
}

/* fork: every way to make a process */
static int exit_now(void *arg)
{
	if (arg)
		nap_us(*(int *)arg);
	_exit(0);
}

static int exec_nothing(void *arg)
{
	(void)arg;
	execv("/proc/self/exe", nothing);
	_exit(1);
}

/* Live and run for up to @ms, so that the scheduler takes notice. */
static void live_for(int ms)
{
	__u64 end = now_ns() + ms * NSEC_PER_MSEC;
	int i;

	while (now_ns() < end && !stopping()) {
		for (i = 0; i < 100; i++)
			relax();
		usleep(500);
	}
}

/* Outlive all ancestors, and what is freed a grace period after them. */
static void outlive(pid_t ancestor)
{
	int i;

	prctl(PR_SET_PDEATHSIG, 0);
	for (i = 0; i < 500 && !kill(ancestor, 0); i++)
		live_for(10);
	live_for(100 + rnd(200));
}

/* A child, or one that outlives its parents; maybe it execs. */
static pid_t fork_one(void)
{
	pid_t ancestor = getpid(), pid = fork_child();

	if (pid)
		return pid;
	if (chance(40) && !fork_child())
		outlive(ancestor);
	else if (chance(30))
		execv("/proc/self/exe", nothing);
	_exit(0);
}

static void *fork_thread(void *arg)
{
	alignas(16) char stack[16384];
	int us = 300, i;
	pid_t pid[4];

	/* As one of several threads, until these are a group */
	if (arg)
		live_for(rnd(60));
	for (i = 0; i < 4; i++) {
		switch (rnd(6)) {
		case 0:
		case 1:
			pid[i] = fork_one();
			break;
		case 2:
		case 3:
			/* vfork() */
			pid[i] = clone(rnd(2) ? exec_nothing : exit_now, stack + sizeof(stack),
				       CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
			break;
		case 4:
			if (posix_spawn(&pid[i], "/proc/self/exe", NULL, NULL, nothing, environ))
				pid[i] = -1;
			break;
		case 5:
			/* A process of its own that shares the memory and stays */
			pid[i] = clone(exit_now, stack + sizeof(stack), CLONE_VM | SIGCHLD, &us);
			reap(pid[i]);
			break;
		}
	}
	for (i = 0; i < 4; i++)
		reap(pid[i]);
	return NULL;
}

static void fork_work(void)
{
	/* From one thread, and from several at once */
	if (chance(40))
		fork_thread(NULL);
	else
		run_process(2 + rnd(3), fork_thread, (void *)nothing);
	nap_us(rnd(3000));
}

/* thread: threads that come and go, in any order, also by exec and exit of others */
static void *short_thread(void *arg)
{
	int us = (uintptr_t)arg % 40000;
	__u64 end = now_ns() + us * NSEC_PER_USEC;

	while (now_ns() < end)
		if (us % 4)
			usleep(1000);
		else
			relax();
	if (us % 16 == 1)
		execv("/proc/self/exe", nothing);
	if (us % 16 == 2)
		_exit(0);
	return NULL;
}

static void *thread_parent(void *arg)
{
	pthread_attr_t attr;
	pthread_t id;
	int i;

	(void)arg;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 32768);
	for (i = 0; i < 8; i++) {
		pthread_create(&id, &attr, short_thread, (void *)(uintptr_t)rnd(UINT32_MAX));
		if (!rnd(3))
			usleep(rnd(3000));
	}
	/* The first thread goes before the others. */
	if (chance(40))
		pthread_exit(NULL);
	usleep(rnd(50000));
	return NULL;
}

static void thread_work(void)
{
	run_process(1 + rnd(2), thread_parent, NULL);
}

/* memory: mappings that change while the working set is sampled */
static void *memory_thread(void *arg)
{
	size_t page = getpagesize(), pages = life.size / page;
	__u64 state = rnd_state + gettid();

	(void)arg;
	while (living()) {
		size_t first = rnd_r(&state, pages), nr = 1 + rnd_r(&state, pages - first);
		char *p = life.mem + first * page;
		size_t i;

		switch (rnd_r(&state, 8)) {
		case 0:
			madvise(p, nr * page, MADV_DONTNEED);
			break;
		case 1:
			mprotect(p, nr * page, PROT_READ);
			mprotect(p, nr * page, PROT_READ | PROT_WRITE);
			break;
		case 2:
			mmap(p, nr * page, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			break;
		case 3:
			madvise(p, nr * page, MADV_COLD);
			break;
		default:
			/* By syscall: a page may be read-only just now. */
			for (i = 0; i < nr && i < 64; i++)
				if (read(*(int *)arg, p + i * page, 1) != 1)
					break;
			usleep(rnd_r(&state, 2000));
		}
	}
	return NULL;
}

static void memory_work(void)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	life.size = (17 + rnd(8)) << 20;
	life.mem = mmap(NULL, life.size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	life.end = now_ns() + (100 + rnd(500)) * NSEC_PER_MSEC;
	if (life.mem != MAP_FAILED) {
		run_process(2 + rnd(3), memory_thread, &zero);
		munmap(life.mem, life.size);
	}
	close(zero);
}

/* uring: kernel threads that work for a process and in its mm */
struct ring {
	int fd;
	struct io_uring_params p;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
};

static size_t sq_size(const struct ring *r)
{
	return r->p.sq_off.array + r->p.sq_entries * sizeof(__u32);
}

static bool ring_open(struct ring *r, unsigned int flags)
{
	memset(r, 0, sizeof(*r));
	r->p.flags = flags;
	r->p.sq_thread_idle = 1 + rnd(20);
	r->fd = syscall(SYS_io_uring_setup, 16, &r->p);
	if (r->fd < 0)
		return false;
	r->sq = mmap(NULL, sq_size(r), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
		     IORING_OFF_SQ_RING);
	r->cq = mmap(NULL, r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe),
		     PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_CQ_RING);
	r->sqes = mmap(NULL, r->p.sq_entries * sizeof(struct io_uring_sqe),
		       PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_SQES);
	return r->sq != MAP_FAILED && r->cq != MAP_FAILED && (void *)r->sqes != MAP_FAILED;
}

static void ring_submit(struct ring *r, int nr, bool poll_thread)
{
	__u32 *tail = (__u32 *)(r->sq + r->p.sq_off.tail), mask = r->p.sq_entries - 1;
	__u32 *array = (__u32 *)(r->sq + r->p.sq_off.array), *flags, pos = *tail;
	int i;

	for (i = 0; i < nr; i++, pos++) {
		struct io_uring_sqe *sqe = &r->sqes[pos & mask];

		memset(sqe, 0, sizeof(*sqe));
		/* A read of memory by a worker needs the mm, a no-operation does not. */
		sqe->opcode = rnd(2) ? IORING_OP_READ : IORING_OP_NOP;
		sqe->fd = 0;
		sqe->addr = (uintptr_t)life.mem;
		sqe->len = life.size;
		sqe->flags = rnd(4) ? IOSQE_ASYNC : 0;
		array[pos & mask] = pos & mask;
	}
	__atomic_store_n(tail, pos, __ATOMIC_RELEASE);
	flags = (__u32 *)(r->sq + r->p.sq_off.flags);
	if (!poll_thread)
		syscall(SYS_io_uring_enter, r->fd, nr, 0, 0, NULL, 0);
	else if (__atomic_load_n(flags, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)
		syscall(SYS_io_uring_enter, r->fd, nr, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
	/* Completions are thrown away. */
	__atomic_store_n((__u32 *)(r->cq + r->p.cq_off.head),
			 __atomic_load_n((__u32 *)(r->cq + r->p.cq_off.tail), __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

static void *uring_thread(void *arg)
{
	__u64 state = rnd_state + gettid();
	bool poll_thread = rnd_r(&state, 2);
	struct ring r;

	(void)arg;
	if (!ring_open(&r, poll_thread ? IORING_SETUP_SQPOLL : 0))
		return NULL;
	while (living()) {
		ring_submit(&r, 1 + rnd_r(&state, 8), poll_thread);
		touch(&state, rnd_r(&state, 100));
		usleep(rnd_r(&state, 1000));
	}
	/* Half of them are closed with requests under way, half by exit. */
	if (rnd_r(&state, 2))
		close(r.fd);
	return NULL;
}

static const char *uring_setup(void)
{
	struct ring r;

	if (!ring_open(&r, 0))
		return "no io_uring";
	close(r.fd);
	return NULL;
}

static void uring_work(void)
{
	static char mem[4096];
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	dup2(zero, 0);
	close(zero);
	life = (struct life) {
		.mem = mem, .size = sizeof(mem),
		.end = now_ns() + (20 + rnd(200)) * NSEC_PER_MSEC,
	};
	run_process(1 + rnd(3), uring_thread, NULL);
}

/* signal: signals of all kinds, stop and go on, ptrace */
static void trace(pid_t tid)
{
	int status, i;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	for (i = 0; i < 50 && !stopping(); i++) {
		if (waitpid(tid, &status, WNOHANG | __WALL) == tid && WIFSTOPPED(status)) {
			usleep(rnd(3000));
			if (!ptrace(PTRACE_DETACH, tid, NULL, NULL))
				return;
		}
		usleep(1000);
	}
	/* What has not stopped is let go by the end of its tracer. */
	_exit(0);
}

static void signal_work(void)
{
	pid_t tid = victim(), pid;

	if (!tid) {
		nap_us(1000);
		return;
	}
	switch (rnd(8)) {
	case 0 ... 2:
		kill(tid, SIGUSR1);
		break;
	case 3 ... 4:
		kill(tid, SIGSTOP);
		nap_us(rnd(5000));
		kill(tid, SIGCONT);
		break;
	case 5 ... 6:
		pid = fork_child();
		if (!pid) {
			trace(tid);
			_exit(0);
		}
		reap(pid);
		break;
	case 7:
		if (chance(10))
			kill(tid, SIGKILL);
		break;
	}
	nap_us(rnd(1000));
}

/* The load is the first one. */
const struct storm storms_proc[] = {
	{ "load", "processes with threads that talk", 0, false, load_setup, load_work, NULL },
	{ "exec", "processes with threads that exec while others wake them", 1, false, NULL,
	  exec_work, NULL },
	{ "fork", "fork, vfork, posix_spawn, clone, orphans", 1, false, NULL, fork_work, NULL },
	{ "thread", "threads that come and go, exit and exec of others", 1, false, NULL,
	  thread_work, NULL },
	{ "memory", "mappings that change while the working set is sampled", 1, false, NULL,
	  memory_work, NULL },
	{ "uring", "io_uring, its workers and its polling threads", 1, false, uring_setup,
	  uring_work, NULL },
	{ "signal", "signals, stop and continue, ptrace", 2, false, NULL, signal_work, NULL },
	{ }
};
