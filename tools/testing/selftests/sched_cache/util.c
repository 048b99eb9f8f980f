// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

bool cpuset_parse_list(const char *list, struct cpuset *set)
{
	const char *p = list;

	cpuset_zero(set);
	while (*p && *p != '\n') {
		unsigned long first, last;
		char *end;

		if (!isdigit((unsigned char)*p))
			return false;
		first = strtoul(p, &end, 10);
		last = first;
		p = end;
		if (*p == '-') {
			if (!isdigit((unsigned char)p[1]))
				return false;
			last = strtoul(p + 1, &end, 10);
			p = end;
		}
		if (last < first || last >= MAX_CPUS)
			return false;
		for (; first <= last; first++)
			cpuset_add(first, set);
		if (*p == ',')
			p++;
		else if (*p && *p != '\n')
			return false;
	}
	return cpuset_count(set) > 0;
}

bool cpuset_parse_mask(const char *mask, struct cpuset *set)
{
	int cpu = 0;
	const char *p;

	cpuset_zero(set);
	for (p = mask + strlen(mask) - 1; p >= mask; p--) {
		int nibble, bit;

		if (*p == ',')
			continue;
		if (!isxdigit((unsigned char)*p))
			return false;
		nibble = isdigit((unsigned char)*p) ? *p - '0' :
			 tolower((unsigned char)*p) - 'a' + 10;
		for (bit = 0; bit < 4; bit++, cpu++) {
			if (!(nibble & (1 << bit)))
				continue;
			if (cpu >= MAX_CPUS)
				return false;
			cpuset_add(cpu, set);
		}
	}
	return true;
}

void cpuset_print_list(const struct cpuset *set, char *buf, size_t size)
{
	size_t len = 0;
	int cpu, first;

	buf[0] = '\0';
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!cpuset_has(cpu, set))
			continue;
		for (first = cpu; cpu + 1 < MAX_CPUS && cpuset_has(cpu + 1, set);)
			cpu++;
		if (len + 16 > size)
			errx(1, "CPU list does not fit into %zu bytes", size);
		len += snprintf(buf + len, size - len, first == cpu ? "%s%d" : "%s%d-%d",
				len ? "," : "", first, cpu);
	}
}

void cpuset_apply(const struct cpuset *set)
{
	char list[1024];

	if (!sched_setaffinity(0, sizeof(*set), set->set))
		return;
	cpuset_print_list(set, list, sizeof(list));
	err(1, "cannot restrict a thread to CPUs %s", list);
}

void cpuset_current(struct cpuset *set)
{
	cpuset_zero(set);
	if (sched_getaffinity(0, sizeof(*set), set->set) < 0)
		err(1, "cannot read the affinity of this process");
}

void pin_to_cpu(int cpu)
{
	struct cpuset set;

	cpuset_zero(&set);
	cpuset_add(cpu, &set);
	cpuset_apply(&set);
}

static __u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

__u64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

__u64 thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_until_ns(__u64 t)
{
	struct timespec ts = {
		.tv_sec = t / NSEC_PER_SEC,
		.tv_nsec = t % NSEC_PER_SEC,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void sleep_ns(__u64 ns)
{
	sleep_until_ns(now_ns() + ns);
}

__u64 parse_u64(const char *what, const char *s, __u64 min, __u64 max)
{
	unsigned long long val;
	char *end;

	errno = 0;
	val = strtoull(s, &end, 0);
	if (!isdigit((unsigned char)*s) || *end || errno || val < min || val > max)
		errx(2, "%s: '%s' is not a number from %llu to %llu", what, s,
		     (unsigned long long)min, (unsigned long long)max);
	return val;
}

__u64 parse_size(const char *what, char *s, __u64 min, __u64 max)
{
	static const char suffix[] = "KMG";
	char *last = *s ? s + strlen(s) - 1 : s;
	const char *unit = *last ? strchr(suffix, *last) : NULL;
	int shift = unit ? 10 * (unit - suffix + 1) : 0;

	if (unit)
		*last = '\0';
	return parse_u64(what, s, (min + (1ULL << shift) - 1) >> shift, max >> shift) << shift;
}

double parse_double(const char *what, const char *s, double min, double max)
{
	char *end;
	double val;

	errno = 0;
	val = strtod(s, &end);
	if (end == s || *end || errno || !(val >= min && val <= max))
		errx(2, "%s: '%s' is not a number from %g to %g", what, s, min, max);
	return val;
}

int read_file(const char *path, char *buf, size_t size)
{
	ssize_t len;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size - 1);
	close(fd);
	if (len < 0)
		return -1;
	buf[len] = '\0';
	return len;
}

static int futex(int *word, int op, int val, bool shared)
{
	return syscall(SYS_futex, word, op | (shared ? 0 : FUTEX_PRIVATE_FLAG),
		       val, NULL, NULL, 0);
}

int futex_wait(int *word, int val, bool shared)
{
	return futex(word, FUTEX_WAIT, val, shared);
}

int futex_wake(int *word, int nr, bool shared)
{
	return futex(word, FUTEX_WAKE, nr, shared);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		errx(1, "out of memory for %zu bytes", n * size);
	return p;
}

static struct {
	FILE *file;
	const char *path;
	char *temp;
	bool any;
} json;

void emit_json(const char *path)
{
	if (asprintf(&json.temp, "%s.tmp", path) < 0)
		errx(1, "out of memory");
	json.path = path;
	json.file = fopen(json.temp, "we");
	if (!json.file)
		err(1, "cannot write %s", json.temp);
}

static void emit_key(const char *key)
{
	printf("%s=", key);
	if (json.file)
		fprintf(json.file, "%s\"%s\": ", json.any ? ", " : "{", key);
	json.any = true;
}

/* Digits after the point only where there is something to say. */
static void print_number(FILE *f, double val)
{
	fprintf(f, "%.*f", val == floor(val) ? 0 : 3, val);
}

void emit_double(const char *key, double val)
{
	emit_doubles(key, &val, 1);
}

void emit_str(const char *key, const char *val)
{
	emit_key(key);
	printf("%s\n", val);
	if (json.file)
		fprintf(json.file, "\"%s\"", val);
}

void emit_doubles(const char *key, const double *val, int n)
{
	int i;

	emit_key(key);
	for (i = 0; i < n; i++) {
		if (i)
			putchar(',');
		print_number(stdout, val[i]);
	}
	putchar('\n');

	if (!json.file)
		return;
	if (n != 1)
		fputs("[", json.file);
	for (i = 0; i < n; i++) {
		if (i)
			fputs(", ", json.file);
		print_number(json.file, val[i]);
	}
	if (n != 1)
		fputs("]", json.file);
}

void emit_end(void)
{
	if (fflush(stdout))
		err(1, "cannot write the report");
	if (!json.file)
		return;
	fputs("}\n", json.file);
	if (fclose(json.file))
		err(1, "cannot write %s", json.temp);
	if (rename(json.temp, json.path))
		err(1, "cannot rename %s to %s", json.temp, json.path);
	json.file = NULL;
}
