// SPDX-License-Identifier: GPL-2.0
/*
 * llctop: which process prefers which last-level cache (LLC), live.
 *
 * See Documentation/admin-guide/sched-cache.rst.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "llctop.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))

static const char usage[] =
"Usage: llctop [OPTION]...\n"
"Show, live, which process prefers which last-level cache (LLC), how much of it\n"
"runs there, and what cache-aware scheduling has done.\n"
"\n"
"  -d, --delay S     refresh every S seconds (default 3)\n"
"  -n, --count N     end after N looks\n"
"      --once        the same as -n 1\n"
"      --json        print each look as a JSON object on a line of its own\n"
"      --stats[=S]   wait for S seconds (default 10), print what was done meanwhile\n"
"      --pid LIST    only these processes, with or without a group: 17,42\n"
"      --all         also processes of several threads that have no group\n"
"      --root DIR    read DIR/proc and DIR/sys instead of /proc and /sys\n"
"  -h, --help        this text\n"
"\n"
"On a terminal, q ends it, any other key refreshes. debugfs is root's, so llctop is.\n"
"\n"
"At the top: is it active or why not; the LLCs and how many CPUs are wanted there\n"
"(WANTED). Then the processes with a group, busiest first:\n"
"  LLC        the preferred LLC, - if there is none\n"
"  SHARE      percent of the run time of late that was there\n"
"  RUNNING    threads that run at the same time, on average\n"
"  GATE       open: its threads are gathered. Or why they are not: new (not judged\n"
"             yet), off, never (told so), single (one thread), threads (more than an\n"
"             LLC has cores), footprint (data larger than the LLC), no_room (the LLCs\n"
"             are full), nowhere (ran in no LLC), none (no group yet)\n"
"  FOOTPRINT  KiB of data it works on, - if it was not measured\n"
"  MODE       what was asked for with prctl(): default, never, always\n"
"\n"
"Exit status: 0, 1 if the kernel does not tell, 2 for bad usage.\n";

/* What the counters of llc_stats count; refused_* are shown as "why". */
static const struct {
	const char *name, *what;
} counter_help[] = {
	{ "scans", "looks at a process: where it ran, which LLC to prefer" },
	{ "scanned_cpus", "CPUs looked at for that" },
	{ "pref_changes", "times a process got another preferred LLC, or none" },
	{ "home", "running threads moved into their LLC" },
	{ "swap", "of these, by changing places with a thread that wants to be elsewhere" },
	{ "wake", "threads that woke or began and were placed in their LLC" },
	{ "kept", "threads the load balancer was asked to leave in their LLC" },
	{ "refused_asym", "not taken there: CPUs of different capacity" },
	{ "refused_node", "not taken there: NUMA balancing wants another node" },
	{ "refused_room", "not taken there: the LLC is full" },
	{ "refused_affinity", "not taken there: may use no CPU of it" },
	{ "refused_busy", "not taken there: no CPU of it is idle" },
	{ "refused_packing", "not taken there: packing prefers another CPU" },
};

static struct {
	double delay, stats;
	unsigned long count;		/* 0: no end */
	bool json;
	const char *root;
	struct filter filter;
} opts = { .delay = 3, .root = "" };

/* The terminal */

static bool screen;			/* stdout is one, and ours */
static bool keys;			/* stdin is one, and gives each key at once */
static struct termios saved_termios;
static int signals;			/* signalfd */

static void leave_screen(void)
{
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved_termios);
	keys = false;
	if (!screen)
		return;
	screen = false;
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
}

static void enter_screen(void)
{
	struct termios raw;

	screen = true;
	fputs("\033[?1049h\033[?25l", stdout);
	/* In the background, setting the terminal up would stop us. */
	if (tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &saved_termios))
		return;
	raw = saved_termios;
	raw.c_lflag &= ~(ICANON | ECHO);
	keys = !tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

void die(const char *fmt, ...)
{
	va_list args;

	leave_screen();
	fflush(stdout);
	fputs("llctop: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static const int our_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH };

/* Our signals come as messages while we wait, so that nothing is left half drawn. */
static void take_signals(void)
{
	struct sigaction act;
	sigset_t ours;
	size_t i;

	sigemptyset(&ours);
	for (i = 0; i < ARRAY_SIZE(our_signals); i++)
		/* What nohup and shells have set to be ignored stays so. */
		if (!sigaction(our_signals[i], NULL, &act) && act.sa_handler != SIG_IGN)
			sigaddset(&ours, our_signals[i]);
	sigprocmask(SIG_BLOCK, &ours, NULL);
	signals = signalfd(-1, &ours, SFD_CLOEXEC);
	if (signals < 0)
		die("signalfd: %s", strerror(errno));
}

/* End or stop as the signal would have done, with the terminal as it was. */
static void obey_signal(int sig)
{
	bool had_screen = screen;
	sigset_t set;

	leave_screen();
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);

	/* Only after a stop do we get here. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (had_screen)
		enter_screen();
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Wait until @until or a reason to look again; false to end. */
static bool wait_until(double until)
{
	double left;

	while ((left = until - now()) > 0) {
		struct pollfd fds[] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = keys ? STDIN_FILENO : -1, .events = POLLIN },
		};
		struct signalfd_siginfo info;
		char key;

		if (poll(fds, ARRAY_SIZE(fds), left * 1000 + 1) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
		if (fds[0].revents && read(signals, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo != SIGWINCH)
				obey_signal(info.ssi_signo);
			if (screen)
				return true;
		}
		if (fds[1].revents)
			return read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q';
	}
	return true;
}

/* Text */

static void print_counters(FILE *out, const struct snapshot *s, const struct snapshot *prev,
			   unsigned int width)
{
	unsigned int col, len;
	bool none = true;
	size_t i;

	if (prev)
		col = fprintf(out, "In the last %.1f s:", s->time - prev->time);
	else
		col = fprintf(out, "Since boot:");

	for (i = 0; i < s->nr_counters; i++) {
		unsigned long long val = counter_delta(&s->counters[i], prev);
		char word[NAME_LEN + 24];

		if (!val)
			continue;
		len = snprintf(word, sizeof(word), " %s %llu", s->counters[i].name, val);
		if (!none)
			col += fprintf(out, ",");
		if (col + len >= width)
			col = fprintf(out, "\n ");
		col += fprintf(out, "%s", word);
		none = false;
	}
	fputs(none ? " nothing\n" : "\n", out);
}

static void print_llcs(FILE *out, const struct snapshot *s, size_t max)
{
	int width = 4;
	size_t i;

	for (i = 0; i < s->nr_llcs; i++)
		if ((int)strlen(s->llcs[i].cpus) > width)
			width = strlen(s->llcs[i].cpus);
	fprintf(out, "%4s  %-*s %6s %5s %10s %7s\n", "LLC", width, "CPUS", "CORES", "NODE",
		"SIZE-KiB", "WANTED");
	for (i = 0; i < s->nr_llcs && i < max; i++) {
		const struct llc *l = &s->llcs[i];

		fprintf(out, "%4d  %-*s %6d %5d %10llu %7.2f\n", l->id, width, l->cpus,
			l->cores, l->node, l->size_kib, l->wanted);
	}
	if (i < s->nr_llcs)
		fprintf(out, "      and %zu more\n", s->nr_llcs - i);
}

/* @val, or "-" if it is not known. */
static const char *number(char *buf, size_t size, long long val, const char *unit)
{
	if (val < 0)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%lld%s", val, unit);
	return buf;
}

static void print_proc(FILE *out, const struct proc *p)
{
	char comm[17], llc[16], share[24], footprint[24], running[16] = "-";
	size_t i;

	/* Whatever a process calls itself must not reach the terminal. */
	for (i = 0; p->comm[i] && i < sizeof(comm) - 1; i++)
		comm[i] = isprint((unsigned char)p->comm[i]) ? p->comm[i] : '?';
	comm[i] = '\0';
	if (p->grouped)
		snprintf(running, sizeof(running), "%.2f", p->running);
	fprintf(out, "%7d %-16s %3s %6s %8s %-9s %10s %s\n", p->pid, comm,
		number(llc, sizeof(llc), p->pref, ""),
		number(share, sizeof(share), p->pref < 0 ? -1 : p->share_pct, "%"), running,
		p->gate, number(footprint, sizeof(footprint), p->footprint_kb, ""), p->mode);
}

static void print_procs(FILE *out, const struct snapshot *s, size_t max)
{
	size_t i;

	fprintf(out, "%7s %-16s %3s %6s %8s %-9s %10s %s\n", "PID", "COMM", "LLC", "SHARE",
		"RUNNING", "GATE", "FOOTPRINT", "MODE");
	if (!s->nr_procs)
		fprintf(out, "        no process%s\n",
			opts.filter.all ? " of several threads" : " has a group");
	for (i = 0; i < s->nr_procs && i < max; i++)
		print_proc(out, &s->procs[i]);
	if (i < s->nr_procs)
		fprintf(out, "        and %zu more\n", s->nr_procs - i);
}

static size_t count_lines(const char *text)
{
	size_t nr = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		nr++;
	}
	return nr;
}

/* What fits into @rows lines (0: no limit); to be freed. */
static char *frame(const struct snapshot *s, const struct snapshot *prev, unsigned int rows,
		   unsigned int width)
{
	size_t size, used, room, max = SIZE_MAX;
	char *text;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	fprintf(out, "Cache-aware scheduling: %s", s->active ? "active" : "not active");
	if (!s->active)
		fprintf(out, " (%s)", s->reason);
	fprintf(out, ", %zu LLC%s, %ld group%s\n\n", s->nr_llcs, s->nr_llcs == 1 ? "" : "s",
		s->groups, s->groups == 1 ? "" : "s");
	print_llcs(out, s, rows ? rows / 3 : SIZE_MAX);
	fputc('\n', out);
	print_counters(out, s, prev, width);
	fputc('\n', out);
	fflush(out);
	used = count_lines(text);
	if (rows) {
		/* The head of the list takes a line, and so does "and N more". */
		room = rows > used + 2 ? rows - used - 1 : 1;
		max = s->nr_procs > room ? room - 1 : room;
	}
	print_procs(out, s, max);
	if (fclose(out))
		die("out of memory");
	return text;
}

static void draw(const char *text, unsigned int rows, unsigned int width)
{
	const char *end;

	fputs("\033[H", stdout);
	for (; rows && (end = strchr(text, '\n')); text = end + 1, rows--) {
		int len = end - text < (long)width ? end - text : (long)width;

		/* No newline after the last line, or the screen would scroll. */
		printf("%.*s\033[K%s", len, text, rows > 1 && end[1] ? "\r\n" : "");
	}
	fputs("\033[J", stdout);
}

static void show(const struct snapshot *s, const struct snapshot *prev)
{
	struct winsize ws = { .ws_row = 24, .ws_col = 80 };
	char *text;

	if (opts.json) {
		print_json(stdout, s, prev);
	} else if (screen) {
		if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) || !ws.ws_row || !ws.ws_col) {
			ws.ws_row = 24;
			ws.ws_col = 80;
		}
		text = frame(s, prev, ws.ws_row, ws.ws_col);
		draw(text, ws.ws_row, ws.ws_col);
		free(text);
	} else {
		text = frame(s, prev, 0, ws.ws_col);
		printf("%s%s", prev ? "\n" : "", text);
		free(text);
	}
	if (fflush(stdout) || ferror(stdout))
		die("cannot write: %s", strerror(errno));
}

static const char *what_counts(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counter_help); i++)
		if (!strcmp(counter_help[i].name, name))
			return counter_help[i].what;
	return "";
}

static void show_stats(const struct snapshot *s, const struct snapshot *prev)
{
	char head[32];
	size_t i;

	if (opts.json) {
		show(s, prev);
		return;
	}
	snprintf(head, sizeof(head), "in %.1f s", s->time - prev->time);
	printf("%-18s %12s %14s\n", "COUNTER", head, "since boot");
	for (i = 0; i < s->nr_counters; i++)
		printf("%-18s %12llu %14llu  %s\n", s->counters[i].name,
		       counter_delta(&s->counters[i], prev), s->counters[i].val,
		       what_counts(s->counters[i].name));
	if (!s->active)
		printf("It is not active: %s.\n", s->reason);
	if (fflush(stdout) || ferror(stdout))
		die("cannot write: %s", strerror(errno));
}

/* The command line */

static void bad_usage(const char *option, const char *arg, const char *want)
{
	fprintf(stderr, "llctop: %s: '%s' is not %s\n", option, arg, want);
	exit(2);
}

static double parse_seconds(const char *option, const char *arg)
{
	char *end;
	double val = strtod(arg, &end);

	if (end == arg || *end || !(val >= 0.1 && val <= 86400))
		bad_usage(option, arg, "a number of seconds from 0.1 to 86400");
	return val;
}

static unsigned long parse_number(const char *option, const char *arg, unsigned long max)
{
	char *end;
	unsigned long val;

	errno = 0;
	val = strtoul(arg, &end, 10);
	if (!isdigit((unsigned char)*arg) || *end || errno || !val || val > max)
		bad_usage(option, arg, "a number greater than 0");
	return val;
}

static void parse_pids(char *list)
{
	struct filter *f = &opts.filter;
	char *word;

	while ((word = strsep(&list, ","))) {
		f->pids = grow(f->pids, f->nr_pids, sizeof(*f->pids));
		f->pids[f->nr_pids++] = parse_number("--pid", word, 1 << 22);
	}
}

enum { OPT_ONCE = 256, OPT_JSON, OPT_STATS, OPT_PID, OPT_ALL, OPT_ROOT };

static const struct option options[] = {
	{ "delay", required_argument, NULL, 'd' },
	{ "count", required_argument, NULL, 'n' },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "stats", optional_argument, NULL, OPT_STATS },
	{ "pid", required_argument, NULL, OPT_PID },
	{ "all", no_argument, NULL, OPT_ALL },
	{ "root", required_argument, NULL, OPT_ROOT },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void parse_options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "d:n:h", options, NULL)) != -1) {
		switch (opt) {
		case 'd':
			opts.delay = parse_seconds("--delay", optarg);
			break;
		case 'n':
			opts.count = parse_number("--count", optarg, ~0UL);
			break;
		case OPT_ONCE:
			opts.count = 1;
			break;
		case OPT_JSON:
			opts.json = true;
			break;
		case OPT_STATS:
			/* "--stats 5" as well as "--stats=5" */
			if (!optarg && optind < argc && isdigit((unsigned char)*argv[optind]))
				optarg = argv[optind++];
			opts.stats = optarg ? parse_seconds("--stats", optarg) : 10;
			break;
		case OPT_PID:
			parse_pids(optarg);
			break;
		case OPT_ALL:
			opts.filter.all = true;
			break;
		case OPT_ROOT:
			opts.root = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs("Try 'llctop --help'.\n", stderr);
			exit(2);
		}
	}
	if (optind < argc)
		bad_usage("llctop", argv[optind], "an option, see --help");
}

int main(int argc, char **argv)
{
	struct snapshot prev = { }, s;
	bool have_prev = false;
	double next;

	parse_options(argc, argv);
	if (opts.stats) {
		opts.delay = opts.stats;
		opts.count = 2;
	}

	/* Errors that are there from the start come before the screen is ours. */
	take_snapshot(&s, opts.root, &opts.filter);
	if (opts.filter.nr_pids && !s.nr_procs)
		die("there is no such process: --pid");
	atexit(leave_screen);
	take_signals();
	if (isatty(STDOUT_FILENO) && !opts.json && !opts.stats && opts.count != 1)
		enter_screen();

	for (;;) {
		if (!opts.stats)
			show(&s, have_prev ? &prev : NULL);
		else if (have_prev)
			show_stats(&s, &prev);
		if (opts.count && !--opts.count)
			break;
		next = s.time + opts.delay;
		free_snapshot(&prev);
		prev = s;
		have_prev = true;
		if (!wait_until(next))
			break;
		take_snapshot(&s, opts.root, &opts.filter);
		/* The ones that were asked for have ended. */
		if (opts.filter.nr_pids && !s.nr_procs)
			break;
	}
	return 0;
}
