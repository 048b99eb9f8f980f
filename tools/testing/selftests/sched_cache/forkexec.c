// SPDX-License-Identifier: GPL-2.0
/*
 * The price of a process: fork, exit and wait; vfork, exec of this very
 * (static) program, exit and wait.
 */
#include <err.h>
#include <getopt.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"

static const char usage[] =
"Usage: forkexec [OPTION]...\n"
"Measure fork+exit+wait and vfork+exec+exit+wait of a single-threaded program.\n"
"  --mode MODE  fork, vfork or both (default both)\n"
"  --loops N    times (default 1000)\n"
"  --warmup N   times before the measurement (default 50)\n"
"  --cpu N      run on this CPU only\n"
"  --json FILE  write the report as JSON too\n"
"Output: fork_ns, vfork_ns, both per process\n";

static const struct option options[] = {
	{ "mode", required_argument, NULL, 'm' },
	{ "loops", required_argument, NULL, 'l' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "json", required_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0)
		err(1, "cannot fork");
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a child ended with status %#x", status);
}

static void do_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	wait_for(pid);
}

static void do_vfork(void)
{
	static char *const argv[] = { "forkexec", "--nothing", NULL };
	static char *const envp[] = { NULL };
	pid_t pid = vfork();

	if (!pid) {
		execve("/proc/self/exe", argv, envp);
		_exit(1);
	}
	wait_for(pid);
}

static void measure(const char *key, void (*op)(void), __u64 warmup, __u64 loops)
{
	__u64 i, start;

	for (i = 0; i < warmup; i++)
		op();
	start = now_ns();
	for (i = 0; i < loops; i++)
		op();
	emit_double(key, (double)(now_ns() - start) / loops);
}

int main(int argc, char **argv)
{
	__u64 loops = 1000, warmup = 50;
	const char *mode = "both";
	int opt;

	if (argc == 2 && !strcmp(argv[1], "--nothing"))
		_exit(0);

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'm':
			mode = optarg;
			break;
		case 'l':
			loops = parse_u64("--loops", optarg, 1, 1ULL << 32);
			break;
		case 'w':
			warmup = parse_u64("--warmup", optarg, 0, 1ULL << 32);
			break;
		case 'c':
			pin_to_cpu(parse_u64("--cpu", optarg, 0, MAX_CPUS - 1));
			break;
		case 'j':
			emit_json(optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs("Try 'forkexec --help'.\n", stderr);
			return 2;
		}
	}
	if (optind < argc)
		errx(2, "'%s' is not an option, see --help", argv[optind]);
	if (strcmp(mode, "both") && strcmp(mode, "fork") && strcmp(mode, "vfork"))
		errx(2, "--mode: '%s' is not one of fork, vfork, both", mode);

	if (strcmp(mode, "vfork"))
		measure("fork_ns", do_fork, warmup, loops);
	if (strcmp(mode, "fork"))
		measure("vfork_ns", do_vfork, warmup, loops);
	emit_end();
	return 0;
}
