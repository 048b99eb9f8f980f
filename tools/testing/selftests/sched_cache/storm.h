/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Storms: what the driver (storm.c), the storms themselves (storm_*.c) and the
 * checks after them (storm_check.c) share.
 *
 * A storm is a function that does one small, random thing. The driver calls it over and
 * over in some processes of their own, beside a load of processes with threads
 * ("victims") that all storms do things to. All processes are of one process
 * group, by which they are told from the rest of the system and ended.
 */
#ifndef __SCHED_CACHE_STORM_H
#define __SCHED_CACHE_STORM_H

#include <sys/types.h>

#include "topo.h"

#define DEBUGFS		"/sys/kernel/debug"
#define SCHED_DEBUGFS	DEBUGFS "/sched"

struct storm {
	const char *name;
	const char *what;
	int workers;			/* processes; 0: one for each LLC */
	bool careful;			/* not to be killed in the middle of it */
	/* In the driver, before: NULL, or why this storm cannot be. */
	const char *(*setup)(void);
	/* In a worker, again and again: one operation of no more than a second. */
	void (*work)(void);
	/* In the driver, after all processes are gone. */
	void (*undo)(void);
};

extern const struct storm storms_proc[], storms_sched[], storms_sys[];

extern struct topo topo;
extern bool alone;	/* no other storm runs at the same time */

/* A worker's random numbers, which depend on seed, storm and worker only. */
extern __u64 rnd_state;
__u32 rnd_r(__u64 *state, __u32 n);
static inline __u32 rnd(__u32 n)
{
	return rnd_r(&rnd_state, n);
}

static inline bool chance(__u32 percent)
{
	return rnd(100) < percent;
}

bool stopping(void);
/* Sleep for up to @us, less when the end has come. */
void nap_us(__u32 us);
/* Let others run: the CPUs of an emulator take turns here. */
static inline void relax(void)
{
#if __has_builtin(__builtin_ia32_pause)
	__builtin_ia32_pause();
#else
	asm volatile("" ::: "memory");
#endif
}

/* Fork a process that dies with its parent. As fork(), but -1 once the end has come. */
pid_t fork_child(void);
/* Wait for a child however it ended; -1 if it is none. */
int reap(pid_t pid);
/* Fork a child that runs @fn in @threads threads until all of them return. */
void run_process(int threads, void *(*fn)(void *), void *arg);

/* Threads of the load: a random one, 0 if there is none just now. */
void victim_add(void);
void victim_del(void);
pid_t victim(void);
/* Is this the number of a thread of the storms? */
bool is_ours(pid_t tid);

/* What a storm finds wrong: the first one is reported and the run fails. */
void __printf(1, 2) fail(const char *fmt, ...);

/* Write into a file; 0 or errno. */
int __printf(2, 3) put(const char *path, const char *fmt, ...);
/* In setup(): the file's present content is written back at the end. Or why not. */
const char *save(const char *path);
/* In setup(): have @value written to @path at the end. */
void put_back(const char *path, const char *value);

/* A random set of CPUs: one, some of an LLC, an LLC, some, all. */
void random_cpus(struct cpuset *cpus);
void random_cpu_list(char *buf, size_t size);

/* The knobs, in storm_fuzz.c */
struct knob {
	const char *name;
	unsigned int min, max;
};

#define NR_KNOBS 6
extern const struct knob knobs[NR_KNOBS];

/* Path of a knob, under one of its two names. */
void knob_path(char *buf, size_t size, const struct knob *knob, bool other_name);
const char *knobs_save(void);
void fuzz_work(void);

/* The prctl, in storm_fuzz.c */
const char *prctl_setup(void);
void prctl_work(void);

/* storm_check.c */
/* The CPUs in LLCs, as the feature has it; false if it does not say. */
bool llc_cpus(struct cpuset *cpus);
void check_before(void);
/* After all processes are gone: how many things are wrong, said on stderr. */
int check_after(bool leaks);

#endif
