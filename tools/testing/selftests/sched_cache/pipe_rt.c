// SPDX-License-Identifier: GPL-2.0
/*
 * Round trips of one byte through two pipes between two threads on one CPU:
 * two wakeups, two context switches and nothing else.  On a machine whose
 * clock counts instructions this is the cost of the scheduler's hot path.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"

#define MAX_WINDOWS	1000

static const char usage[] =
"Usage: pipe_rt [OPTION]...\n"
"Measure round trips through two pipes between two threads on one CPU.\n"
"  --cpu N      the CPU (default: the first one allowed)\n"
"  --loops N    round trips in a window (default 20000)\n"
"  --warmup N   round trips before the first window (default 1000)\n"
"  --windows N  windows (default 3); the report is their median\n"
"  --processes  between two processes instead of two threads\n"
"  --json FILE  write the report as JSON too\n"
"Output: ns_per_rt, min_ns_per_rt, max_ns_per_rt, windows\n";

static const struct option options[] = {
	{ "cpu", required_argument, NULL, 'c' },
	{ "loops", required_argument, NULL, 'l' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "windows", required_argument, NULL, 'n' },
	{ "processes", no_argument, NULL, 'p' },
	{ "json", required_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static int there[2], back[2];

/* Answers every byte until the other side closes its end. */
static void *answer(void *unused)
{
	char c;

	while (read(there[0], &c, 1) == 1)
		if (write(back[1], &c, 1) != 1)
			err(1, "cannot write to the pipe");
	return unused;
}

static void round_trips(__u64 n)
{
	char c = 0;

	while (n--)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			err(1, "the other side is gone");
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int first_cpu(void)
{
	struct cpuset set;
	int cpu = 0;

	cpuset_current(&set);
	while (!cpuset_has(cpu, &set))
		cpu++;
	return cpu;
}

int main(int argc, char **argv)
{
	__u64 loops = 20000, warmup = 1000;
	double window[MAX_WINDOWS];
	bool processes = false;
	int opt, i, nr = 3, cpu = -1;
	pthread_t thread;
	pid_t pid = 0;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			cpu = parse_u64("--cpu", optarg, 0, MAX_CPUS - 1);
			break;
		case 'l':
			loops = parse_u64("--loops", optarg, 1, 1ULL << 40);
			break;
		case 'w':
			warmup = parse_u64("--warmup", optarg, 0, 1ULL << 40);
			break;
		case 'n':
			nr = parse_u64("--windows", optarg, 1, MAX_WINDOWS);
			break;
		case 'p':
			processes = true;
			break;
		case 'j':
			emit_json(optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs("Try 'pipe_rt --help'.\n", stderr);
			return 2;
		}
	}
	if (optind < argc)
		errx(2, "'%s' is not an option, see --help", argv[optind]);

	pin_to_cpu(cpu < 0 ? first_cpu() : cpu);
	if (pipe(there) || pipe(back))
		err(1, "cannot create a pipe");
	if (processes) {
		pid = fork();
		if (pid < 0)
			err(1, "cannot fork");
		if (!pid) {
			close(there[1]);
			answer(NULL);
			_exit(0);
		}
	} else {
		errno = pthread_create(&thread, NULL, answer, NULL);
		if (errno)
			err(1, "cannot create a thread");
	}

	round_trips(warmup);
	for (i = 0; i < nr; i++) {
		__u64 start = now_ns();

		round_trips(loops);
		window[i] = (double)(now_ns() - start) / loops;
	}

	close(there[1]);
	if (processes)
		waitpid(pid, NULL, 0);
	else
		pthread_join(thread, NULL);

	qsort(window, nr, sizeof(window[0]), compare);
	emit_double("ns_per_rt", window[nr / 2]);
	emit_double("min_ns_per_rt", window[0]);
	emit_double("max_ns_per_rt", window[nr - 1]);
	emit_double("windows", nr);
	emit_end();
	return 0;
}
