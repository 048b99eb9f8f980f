/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all programs of this directory share: time, numbers, CPU sets and
 * output as lines of key=value and as JSON.
 */
#ifndef __SCHED_CACHE_UTIL_H
#define __SCHED_CACHE_UTIL_H

#include <linux/types.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../kselftest.h"

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

#define MAX_CPUS	4096

/* A CPU mask wide enough for any machine; cpu_set_t ends at 1024. */
struct cpuset {
	cpu_set_t set[MAX_CPUS / CPU_SETSIZE];
};

static inline void cpuset_zero(struct cpuset *s)
{
	CPU_ZERO_S(sizeof(*s), s->set);
}

static inline void cpuset_add(int cpu, struct cpuset *s)
{
	CPU_SET_S(cpu, sizeof(*s), s->set);
}

static inline void cpuset_remove(int cpu, struct cpuset *s)
{
	CPU_CLR_S(cpu, sizeof(*s), s->set);
}

static inline bool cpuset_has(int cpu, const struct cpuset *s)
{
	return CPU_ISSET_S(cpu, sizeof(*s), s->set);
}

static inline int cpuset_count(const struct cpuset *s)
{
	return CPU_COUNT_S(sizeof(*s), s->set);
}

static inline void cpuset_or(struct cpuset *d, const struct cpuset *a, const struct cpuset *b)
{
	CPU_OR_S(sizeof(*d), d->set, a->set, b->set);
}

static inline void cpuset_and(struct cpuset *d, const struct cpuset *a, const struct cpuset *b)
{
	CPU_AND_S(sizeof(*d), d->set, a->set, b->set);
}

/* Parse "0-3,8" into @set; false if @list is not a CPU list. */
bool cpuset_parse_list(const char *list, struct cpuset *set);
/* Parse the kernel's "ffffffff,0000000f" into @set. */
bool cpuset_parse_mask(const char *mask, struct cpuset *set);
/* Write @set as a CPU list into @buf. */
void cpuset_print_list(const struct cpuset *set, char *buf, size_t size);
/* Affinity of the calling thread; ends the program when the kernel refuses. */
void cpuset_apply(const struct cpuset *set);
void cpuset_current(struct cpuset *set);
void pin_to_cpu(int cpu);

__u64 now_ns(void);
__u64 thread_cpu_ns(void);
void sleep_until_ns(__u64 t);
void sleep_ns(__u64 ns);

/* Parse a number within [@min, @max], or end the program naming @what. */
__u64 parse_u64(const char *what, const char *s, __u64 min, __u64 max);
/* The same with a suffix K, M or G. */
__u64 parse_size(const char *what, char *s, __u64 min, __u64 max);
double parse_double(const char *what, const char *s, double min, double max);

/* Read a small file into @buf as a string; its length or -1. */
int read_file(const char *path, char *buf, size_t size);

int futex_wait(int *word, int val, bool shared);
int futex_wake(int *word, int nr, bool shared);

void *xcalloc(size_t n, size_t size);

/*
 * Report: every emit_*() prints key=value to stdout and, after emit_json(),
 * the same pair into the JSON file, which emit_end() moves into place.
 */
void emit_json(const char *path);
void emit_double(const char *key, double val);
void emit_str(const char *key, const char *val);
void emit_doubles(const char *key, const double *val, int n);
void emit_end(void);

#endif
