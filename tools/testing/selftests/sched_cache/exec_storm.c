// SPDX-License-Identifier: GPL-2.0
/*
 * Programs with several threads that exec again and again, while another
 * process keeps waking those threads from other CPUs.  Whoever looks at a task
 * from outside sees it lose its threads, its memory and what hangs on it.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"

static const char usage[] =
"Usage: exec_storm [OPTION]...\n"
"Pairs of a process that wakes and one with threads that execs in a loop.\n"
"  --pairs N    pairs (default 4)\n"
"  --threads N  threads of the process that execs (default 3)\n"
"  --live-ms N  time between two execs, so that its threads get together (default 25)\n"
"  --seconds S  duration (default 2)\n"
"Output: execs, in all processes together\n";

static const struct option options[] = {
	{ "pairs", required_argument, NULL, 'p' },
	{ "threads", required_argument, NULL, 't' },
	{ "live-ms", required_argument, NULL, 'l' },
	{ "seconds", required_argument, NULL, 's' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

/* A process that execs gets all it knows as arguments. */
enum {
	ARG_MARK = 1, ARG_READ, ARG_RESULT, ARG_THREADS, ARG_LIVE, ARG_DEADLINE, ARG_EXECS,
	ARG_END,
};

#define MARK "--again"

static void *read_bytes(void *arg)
{
	int fd = *(int *)arg;
	char c;

	while (read(fd, &c, 1) == 1)
		;
	return NULL;
}

/* One life between two execs. Never returns. */
static void __noreturn live(char **argv)
{
	int fd = atoi(argv[ARG_READ]), threads = atoi(argv[ARG_THREADS]);
	__u64 start = now_ns(), live_ns = strtoull(argv[ARG_LIVE], NULL, 10);
	__u64 deadline = strtoull(argv[ARG_DEADLINE], NULL, 10);
	unsigned int execs = atoi(argv[ARG_EXECS]);
	char count[16];
	pthread_t id;
	char c;
	int i;

	for (i = 1; i < threads; i++) {
		errno = pthread_create(&id, NULL, read_bytes, &fd);
		if (errno)
			err(1, "cannot create a thread");
	}
	while (now_ns() - start < live_ns)
		if (read(fd, &c, 1) != 1)
			err(1, "the process that wakes is gone");

	if (now_ns() >= deadline) {
		i = atoi(argv[ARG_RESULT]);
		if (write(i, &execs, sizeof(execs)) != sizeof(execs))
			err(1, "cannot report");
		exit(0);
	}
	snprintf(count, sizeof(count), "%u", execs + 1);
	argv[ARG_EXECS] = count;
	execv("/proc/self/exe", argv);
	err(1, "cannot exec");
}

/* Writes as fast as it is read, for ever; is killed. */
static void __noreturn wake(int fd)
{
	char c = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (;;)
		if (write(fd, &c, 1) != 1)
			sleep_ns(20 * NSEC_PER_USEC);
}

static char *number(__u64 val)
{
	char *s;

	if (asprintf(&s, "%llu", val) < 0)
		errx(1, "out of memory");
	return s;
}

static void start_pair(int threads, __u64 live_ns, __u64 deadline, int result, pid_t *waker,
		       pid_t *execer)
{
	char *argv[ARG_END + 1];
	int fds[2];

	if (pipe(fds))
		err(1, "cannot create a pipe");
	*waker = fork();
	if (!*waker)
		wake(fds[1]);
	*execer = fork();
	if (*waker < 0 || *execer < 0)
		err(1, "cannot fork");
	if (!*execer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		argv[0] = "exec_storm";
		argv[ARG_MARK] = MARK;
		argv[ARG_READ] = number(fds[0]);
		argv[ARG_RESULT] = number(result);
		argv[ARG_THREADS] = number(threads);
		argv[ARG_LIVE] = number(live_ns);
		argv[ARG_DEADLINE] = number(deadline);
		argv[ARG_EXECS] = number(0);
		argv[ARG_END] = NULL;
		live(argv);
	}
	close(fds[0]);
	close(fds[1]);
}

int main(int argc, char **argv)
{
	int opt, i, status, pairs = 4, threads = 3, result[2];
	__u64 live_ns = 25 * NSEC_PER_MSEC, execs = 0;
	pid_t *waker, *execer;
	double seconds = 2;

	if (argc == ARG_END && !strcmp(argv[ARG_MARK], MARK))
		live(argv);

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'p':
			pairs = parse_u64("--pairs", optarg, 1, 1024);
			break;
		case 't':
			threads = parse_u64("--threads", optarg, 1, 1024);
			break;
		case 'l':
			live_ns = parse_u64("--live-ms", optarg, 0, 60000) * NSEC_PER_MSEC;
			break;
		case 's':
			seconds = parse_double("--seconds", optarg, 0.01, 86400);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs("Try 'exec_storm --help'.\n", stderr);
			return 2;
		}
	}
	if (optind < argc)
		errx(2, "'%s' is not an option, see --help", argv[optind]);

	if (pipe(result))
		err(1, "cannot create a pipe");
	waker = xcalloc(pairs, sizeof(*waker));
	execer = xcalloc(pairs, sizeof(*execer));
	for (i = 0; i < pairs; i++)
		start_pair(threads, live_ns, now_ns() + seconds * NSEC_PER_SEC, result[1],
			   &waker[i], &execer[i]);
	for (i = 0; i < pairs; i++) {
		unsigned int n;

		if (waitpid(execer[i], &status, 0) != execer[i] || status)
			errx(1, "a process ended with status %#x", status);
		kill(waker[i], SIGKILL);
		if (read(result[0], &n, sizeof(n)) != sizeof(n))
			err(1, "a process did not report");
		execs += n;
	}
	emit_double("execs", execs);
	emit_end();
	return 0;
}
