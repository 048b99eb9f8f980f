/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The last-level caches of the running system as the scheduler sees them.
 */
#ifndef __SCHED_CACHE_TOPO_H
#define __SCHED_CACHE_TOPO_H

#include "util.h"

struct llc {
	struct cpuset cpus;
	int nr_cpus;
	int nr_cores;
	/* KiB; 0: not known */
	unsigned long size_kib;
	/* NUMA node of the first CPU; -1: not known */
	int node;
};

struct topo {
	int nr_llcs;
	struct llc *llc;	/* in order of their first CPU */
	int nr_cpus;		/* online CPUs that belong to an LLC */
	int llc_of[MAX_CPUS];	/* -1: offline, or in no sched domain */
};

/*
 * Read the LLCs from the sched domains, else from the feature's state file.
 * Returns NULL, or, when neither is there, why not and what to do.
 */
const char *topo_read(struct topo *topo);

/* As topo_read(), but ends the program with the skip status of kselftest. */
void topo_read_or_skip(struct topo *topo);

/* CPUs of @allowed in the @nth LLC, counting round and round those that have one. */
void topo_nth_llc(const struct topo *topo, const struct cpuset *allowed, int nth,
		  struct cpuset *cpus);

/* CPUs of @allowed in the LLCs of a NUMA node. */
void topo_node(const struct topo *topo, int node, const struct cpuset *allowed,
	       struct cpuset *cpus);

#endif
