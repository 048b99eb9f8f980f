// SPDX-License-Identifier: GPL-2.0
/*
 * Show or set the mode of a process in cache-aware scheduling, or start a program
 * with one.
 */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sched_cache_prctl.h"
#include "util.h"

static const char usage[] =
"Usage: llc_mode get [PID]             print the mode of a process\n"
"       llc_mode MODE PID              set it, for all its threads\n"
"       llc_mode MODE -- PROGRAM ...   start a program with it\n"
"MODE is\n"
"  default  keep the process in one last-level cache while it fits\n"
"  never    leave it alone\n"
"  always   keep it in one even if it does not fit\n"
"The mode is inherited over fork and kept over exec.\n";

static const char * const modes[] = {
	[PR_SCHED_CACHE_DEFAULT]	= "default",
	[PR_SCHED_CACHE_NEVER]		= "never",
	[PR_SCHED_CACHE_ALWAYS]		= "always",
};

static int mode_prctl(int op, unsigned long pid, unsigned long mode)
{
	int ret = prctl(PR_SCHED_CACHE, op, pid, mode, 0);

	if (ret < 0 && errno == EINVAL)
		errx(1, "this kernel has no prctl(PR_SCHED_CACHE): it needs CONFIG_SCHED_CACHE");
	if (ret < 0)
		err(1, "process %lu", pid);
	return ret;
}

int main(int argc, char **argv)
{
	unsigned int mode = 0;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}

	if ((argc == 2 || argc == 3) && !strcmp(argv[1], "get")) {
		unsigned long pid = argc == 3 ? parse_u64("PID", argv[2], 1, INT_MAX) : 0;

		puts(modes[mode_prctl(PR_SCHED_CACHE_GET, pid, 0)]);
		return 0;
	}

	while (argc >= 3 && mode < ARRAY_SIZE(modes) && strcmp(argv[1], modes[mode]))
		mode++;
	if (argc < 3 || mode == ARRAY_SIZE(modes)) {
		fputs(usage, stderr);
		return 2;
	}

	if (strcmp(argv[2], "--")) {
		if (argc > 3)
			errx(2, "'%s': put -- in front of a program, see --help", argv[2]);
		mode_prctl(PR_SCHED_CACHE_SET, parse_u64("PID", argv[2], 1, INT_MAX), mode);
		return 0;
	}
	if (argc == 3)
		errx(2, "no program after --, see --help");
	mode_prctl(PR_SCHED_CACHE_SET, 0, mode);
	execvp(argv[3], argv + 3);
	err(errno == ENOENT ? 127 : 126, "%s", argv[3]);
}
