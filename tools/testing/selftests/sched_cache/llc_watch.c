// SPDX-License-Identifier: GPL-2.0
/*
 * In which LLC does a program run?  Samples the CPU and the run time of every
 * thread of the program, from /proc, and adds the run time since the last
 * sample to the LLC of the CPU.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "topo.h"

#define MAX_PID		4194304
/* Look for new threads at every sample at first, then at every tenth. */
#define SCAN_ALWAYS_NS	(50 * NSEC_PER_MSEC)
#define SCAN_EVERY	10

static const char usage[] =
"Usage: llc_watch [OPTION]... -- COMMAND...\n"
"       llc_watch [OPTION]... --pid PID\n"
"Report in which LLC the threads of a program spend their run time.\n"
"COMMAND and all its children are watched until it ends; its output goes to stdout\n"
"before the report, its exit status is that of llc_watch.\n"
"  --pid PID        watch this process until it ends\n"
"  --seconds S      stop watching after this time\n"
"  --comm NAME      count only threads of this name\n"
"  --skip-ms N      do not count the first N ms\n"
"  --interval-us N  time between two samples (default 4000)\n"
"  --json FILE      write the report as JSON too\n"
"\n"
"The report:\n"
"  share         %% of the run time in the LLC where a process ran most\n"
"  share_window  the same, but busiest anew for every sample: insensitive to moves\n"
"                of the whole process\n"
"  llc_pct       %% of the run time in each LLC, the last value for other CPUs\n"
"  run_ms        run time seen; wall_ms, samples, processes that ran\n";

enum {
	OPT_PID = 256, OPT_SECONDS, OPT_COMM, OPT_SKIP, OPT_INTERVAL, OPT_JSON, OPT_HELP,
};

static const struct option options[] = {
	{ "pid", required_argument, NULL, OPT_PID },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "comm", required_argument, NULL, OPT_COMM },
	{ "skip-ms", required_argument, NULL, OPT_SKIP },
	{ "interval-us", required_argument, NULL, OPT_INTERVAL },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ }
};

struct process {
	struct process *next;
	pid_t pid;
	double *run, *window;		/* ns in each LLC, in all and since the last sample */
};

struct thread {
	struct thread *next;
	struct process *process;
	int fd_stat, fd_run;
	double run;			/* ns at the last sample */
};

static struct topo topo;
static struct process *processes;
static struct thread *threads;
static unsigned char seen[MAX_PID / 8];	/* threads and strangers already looked at */
static unsigned int nr_samples;
static double window_sum, run_sum;

static pid_t child = -1, watched;
static const char *comm;
static __u64 skip_ns, interval_ns = 4 * NSEC_PER_MSEC, seconds_ns;

static bool seen_before(int pid)
{
	unsigned char bit = 1 << (pid % 8);
	bool ret = seen[pid / 8] & bit;

	seen[pid / 8] |= bit;
	return ret;
}

/* After the name, which may hold anything: field 3 and on of a stat line. */
static char *stat_fields(char *buf)
{
	char *p = strrchr(buf, ')');

	return p && p[1] == ' ' ? p + 2 : NULL;
}

static char *stat_field(char *fields, int nr)
{
	int i;

	for (i = 3; fields && i < nr; i++) {
		fields = strchr(fields, ' ');
		if (fields)
			fields++;
	}
	return fields;
}

/* Is @pid of the session the command leads, or the process to watch? */
static bool is_ours(int pid)
{
	char path[64], buf[1024], *session;

	if (watched)
		return pid == watched;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (read_file(path, buf, sizeof(buf)) <= 0)
		return false;
	session = stat_field(stat_fields(buf), 6);
	return session && atoi(session) == child;
}

static int open_thread(int pid, int tid, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Two files are open for each thread. */
static void raise_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	/* For root: beyond the hard limit. */
	if (limit.rlim_max < 65536) {
		limit.rlim_max = 65536;
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void add_thread(struct process *process, int tid)
{
	struct thread *t = xcalloc(1, sizeof(*t));

	t->fd_stat = open_thread(process->pid, tid, "stat");
	if (t->fd_stat < 0) {
		if (errno == EMFILE)
			errx(1, "too many threads for the limit of open files, raise 'ulimit -n'");
		free(t);
		return;
	}
	t->fd_run = open_thread(process->pid, tid, "schedstat");
	t->process = process;
	t->next = threads;
	threads = t;
}

/* Numbers in a directory of /proc, one after the other; 0 at its end. */
static int next_number(DIR *dir)
{
	struct dirent *d;

	while ((d = readdir(dir))) {
		int nr = atoi(d->d_name);

		if (nr > 0 && nr < MAX_PID)
			return nr;
	}
	return 0;
}

static void scan_threads(struct process *process)
{
	char path[64];
	DIR *dir;
	int tid;

	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((tid = next_number(dir)))
		if (!seen_before(tid))
			add_thread(process, tid);
	closedir(dir);
}

static void add_process(int pid)
{
	struct process *p = xcalloc(1, sizeof(*p));

	p->pid = pid;
	p->run = xcalloc(topo.nr_llcs + 1, sizeof(*p->run));
	p->window = xcalloc(topo.nr_llcs + 1, sizeof(*p->window));
	p->next = processes;
	processes = p;
	add_thread(p, pid);
}

static void scan_processes(void)
{
	DIR *dir = opendir("/proc");
	int pid;

	if (!dir)
		err(1, "cannot read /proc");
	while ((pid = next_number(dir))) {
		if (seen_before(pid))
			continue;
		if (is_ours(pid))
			add_process(pid);
	}
	closedir(dir);
}

static bool reread(int fd, char *buf, size_t size)
{
	ssize_t len = fd < 0 ? -1 : pread(fd, buf, size - 1, 0);

	if (len <= 0)
		return false;
	buf[len] = '\0';
	return true;
}

static bool name_wanted(const char *stat)
{
	const char *name = strchr(stat, '(') + 1;
	size_t len = strrchr(stat, ')') - name;

	return !comm || (len == strlen(comm) && !memcmp(name, comm, len));
}

/* Where the thread is and how long it has run; false: it has ended. */
static bool look_at(struct thread *t, int *llc, double *run, bool *wanted)
{
	char stat[1024], buf[128], *fields, *cpu;

	if (!reread(t->fd_stat, stat, sizeof(stat)))
		return false;
	fields = stat_fields(stat);
	cpu = stat_field(fields, 39);
	if (!cpu)
		return false;
	*wanted = name_wanted(stat);
	*llc = topo.llc_of[atoi(cpu) % MAX_CPUS];
	if (*llc < 0)
		*llc = topo.nr_llcs;
	if (reread(t->fd_run, buf, sizeof(buf)))
		*run = strtod(buf, NULL);
	else	/* in ticks of user space, better than nothing */
		*run = (strtod(stat_field(fields, 14), NULL) +
			strtod(stat_field(fields, 15), NULL)) *
			NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	return true;
}

static void account_window(struct process *p)
{
	double best = 0;
	int i;

	for (i = 0; i <= topo.nr_llcs; i++) {
		if (p->window[i] > best)
			best = p->window[i];
		run_sum += p->window[i];
		p->run[i] += p->window[i];
		p->window[i] = 0;
	}
	window_sum += best;
}

static void sample(bool count)
{
	struct process *p;
	struct thread **link = &threads;

	while (*link) {
		struct thread *t = *link;
		bool wanted;
		double run;
		int llc;

		if (!look_at(t, &llc, &run, &wanted)) {
			*link = t->next;
			close(t->fd_stat);
			if (t->fd_run >= 0)
				close(t->fd_run);
			free(t);
			continue;
		}
		if (count && wanted)
			t->process->window[llc] += run - t->run;
		t->run = run;
		link = &t->next;
	}
	for (p = processes; p; p = p->next)
		account_window(p);
	nr_samples += count;
}

static void start_child(char **argv)
{
	int sync[2];
	char c;

	/* Who is there before the command is a stranger. */
	scan_processes();
	if (pipe(sync))
		err(1, "cannot create a pipe");
	child = fork();
	if (child < 0)
		err(1, "cannot fork");
	if (!child) {
		/* All that it starts is of its session; wait until we watch. */
		close(sync[1]);
		if (setsid() < 0 || read(sync[0], &c, 1) < 0)
			err(127, "cannot lead a session");
		close(sync[0]);
		execvp(argv[0], argv);
		err(127, "cannot run %s", argv[0]);
	}
	seen_before(child);
	add_process(child);
	close(sync[0]);
	close(sync[1]);
}

static void forward(int sig)
{
	if (child > 0)
		kill(-child, sig);
	if (watched) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

/* True while there is something to watch; @status of the command at its end. */
static bool running(int *status)
{
	int ret;

	if (watched)
		return !kill(watched, 0) || errno != ESRCH;
	ret = waitpid(child, status, WNOHANG);
	if (ret < 0)
		err(1, "lost the command");
	return ret == 0;
}

static void scan(void)
{
	struct process *p;

	scan_processes();
	for (p = processes; p; p = p->next)
		scan_threads(p);
}

static void stop_child(void)
{
	if (child < 0)
		return;
	kill(-child, SIGTERM);
	waitpid(child, NULL, 0);
}

static int watch_until_end(void)
{
	__u64 start = now_ns(), next = start;
	int status = 0;
	unsigned int i;

	for (i = 0; running(&status); i++) {
		__u64 now = now_ns();

		if (seconds_ns && now - start >= seconds_ns) {
			stop_child();
			break;
		}
		if (now - start < SCAN_ALWAYS_NS || i % SCAN_EVERY == 0)
			scan();
		/* What a process did before it was watched does not count. */
		sample(now - start >= skip_ns && (i || !watched));
		next += interval_ns;
		if (next < now)
			next = now + interval_ns;
		sleep_until_ns(next);
	}
	emit_double("wall_ms", (now_ns() - start) / 1e6);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void print_report(void)
{
	double *all = xcalloc(topo.nr_llcs + 1, sizeof(*all)), home = 0;
	int i, nr_processes = 0;
	struct process *p;

	for (p = processes; p; p = p->next) {
		double best = 0;

		for (i = 0; i <= topo.nr_llcs; i++) {
			all[i] += p->run[i];
			if (p->run[i] > best)
				best = p->run[i];
		}
		home += best;
		nr_processes += best > 0;
	}
	for (i = 0; i <= topo.nr_llcs; i++)
		all[i] = run_sum ? 100 * all[i] / run_sum : 0;

	emit_double("share", run_sum ? 100 * home / run_sum : -1);
	emit_double("share_window", run_sum ? 100 * window_sum / run_sum : -1);
	emit_doubles("llc_pct", all, topo.nr_llcs + 1);
	emit_double("run_ms", run_sum / NSEC_PER_MSEC);
	emit_double("samples", nr_samples);
	emit_double("processes", nr_processes);
	emit_end();
	free(all);
}

int main(int argc, char **argv)
{
	int opt, status;

	while ((opt = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (opt) {
		case OPT_PID:
			watched = parse_u64("--pid", optarg, 1, MAX_PID - 1);
			break;
		case OPT_SECONDS:
			seconds_ns = parse_double("--seconds", optarg, 0.001, 1e6) * NSEC_PER_SEC;
			break;
		case OPT_COMM:
			comm = optarg;
			break;
		case OPT_SKIP:
			skip_ns = parse_u64("--skip-ms", optarg, 0, 1000000) * NSEC_PER_MSEC;
			break;
		case OPT_INTERVAL:
			interval_ns = parse_u64("--interval-us", optarg, 100, 10000000) *
				      NSEC_PER_USEC;
			break;
		case OPT_JSON:
			emit_json(optarg);
			break;
		case OPT_HELP:
			printf(usage);
			return 0;
		default:
			fputs("Try 'llc_watch --help'.\n", stderr);
			return 2;
		}
	}
	if (!watched ? optind == argc : optind < argc)
		errx(2, "give either --pid or a command, see --help");
	if (watched && kill(watched, 0))
		err(1, "cannot watch process %d", watched);
	topo_read_or_skip(&topo);

	signal(SIGINT, forward);
	signal(SIGTERM, forward);
	if (!watched)
		start_child(argv + optind);
	raise_open_files();
	status = watch_until_end();
	print_report();
	return status;
}
