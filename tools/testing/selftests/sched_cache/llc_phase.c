// SPDX-License-Identifier: GPL-2.0
/*
 * Marks for llclab's cache model, from the command line of a guest.
 */
#include <err.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "llc_phase.h"
#include "util.h"

#define SPINS		20000
#define MAX_NODES	1024
#define BITS_PER_LONG	(8 * sizeof(long))
#define PRELOAD	"/usr/lib/llc_phase.so"		/* llclab puts it there */

static const char usage[] =
"Usage: llc_phase begin NAME\n"
"       llc_phase end\n"
"       llc_phase run NAME -- COMMAND...\n"
"       llc_phase window NAME WARM_MS MS\n"
"       llc_phase process -- COMMAND...\n"
"       llc_phase flush\n"
"       llc_phase check\n"
"       llc_phase report\n"
"Tell llclab's cache model (llclab run --model) what to count; without the model\n"
"nothing happens.\n"
"  begin   from now on counts go to the phase NAME; a name used before goes on\n"
"  end     back to what is in no phase\n"
"  run     begin, run COMMAND, end; the exit status is that of COMMAND\n"
"  window  after WARM_MS a phase of MS, while something else runs\n"
"  process run COMMAND as a process that \"--model process\" counts; it must be linked\n"
"          dynamically\n"
"  flush   empty all caches of the model: what ran before leaves no trace in them\n"
"  check   run on each CPU in turn, so that the model learns which is which and\n"
"          checks that it sees a program where it runs, and which memory is of which\n"
"          node (llclab does this first)\n"
"  report  write the report (llclab does this last)\n"
"A program marks its own phases with llc_phase.h.\n";

static void spin(unsigned long n)
{
	while (n--)
		asm volatile("" ::: "memory");
}

/* The affinity of this process, one CPU after the other. */
static void on_each_cpu(const struct cpuset *allowed, void (*what)(const char *cpu))
{
	char text[16];
	int cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!cpuset_has(cpu, allowed))
			continue;
		pin_to_cpu(cpu);
		snprintf(text, sizeof(text), "%d", cpu);
		what(text);
	}
}

static void tell(const char *cpu)
{
	llc_phase_say("cpu", cpu);
}

static void spin_there(const char *cpu)
{
	llc_phase_say("spin", cpu);
	spin(SPINS);
	llc_phase_say("spun", cpu);
}

/* So much memory of a node that it outweighs the stack. */
static void touch_node(int node)
{
	size_t size = 64 << 12, i;
	unsigned long mask[MAX_NODES / BITS_PER_LONG] = { 0 };
	char text[16], *p;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		err(1, "cannot map %zu bytes", size);
	mask[node / BITS_PER_LONG] |= 1UL << node % BITS_PER_LONG;
	if (syscall(SYS_mbind, p, size, MPOL_BIND, mask, MAX_NODES, 0))
		err(1, "cannot have memory of node %d", node);
	snprintf(text, sizeof(text), "%d", node);
	llc_phase_say("node", text);
	for (i = 0; i < size; i += 64)
		p[i] = 1;
	llc_phase_say("seen", text);
	munmap(p, size);
}

static void touch_nodes(void)
{
	char path[64];
	int node;

	/* With one node there is nothing to tell. */
	if (access("/sys/devices/system/node/node1", F_OK))
		return;
	for (node = 0; node < MAX_NODES; node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", node);
		if (!access(path, F_OK))
			touch_node(node);
	}
}

static void check(void)
{
	struct cpuset allowed;

	cpuset_current(&allowed);
	llc_phase_say("start", "");
	/* The model begins with the next code that runs. */
	spin(1);
	on_each_cpu(&allowed, tell);
	on_each_cpu(&allowed, spin_there);
	touch_nodes();
	cpuset_apply(&allowed);
}

static int run_phase(const char *name, char **argv)
{
	int status;
	pid_t pid;

	llc_phase_begin(name);
	pid = fork();
	if (pid < 0)
		err(1, "cannot fork");
	if (!pid) {
		execvp(argv[0], argv);
		err(127, "cannot start %s", argv[0]);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "lost the command");
	llc_phase_end();
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* All in one program: one that is started in between would count, too. */
static void window(const char *name, const char *warm, const char *length)
{
	__u64 start = now_ns() + parse_u64("WARM_MS", warm, 0, 1000000) * NSEC_PER_MSEC;
	__u64 end = start + parse_u64("MS", length, 1, 1000000) * NSEC_PER_MSEC;

	sleep_until_ns(start);
	llc_phase_begin(name);
	sleep_until_ns(end);
	llc_phase_end();
}

/* The mark must be made in the address space that COMMAND has after exec. */
static void run_marked(char **argv)
{
	if (!access(PRELOAD, R_OK) && setenv("LD_PRELOAD", PRELOAD, 1))
		err(1, "cannot set LD_PRELOAD");
	execvp(argv[0], argv);
	err(127, "cannot start %s", argv[0]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (!strcmp(what, "run") && argc > 4 && !strcmp(argv[3], "--"))
		return run_phase(argv[2], argv + 4);
	if (!strcmp(what, "process") && argc > 3 && !strcmp(argv[2], "--"))
		run_marked(argv + 3);
	if (!strcmp(what, "window") && argc == 5) {
		window(argv[2], argv[3], argv[4]);
		return 0;
	}
	if (argc != (strcmp(what, "begin") ? 2 : 3)) {
		fputs(usage, stderr);
		return 2;
	}
	if (!strcmp(what, "check"))
		check();
	else if (!strcmp(what, "begin") || !strcmp(what, "end") || !strcmp(what, "flush") ||
		 !strcmp(what, "report"))
		llc_phase_say(what, argc == 3 ? argv[2] : "");
	else
		errx(2, "'%s' is not a command, see --help", what);
	return 0;
}
