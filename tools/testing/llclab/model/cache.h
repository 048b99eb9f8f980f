/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Caches of a machine with several LLCs: sets and ways with true LRU, a private
 * level (L2) for each CPU, and a directory that keeps the LLCs coherent.  Knows
 * nothing of QEMU; one access at a time, no locks.
 */
#ifndef LLCLAB_CACHE_H
#define LLCLAB_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

#define BIT(n)			(1u << (n))
#define BIT_ULL(n)		(1ULL << (n))

#define CACHE_LINE_SHIFT	6
#define CACHE_MAX_LLCS		15	/* bits of a word in the directory */
#define CACHE_MAX_LLC_CPUS	64	/* bits of a mask in a line of an LLC */

struct cache_geometry {
	unsigned int llcs, cpus_per_llc;
	uint64_t l2_size, llc_size;		/* bytes; l2_size 0: no private level */
	unsigned int l2_ways, llc_ways;
	uint64_t memory;			/* bytes that physical addresses span */
	unsigned int llcs_per_package;		/* transfers within one are near */
	unsigned int llcs_per_node;		/* memory of the own node is local */
	unsigned int node_shift;	/* nodes are made of blocks of this size; 0: one node */
};

#define CACHE_MAX_BLOCKS	256

/* Where an access found its line; the fields are counted by the CPU that makes the access. */
struct cache_counts {
	uint64_t insns, insns_user;
	uint64_t loads, stores;
	uint64_t l2_hits;		/* nothing but the private level was needed */
	uint64_t llc_hits;		/* own LLC, also a line of another L2 below it */
	uint64_t near_clean, near_dirty;	/* transfers from another LLC of the package */
	uint64_t far_clean, far_dirty;		/* the same, of another package */
	uint64_t upgrades_near, upgrades_far;	/* a store to an own copy: others to be told */
	uint64_t invalidations;		/* lines taken away from other LLCs */
	uint64_t l2_invalidations;	/* lines taken away from other L2s of the LLC */
	uint64_t mem_local, mem_remote;	/* reads of memory */
	uint64_t write_backs;		/* of dirty lines to memory */
};

enum cache_result {
	CACHE_L2_HIT,
	CACHE_LLC_HIT,
	CACHE_UPGRADE,
	CACHE_TRANSFER,
	CACHE_MEMORY,
};

struct cache;

/* NULL, or why the geometry is impossible. */
const char *cache_check(const struct cache_geometry *g);
/* A machine with empty caches; NULL if there is no memory for it. */
struct cache *cache_new(const struct cache_geometry *g);
void cache_free(struct cache *c);
/* Block nr @block, addresses from @block << node_shift on, is of @node; else it is of node 0. */
void cache_set_node(struct cache *c, unsigned int block, unsigned int node);

/* Empty all caches; nothing is counted. */
void cache_flush(struct cache *c);

/*
 * One access of @cpu to the line that holds physical address @addr, which must
 * be below geometry.memory.  @write: the line is wanted for a store.
 */
enum cache_result cache_access(struct cache *c, unsigned int cpu, uint64_t addr, bool write,
			       struct cache_counts *n);

/*
 * Does each L2 line have its line in the LLC, each LLC line its bit in the
 * directory and the other way round, and is a line that one may write held by
 * nobody else?  NULL, or what is wrong.  Slow; for tests.
 */
const char *cache_inconsistency(const struct cache *c);

#endif
