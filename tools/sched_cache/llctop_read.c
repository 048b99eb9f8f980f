// SPDX-License-Identifier: GPL-2.0
/*
 * llctop: read what the kernel tells, from debugfs and /proc/PID/sched.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "llctop.h"

#define DEBUGFS	"/sys/kernel/debug"

/* One more entry at the end of an array that has @nr. */
void *grow(void *array, size_t nr, size_t size)
{
	/* The size doubles whenever it is a power of two. */
	if (nr & (nr - 1))
		return array;
	array = reallocarray(array, nr ? 2 * nr : 1, size);
	if (!array)
		die("out of memory");
	return array;
}

/* The whole file as a string to be freed, or NULL and errno. */
static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *buf = NULL;
	size_t size = 0;
	ssize_t len;
	int error;

	if (!f)
		return NULL;
	errno = 0;
	len = getdelim(&buf, &size, '\0', f);
	error = errno;
	fclose(f);
	if (len >= 0)
		return buf;
	free(buf);
	errno = error;
	return error ? NULL : strdup("");
}

static char *path_of(const char *root, const char *path)
{
	static char buf[4096];

	if (snprintf(buf, sizeof(buf), "%s%s", root, path) >= (int)sizeof(buf))
		die("--root: the name is too long");
	return buf;
}

/* A file of the scheduler's debugfs directory; all the ways in which it is not there. */
static char *read_debugfs(const char *root, const char *name)
{
	char path[64], *text;
	struct stat st;
	int error;

	snprintf(path, sizeof(path), DEBUGFS "/sched/%s", name);
	text = read_file(path_of(root, path));
	if (text)
		return text;

	error = errno;
	if ((error == EACCES || error == EPERM) && geteuid())
		die("cannot read %s: debugfs is root's, run llctop as root", path);
	if (error != ENOENT)
		die("cannot read %s: %s", path, strerror(error));
	if (stat(path_of(root, DEBUGFS "/sched"), &st))
		die("there is no %s: mount debugfs (%s); if it is mounted, the kernel lacks %s",
		    DEBUGFS "/sched", "mount -t debugfs none " DEBUGFS, "CONFIG_SCHED_DEBUG");
	die("there is no %s: this kernel has no cache-aware scheduling (CONFIG_SCHED_CACHE)",
	    path);
}

/* "llc 0: cpus 0-5 cores 6 node 0 size 16384 KiB wanted 4.02"; no CPU is online: "cpus  cores" */
static bool parse_llc(char *line, struct llc *llc)
{
	char *cpus, *rest;
	int len = 0;

	if (sscanf(line, "llc %d: cpus%n", &llc->id, &len) != 1 || !len)
		return false;
	cpus = line + len + 1;
	rest = strstr(line + len, " cores ");
	if (!rest || sscanf(rest, " cores %d node %d size %llu KiB wanted %lf", &llc->cores,
			    &llc->node, &llc->size_kib, &llc->wanted) != 4)
		return false;
	llc->cpus = rest > cpus ? strndup(cpus, rest - cpus) : strdup("");
	return true;
}

static void read_state(struct snapshot *s, const char *root)
{
	char *text = read_debugfs(root, "llc_state"), *rest = text, *line;
	bool said = false;

	while ((line = strsep(&rest, "\n"))) {
		struct llc llc;

		if (!strncmp(line, "active: ", 8)) {
			said = true;
			s->active = !strcmp(line + 8, "yes");
			if (!strncmp(line + 8, "no (", 4))
				snprintf(s->reason, sizeof(s->reason), "%.*s",
					 (int)strlen(line + 12) - 1, line + 12);
		} else if (!strncmp(line, "groups: ", 8)) {
			s->groups = atol(line + 8);
		} else if (parse_llc(line, &llc)) {
			s->llcs = grow(s->llcs, s->nr_llcs, sizeof(llc));
			s->llcs[s->nr_llcs++] = llc;
		}
	}
	if (!said)
		die("llc_state does not say 'active:': the kernel is of another version");
	free(text);
}

static void read_counters(struct snapshot *s, const char *root)
{
	char *text = read_debugfs(root, "llc_stats"), *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		struct counter c;

		if (sscanf(line, "%47s %llu", c.name, &c.val) != 2)
			continue;
		s->counters = grow(s->counters, s->nr_counters, sizeof(c));
		s->counters[s->nr_counters++] = c;
	}
	free(text);
}

unsigned long long counter_delta(const struct counter *c, const struct snapshot *prev)
{
	size_t i;

	for (i = 0; prev && i < prev->nr_counters; i++)
		if (!strcmp(prev->counters[i].name, c->name))
			return c->val - prev->counters[i].val;
	return c->val;
}

/*
 * The value in a line "name    :    value" of a sched file, NULL if there is none.
 * The file begins with the name of the task, which is too short to look like one.
 */
static const char *sched_value(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *line, *p;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len))
			continue;
		for (p = line + len; *p == ' '; p++)
			;
		if (*p++ != ':')
			continue;
		return p + strspn(p, " ");
	}
	return NULL;
}

static void copy_word(char *dst, size_t size, const char *src)
{
	size_t len = src ? strcspn(src, "\n ") : 0;

	snprintf(dst, size, "%.*s", (int)len, src ? src : "");
}

/* The first line is "comm (pid, #threads: N)", where comm may be anything. */
static unsigned int nr_threads(const char *text)
{
	static const char label[] = "#threads: ";
	unsigned int nr = 1;

	while ((text = strstr(text, label))) {
		text += sizeof(label) - 1;
		nr = atoi(text);
	}
	return nr;
}

/* Fill in @p from a task's sched file; false if it does not tell our values. */
static bool parse_sched(const char *text, struct proc *p)
{
	const char *val;

	val = sched_value(text, "sched_cache.mode");
	if (!val)
		return false;
	p->threads = nr_threads(text);
	copy_word(p->mode, sizeof(p->mode), val);
	copy_word(p->gate, sizeof(p->gate), sched_value(text, "sched_cache.gate"));

	val = sched_value(text, "sched_cache.pref_llc");
	p->grouped = val;
	p->pref = val ? atoi(val) : -1;
	val = sched_value(text, "sched_cache.share_pct");
	p->share_pct = val ? atoi(val) : -1;
	val = sched_value(text, "sched_cache.running");
	p->running = val ? strtod(val, NULL) : 0;
	val = sched_value(text, "sched_cache.footprint_kb");
	p->footprint_kb = val ? atoll(val) : -1;
	return true;
}

static bool read_sched(const char *path, struct proc *p)
{
	char *text = read_file(path);
	bool ours = text && parse_sched(text, p);

	free(text);
	return ours;
}

/*
 * A thread joins the group when it runs: the main thread, which often sleeps for
 * ever, may have none while others have. Look for one that has.
 */
static void find_group(const char *dir, struct proc *p)
{
	DIR *tasks = opendir(dir);
	struct dirent *d;
	char path[4096 + 300];

	while (tasks && !p->grouped && (d = readdir(tasks))) {
		struct proc thread = *p;

		if (!isdigit(d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "%s/%s/sched", dir, d->d_name);
		if (read_sched(path, &thread))
			*p = thread;
	}
	if (tasks)
		closedir(tasks);
}

/* False if there is no such process (any more) or it says nothing of ours. */
static bool read_proc(const char *root, pid_t pid, struct proc *p)
{
	char dir[3072], path[4096], *comm;

	memset(p, 0, sizeof(*p));
	p->pid = pid;
	snprintf(dir, sizeof(dir), "%s/proc/%d", root, pid);

	snprintf(path, sizeof(path), "%s/sched", dir);
	if (!read_sched(path, p))
		return false;

	snprintf(path, sizeof(path), "%s/comm", dir);
	comm = read_file(path);
	if (!comm)
		return false;
	snprintf(p->comm, sizeof(p->comm), "%s", comm);
	free(comm);
	if (*p->comm && p->comm[strlen(p->comm) - 1] == '\n')
		p->comm[strlen(p->comm) - 1] = '\0';

	snprintf(path, sizeof(path), "%s/task", dir);
	if (!p->grouped && p->threads > 1)
		find_group(path, p);
	return true;
}

static int by_running(const void *a, const void *b)
{
	const struct proc *p = a, *q = b;

	if (p->running != q->running)
		return p->running < q->running ? 1 : -1;
	return p->pid < q->pid ? -1 : p->pid > q->pid;
}

static void add_proc(struct snapshot *s, const struct proc *p)
{
	s->procs = grow(s->procs, s->nr_procs, sizeof(*p));
	s->procs[s->nr_procs++] = *p;
}

static void read_all_procs(struct snapshot *s, const char *root, bool all)
{
	DIR *dir = opendir(path_of(root, "/proc"));
	struct dirent *d;
	bool told = false;
	struct proc p;

	if (!dir)
		die("cannot read %s/proc: %s", root, strerror(errno));
	while ((d = readdir(dir))) {
		if (!isdigit(d->d_name[0]) || !read_proc(root, atoi(d->d_name), &p))
			continue;
		told = true;
		if (p.grouped || (all && p.threads > 1))
			add_proc(s, &p);
	}
	closedir(dir);
	if (!told)
		die("no /proc/PID/sched has a line sched_cache.mode: %s",
		    "the kernel is of another version");
}

void take_snapshot(struct snapshot *s, const char *root, const struct filter *f)
{
	struct timespec now;
	struct proc p;
	size_t i;

	memset(s, 0, sizeof(*s));
	clock_gettime(CLOCK_MONOTONIC, &now);
	s->time = now.tv_sec + now.tv_nsec / 1e9;
	read_state(s, root);
	read_counters(s, root);
	if (!f->nr_pids)
		read_all_procs(s, root, f->all);
	for (i = 0; i < f->nr_pids; i++)
		if (read_proc(root, f->pids[i], &p))
			add_proc(s, &p);
	if (s->nr_procs)
		qsort(s->procs, s->nr_procs, sizeof(*s->procs), by_running);
}

void free_snapshot(struct snapshot *s)
{
	size_t i;

	for (i = 0; i < s->nr_llcs; i++)
		free(s->llcs[i].cpus);
	free(s->llcs);
	free(s->counters);
	free(s->procs);
	memset(s, 0, sizeof(*s));
}
