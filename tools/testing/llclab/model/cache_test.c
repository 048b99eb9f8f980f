// SPDX-License-Identifier: GPL-2.0
/* Tests of cache.c on the host, without QEMU.  Output is TAP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"

#define LINE		64
#define KIB		1024ULL

static int failures_here, nr;

#define expect(what, found, wanted) do {					\
	unsigned long long f_ = (found), w_ = (wanted);				\
	if (f_ != w_) {								\
		printf("# line %d: %s: found %llu, wanted %llu\n", __LINE__,	\
		       what, f_, w_);						\
		failures_here++;						\
	}									\
} while (0)

/* Two packages of two LLCs of two CPUs, two nodes; L2 4 KiB, LLC 64 KiB. */
static const struct cache_geometry small = {
	.llcs = 4, .cpus_per_llc = 2,
	.l2_size = 4 * KIB, .l2_ways = 4,
	.llc_size = 64 * KIB, .llc_ways = 8,
	.memory = 2048 * KIB,
	.llcs_per_package = 2, .llcs_per_node = 2, .node_shift = 20,
};

static struct cache *make(const struct cache_geometry *g)
{
	struct cache *c = cache_check(g) ? NULL : cache_new(g);

	if (!c) {
		printf("Bail out! no cache: %s\n", cache_check(g) ? cache_check(g) : "no memory");
		exit(1);
	}
	return c;
}

static void done(struct cache *c)
{
	const char *wrong = cache_inconsistency(c);

	if (wrong) {
		printf("# inconsistent: %s\n", wrong);
		failures_here++;
	}
	cache_free(c);
}

static uint64_t transfers(const struct cache_counts *n)
{
	return n->near_clean + n->near_dirty + n->far_clean + n->far_dirty;
}

/* Stores to one line by two CPUs in turn. */
static struct cache_counts ping_pong(unsigned int a, unsigned int b, int stores)
{
	struct cache_counts n = { 0 };
	struct cache *c = make(&small);
	int i;

	for (i = 0; i < stores; i++)
		cache_access(c, i % 2 ? b : a, 0x1000, true, &n);
	done(c);
	return n;
}

static void stores_in_turn_transfer_each_time(void)
{
	struct cache_counts n = ping_pong(0, 2, 1000);

	expect("near dirty, other LLC of the package", n.near_dirty, 999);
	expect("all transfers", transfers(&n), 999);
	expect("invalidations", n.invalidations, 999);
	expect("memory", n.mem_local + n.mem_remote, 1);
	expect("write-backs", n.write_backs, 0);
	n = ping_pong(0, 7, 1000);
	expect("far dirty, other package", n.far_dirty, 999);
	expect("all transfers", transfers(&n), 999);
}

static void stores_in_turn_within_an_llc_do_not_transfer(void)
{
	struct cache_counts n = ping_pong(2, 3, 1000);

	expect("transfers", transfers(&n), 0);
	expect("LLC hits", n.llc_hits, 999);
	expect("taken from the other L2", n.l2_invalidations, 999);
	n = ping_pong(2, 2, 1000);
	expect("one CPU: L2 hits", n.l2_hits, 999);
}

static void reader_gets_clean_copy_after_write_back(void)
{
	struct cache_counts n = { 0 };
	struct cache *c = make(&small);

	cache_access(c, 0, 0, true, &n);	/* memory */
	cache_access(c, 2, 0, false, &n);	/* dirty from LLC 0, written back */
	cache_access(c, 4, 0, false, &n);	/* clean, from another package */
	cache_access(c, 5, 0, false, &n);	/* own LLC */
	expect("near dirty", n.near_dirty, 1);
	expect("write-backs", n.write_backs, 1);
	expect("far clean", n.far_clean, 1);
	expect("LLC hits", n.llc_hits, 1);
	expect("invalidations", n.invalidations, 0);
	cache_access(c, 0, 0, true, &n);	/* has it, two others too */
	expect("far upgrade", n.upgrades_far, 1);
	expect("invalidations of the store", n.invalidations, 2);
	expect("transfers", transfers(&n), 2);
	done(c);
}

static void exclusive_line_is_written_without_asking(void)
{
	struct cache_counts n = { 0 };
	struct cache *c = make(&small);

	cache_access(c, 0, 0, false, &n);
	cache_access(c, 0, 0, true, &n);
	expect("L2 hits", n.l2_hits, 1);
	cache_access(c, 2, 0, true, &n);
	expect("it was dirty", n.near_dirty, 1);
	done(c);
}

/* Read @bytes in order again and again; misses of the last of the rounds. */
static uint64_t misses_of_set(uint64_t bytes, const struct cache_geometry *g)
{
	struct cache *c = make(g);
	struct cache_counts n = { 0 };
	uint64_t addr, before = 0;
	int round;

	for (round = 0; round < 3; round++) {
		before = n.mem_local + n.mem_remote;
		for (addr = 0; addr < bytes; addr += LINE)
			cache_access(c, 0, addr, false, &n);
	}
	done(c);
	return n.mem_local + n.mem_remote - before;
}

static void working_set_half_and_double_the_llc(void)
{
	struct cache_geometry no_l2 = small;

	expect("half: misses", misses_of_set(32 * KIB, &small), 0);
	expect("all of it: misses", misses_of_set(64 * KIB, &small), 0);
	/* In order through LRU, what is wanted next has always just gone. */
	expect("double: misses", misses_of_set(128 * KIB, &small), 128 * KIB / LINE);
	no_l2.l2_size = 0;
	expect("no L2, half: misses", misses_of_set(32 * KIB, &no_l2), 0);
	expect("no L2, double: misses", misses_of_set(128 * KIB, &no_l2), 128 * KIB / LINE);
}

static void least_recently_used_goes_first(void)
{
	struct cache_geometry g = small;
	struct cache_counts n = { 0 };
	uint64_t set_stride = 64 * KIB / 8;
	struct cache *c;
	int i;

	g.l2_size = 0;
	c = make(&g);
	for (i = 0; i < 8; i++)
		cache_access(c, 0, i * set_stride, false, &n);
	cache_access(c, 0, 0, false, &n);		/* now 1 is the oldest */
	cache_access(c, 0, 8 * set_stride, false, &n);	/* evicts it */
	expect("line 0 stays", cache_access(c, 0, 0, false, &n), CACHE_LLC_HIT);
	expect("line 1 is gone", cache_access(c, 0, set_stride, false, &n), CACHE_MEMORY);
	done(c);
}

static void eviction_writes_back_and_takes_from_l2(void)
{
	struct cache_counts n = { 0 };
	struct cache *c = make(&small);
	uint64_t addr;

	for (addr = 0; addr < 1024 * KIB; addr += LINE)
		cache_access(c, 0, addr, true, &n);
	expect("memory reads", n.mem_local, 1024 * KIB / LINE);
	expect("write-backs: all but what fits", n.write_backs, (1024 - 64) * KIB / LINE);
	done(c);
}

static void memory_is_local_to_its_node(void)
{
	struct cache_counts n = { 0 };
	struct cache *c = make(&small);

	cache_set_node(c, 1, 1);
	cache_access(c, 0, 0, false, &n);
	cache_access(c, 0, 1024 * KIB, false, &n);
	cache_access(c, 4, 1024 * KIB + LINE, false, &n);
	cache_access(c, 6, LINE, false, &n);
	expect("local", n.mem_local, 2);
	expect("remote", n.mem_remote, 2);
	done(c);
}

static void flush_leaves_nothing(void)
{
	struct cache_counts n = { 0 };
	struct cache *c = make(&small);
	int i;

	for (i = 0; i < 100; i++)
		cache_access(c, i % 8, i / 2 * LINE, i % 3 == 0, &n);
	cache_flush(c);
	n = (struct cache_counts){ 0 };
	for (i = 0; i < 50; i++)
		cache_access(c, i % 8, i * LINE, false, &n);
	expect("memory", n.mem_local + n.mem_remote, 50);
	expect("write-backs", n.write_backs, 0);
	done(c);
}

static uint64_t rng = 88172645463325252ULL;

static uint64_t next(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

/* Every access is counted in one place, and the structures agree throughout. */
static void random_accesses_stay_consistent(void)
{
	struct cache_geometry g = small;
	int variant, i;

	for (variant = 0; variant < 2; variant++) {
		struct cache_counts n = { 0 };
		struct cache *c;

		g.l2_size = variant ? 0 : small.l2_size;
		c = make(&g);
		for (i = 0; i < 400000; i++) {
			/* a few hot lines, some that fit, many that do not */
			uint64_t span = i % 3 == 0 ? 8 : i % 3 == 1 ? 512 : 8192;

			cache_access(c, next() % 8, next() % span * LINE, next() % 3 == 0, &n);
			if (i % 20000 == 0 && cache_inconsistency(c))
				break;
		}
		expect("places", n.l2_hits + n.llc_hits + n.upgrades_near + n.upgrades_far +
		       transfers(&n) + n.mem_local + n.mem_remote, n.loads + n.stores);
		expect("accesses", n.loads + n.stores, 400000);
		done(c);
	}
}

/* What the LLCs of one CPU each must do, without limits: one word of state per line. */
static void random_accesses_transfer_as_computed(void)
{
	struct cache_geometry g = small;
	unsigned int holders[256] = { 0 }, i;
	uint64_t wanted = 0, memory = 0;
	struct cache_counts n = { 0 };
	struct cache *c;

	g.cpus_per_llc = 1;
	c = make(&g);
	for (i = 0; i < 200000; i++) {
		unsigned int cpu = next() % 4, line = next() % 256;
		bool write = next() % 4 == 0;

		if (!(holders[line] >> cpu & 1)) {
			memory += !holders[line];
			wanted += !!holders[line];
		}
		holders[line] = write ? 1u << cpu : holders[line] | 1u << cpu;
		cache_access(c, cpu, line * LINE, write, &n);
	}
	expect("transfers", transfers(&n), wanted);
	expect("memory", n.mem_local + n.mem_remote, memory);
	done(c);
}

static void impossible_geometry_is_refused(void)
{
	struct cache_geometry g = small;

	g.llc_size = 48 * KIB;
	expect("sets no power of two", !!cache_check(&g), true);
	g = small;
	g.llcs = 16;
	expect("too many LLCs", !!cache_check(&g), true);
	g = small;
	g.l2_ways = 0;
	expect("no ways", !!cache_check(&g), true);
	expect("as it should be", !cache_check(&small), true);
}

#define TEST(f) { #f, f }

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	TEST(stores_in_turn_transfer_each_time),
	TEST(stores_in_turn_within_an_llc_do_not_transfer),
	TEST(reader_gets_clean_copy_after_write_back),
	TEST(exclusive_line_is_written_without_asking),
	TEST(working_set_half_and_double_the_llc),
	TEST(least_recently_used_goes_first),
	TEST(eviction_writes_back_and_takes_from_l2),
	TEST(memory_is_local_to_its_node),
	TEST(flush_leaves_nothing),
	TEST(random_accesses_stay_consistent),
	TEST(random_accesses_transfer_as_computed),
	TEST(impossible_geometry_is_refused),
};

int main(void)
{
	size_t i, count = ARRAY_SIZE(tests);
	int failed = 0;

	printf("TAP version 13\n1..%zu\n", count);
	for (i = 0; i < count; i++) {
		failures_here = 0;
		tests[i].run();
		printf("%s %d cache_%s\n", failures_here ? "not ok" : "ok", ++nr, tests[i].name);
		failed += !!failures_here;
	}
	return !!failed;
}
