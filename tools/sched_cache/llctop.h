/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What llctop knows: one look at what the kernel tells about cache-aware
 * scheduling.
 */
#ifndef _LLCTOP_H
#define _LLCTOP_H

#include <linux/compiler.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define NAME_LEN	48

/* An LLC, as llc_state has it. */
struct llc {
	int id;
	char *cpus;
	int cores, node;
	unsigned long long size_kib;
	double wanted;			/* CPUs that are wanted there */
};

/* A counter of llc_stats. */
struct counter {
	char name[NAME_LEN];
	unsigned long long val;
};

/* A process, as the sched file of one of its threads in the group has it. */
struct proc {
	pid_t pid;
	char comm[64];
	unsigned int threads;
	char mode[16], gate[16];
	bool grouped;			/* what follows is known */
	int pref;			/* LLC, -1: none */
	int share_pct;			/* -1: not told */
	double running;
	long long footprint_kb;		/* -1: not told */
};

struct snapshot {
	double time;			/* s, of the monotonic clock */
	bool active;
	char reason[128];		/* why it is not active */
	long groups;
	struct llc *llcs;
	size_t nr_llcs;
	struct counter *counters;
	size_t nr_counters;
	struct proc *procs;
	size_t nr_procs;
};

/* Which processes are wanted: with a group, all with several threads, or these. */
struct filter {
	bool all;
	pid_t *pids;
	size_t nr_pids;
};

/* Both end the program with a message when the kernel does not tell. */
void take_snapshot(struct snapshot *s, const char *root, const struct filter *f);
void free_snapshot(struct snapshot *s);
void *grow(void *array, size_t nr, size_t size);

/* @prev may be NULL: no interval to compare with. One line, one object. */
void print_json(FILE *out, const struct snapshot *s, const struct snapshot *prev);

/* By how much a counter grew since @prev; since boot if that is NULL. */
unsigned long long counter_delta(const struct counter *c, const struct snapshot *prev);

/* How the program ends with a message: puts the terminal back first. */
void __noreturn __printf(1, 2) die(const char *fmt, ...);

#endif /* _LLCTOP_H */
