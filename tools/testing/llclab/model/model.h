/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the plugin share.  All of it is touched by one host thread
 * only: with -icount the guest's CPUs run in turn on one.
 */
#ifndef LLCLAB_MODEL_H
#define LLCLAB_MODEL_H

#include <stdio.h>

#include "cache.h"

#define MAX_CPUS	512
#define MAX_COUNTERS	16
#define MAX_PHASES	1024
#define NAME_LEN	64

/* Messages from the guest (llc_phase.h) end at a zero byte. */
#define MESSAGE_LEN	128

struct phase {
	char name[NAME_LEN];
	uint64_t ops;			/* as the programs themselves count them */
	uint64_t counter[MAX_COUNTERS];
	struct cache_counts cpu[MAX_CPUS];
};

/* One of the guest's CPUs, as the model tells them apart. */
struct vcpu {
	const void *key;	/* what QEMU shows of it, see plugin.c */
	unsigned int nr;	/* the guest's number of it */
	const void *mm;		/* address space: where the kernel keeps its page table's address */
	const void *mm_seen;	/* the last such address read since the switch began */
	bool wanted;		/* the address space is one to be counted */
	bool lazy;		/* a kernel thread borrows it */
};

struct counter {
	char name[NAME_LEN];
	uint64_t addr;
};

struct options {
	struct cache_geometry geometry;
	unsigned int cpus;
	const char *out;
	enum { COUNT_ALL, COUNT_USER, COUNT_KERNEL } mode;
	bool process;
	bool has_range;
	uint64_t range_start, range_end;	/* virtual, or physical if below 2^63 */
	uint64_t switch_start, switch_end, lazy_addr;	/* the kernel's, see space.c */
	unsigned int top;
	/* the last two for tests: a wrong index everywhere, or in blocks only */
	enum { KEY_INDEX, KEY_ENV, KEY_FOLDED, KEY_BLOCKS } key;
	struct counter counter[MAX_COUNTERS];
	unsigned int counters;
};

/* options.c: NULL, or what is wrong; @key_default for "cpu=auto" */
const char *options_parse(struct options *o, int argc, char **argv, int key_default);

/* top.c: which lines move between LLCs, and which code moves them */
struct top_line {
	uint64_t line, vaddr, pc;
	uint64_t transfers, upgrades, stores;
	uint64_t pc_votes;	/* of the code that is most likely behind it */
};

void top_count(uint64_t paddr, uint64_t vaddr, uint64_t pc, bool write, enum cache_result result);
/* The @n busiest lines, sorted; the number of them in *found. */
const struct top_line *top_sorted(unsigned int n, unsigned int *found);
uint64_t top_lost(void);

/* space.c: which address space a CPU uses; @now is where the CPU that runs is found */
struct qemu_plugin_insn;
void space_init(struct vcpu **now);
/* True if the accesses of @insn are to be told to space_load(). */
bool space_translate(const struct options *o, struct qemu_plugin_insn *insn, uint64_t pc,
		     const uint8_t *bytes, size_t size);
void space_load(uint64_t vaddr);
/* From now on the address space of @v is counted; false: it is not known, or there are too many. */
bool space_want(struct vcpu *vcpus, unsigned int n, const struct vcpu *v);

/* report.c */
struct report {
	const struct options *options;
	struct phase *const *phases;
	unsigned int nr_phases;
	const char *trouble;	/* why there are no figures, or NULL */
	int api;
	uint64_t outside;	/* accesses beyond the memory that the model knows */
	unsigned int bad_marks;
};

void report_write(const struct report *r);

#endif
