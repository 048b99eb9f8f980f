/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes that llc_load starts and watches.
 */
#ifndef __SCHED_CACHE_LOAD_H
#define __SCHED_CACHE_LOAD_H

#include <pthread.h>
#include <stdalign.h>

#include "topo.h"

/* Phases of one process, in this order; the watcher sets them. */
enum load_phase {
	LOAD_SETUP,	/* threads are being created */
	LOAD_BURST,	/* all threads run, the additional ones too */
	LOAD_HOLD,	/* threads run, each kept in its own LLC */
	LOAD_RUN,	/* threads run where the scheduler wants */
	LOAD_STOP,	/* threads park, still alive, to be looked at */
	LOAD_EXIT,
};

enum load_main {
	LOAD_MAIN_SLEEP,
	LOAD_MAIN_FORK,
	LOAD_MAIN_VFORK,
};

struct load_mode;

struct load_opts {
	const struct load_mode *mode;
	int procs;
	int threads;
	int burst_threads;		/* threads beyond "threads" in the burst */
	bool scatter;
	enum load_main main_role;
	int pin_thread;			/* -1: none */
	int pin_cpu;
	bool stay;			/* scattered threads stay where they start */
	struct cpuset also;		/* and these CPUs */
	int mem_node;			/* where memory is touched first; -1: anywhere */
	unsigned long bytes;		/* of a triad's arrays, of the cold heap */
	unsigned long shared_bytes;
	unsigned int work;		/* cache lines touched by an operation */
	__u64 nap_ns;
	__u64 seed;
	struct cpuset cpus;		/* where the processes may run */
};

/* What a thread tells the watcher; it alone writes it. */
struct load_slot {
	alignas(128) int cpu;
	int tid;
	__u64 ops;
	__u64 start_ns;	/* its CPU time when the run began */
	__u64 run_ns;	/* its CPU time in the run, written at its end */
};

/* Shared between the watcher and one process. */
struct load_ctl {
	alignas(128) int phase;
	alignas(128) int ready;
	int parked;
	__u64 main_ops;
	struct load_slot slot[];
};

/* Find a mode by name; NULL if there is none. */
const struct load_mode *load_mode_find(const char *name);
/* Print name and description of each mode. */
void load_mode_list(FILE *f);
/* NULL, or why @opts does not fit the mode. */
const char *load_check(const struct load_opts *opts);
/* Connect process @proc to its partner, before any of them is forked. */
void load_connect(const struct load_opts *opts);
/* The life of process number @proc; does not return. */
void __noreturn load_process(const struct load_opts *opts, const struct topo *topo,
			     struct load_ctl *ctl, int proc);

#define load_get(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define load_put(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

#endif
