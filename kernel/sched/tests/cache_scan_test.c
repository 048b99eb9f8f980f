// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the scan of cache-aware load balancing. Included at the end of
 * cache_scan.c.
 */
#include <kunit/test.h>
#include <linux/delay.h>

#define CPUS(n)		((u32)((n) * SCHED_CACHE_CPU))

static void scan_looks_at_visited_cpus_only(struct kunit *test)
{
	struct sched_cache_group *grp = sched_cache_group_alloc();
	u32 timeout = READ_ONCE(sched_cache_timeout);
	struct scan s = { .epoch = 1000 };
	int cpu, nr = 0;

	KUNIT_ASSERT_NOT_NULL(test, grp);
	for_each_possible_cpu(cpu) {
		/* two fresh ones, one about to be forgotten, one forgotten */
		static const u32 age[] = { 0, 1, 0, 0 };

		if (nr == 4)
			break;
		sched_cache_charge(grp, cpu, 1000 - age[nr] -
			     (nr == 2 ? timeout : nr == 3 ? timeout + 1 : 0), 64);
		nr++;
	}

	scan_cpus(grp, &s);
	KUNIT_EXPECT_EQ(test, s.cpus, nr);
	KUNIT_EXPECT_EQ(test, s.evicted, nr == 4);
	KUNIT_EXPECT_EQ(test, cpumask_weight(to_cpumask(grp->visited)), min(nr, 3));
	sched_cache_group_free(grp);
}

/* NUMA balancing has the say, but does not make a group go to and fro. */
static void group_follows_its_tasks_to_a_node(struct kunit *test)
{
#ifdef CONFIG_NUMA_BALANCING
	static const struct {
		u32 epoch;
		bool pref, objection;
		int wanted, node;
	} row[] = {
		/* the scanner's own for a start, at any moment another one */
		{ 0, false, false, 1, 1 },
		{ 1, false, false, 0, 0 },
		{ 2, true, false, 1, NUMA_NO_NODE },
		/* somebody objects: ask */
		{ 3, true, true, 1, 1 },
		{ 4, true, false, 0, 1 },
		{ 5, true, true, 0, 1 },
		{ 2 + SCHED_CACHE_NODE_EPOCHS, true, true, 0, 1 },
		{ 3 + SCHED_CACHE_NODE_EPOCHS, true, true, 0, 0 },
		{ 2 + 2 * SCHED_CACHE_NODE_EPOCHS, true, false, 1, 0 },
		{ 3 + 2 * SCHED_CACHE_NODE_EPOCHS, true, false, 1, NUMA_NO_NODE },
	};
	struct sched_cache_group *grp = sched_cache_group_alloc();
	u32 start = U32_MAX - SCHED_CACHE_NODE_EPOCHS / 2;
	int i, nid = current->numa_preferred_nid;
	struct sched_cache_llc *llc;

	llc = kunit_kzalloc(test, sizeof(*llc), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, llc);
	KUNIT_ASSERT_NOT_NULL(test, grp);
	static_branch_inc(&sched_numa_balancing);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		grp->pref = row[i].pref ? llc : NULL;
		grp->objection = row[i].objection;
		current->numa_preferred_nid = row[i].wanted;
		follow_tasks_to_node(grp, start + row[i].epoch);
		KUNIT_EXPECT_EQ_MSG(test, grp->node, row[i].node, "row %d", i);
		KUNIT_EXPECT_FALSE(test, grp->objection);
		KUNIT_EXPECT_EQ(test, node_allows(grp, llc), row[i].node != 1);
	}
	static_branch_dec(&sched_numa_balancing);
	current->numa_preferred_nid = nid;
	sched_cache_group_free(grp);
#else
	kunit_skip(test, "needs CONFIG_NUMA_BALANCING");
#endif
}

/* Claims and strays, without what is the group's own. */
static void others_are_claims_and_strays(struct kunit *test)
{
	struct sched_cache_group *grp = sched_cache_group_alloc();
	struct sched_cache_llc *llc;
	u32 epoch, stray = 0, i;

	llc = kunit_kzalloc(test, sizeof(*llc), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, grp);
	KUNIT_ASSERT_NOT_NULL(test, llc);

	/* The clock may have to get going: an epoch without a length has no average. */
	for (i = 0; i < 100 && !stray; i++) {
		msleep(sched_cache_period_ms());
		epoch = sched_cache_epoch();
		memset(&llc->stray, 0, sizeof(llc->stray));
		sched_cache_acc_add(&llc->stray, epoch - 2, 5000);
		sched_cache_acc_add(&llc->stray, epoch - 1, 5000);
		stray = sched_cache_acc_average(&llc->stray, epoch);
	}
	KUNIT_EXPECT_GT(test, stray, 0);
	KUNIT_EXPECT_EQ(test, llc_others(grp, llc, epoch, 0), stray);
	KUNIT_EXPECT_EQ(test, llc_others(grp, llc, epoch, stray), 0);
	KUNIT_EXPECT_EQ(test, llc_others(grp, llc, epoch, 2 * stray), 0);

	sched_cache_acc_add(&llc->claim, epoch - 1, CPUS(3));
	KUNIT_EXPECT_EQ(test, llc_others(grp, llc, epoch, 0), stray + CPUS(3));
	/* Of that two are the group's own, if it has claimed them here, and then. */
	grp->claim = CPUS(2);
	grp->claim_epoch = epoch - 1;
	KUNIT_EXPECT_EQ(test, llc_others(grp, llc, epoch, 0), stray + CPUS(3));
	grp->pref = llc;
	KUNIT_EXPECT_EQ(test, llc_others(grp, llc, epoch, 0), stray + CPUS(1));
	grp->claim_epoch = epoch - 2;
	KUNIT_EXPECT_EQ(test, llc_others(grp, llc, epoch, 0), stray + CPUS(3));
	sched_cache_group_free(grp);
}

static void scan_tells_llcs_apart(struct kunit *test)
{
	struct sched_cache_llc *llc;
	struct scan s = {};
	int i;

	llc = kunit_kcalloc(test, SCHED_CACHE_MAX_VISITED + 1, sizeof(*llc), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, llc);

	for (i = 0; i < 2 * SCHED_CACHE_MAX_VISITED; i++)
		scan_add(&s, &llc[i % SCHED_CACHE_MAX_VISITED], 1 + i / SCHED_CACHE_MAX_VISITED);
	KUNIT_EXPECT_EQ(test, s.nr, SCHED_CACHE_MAX_VISITED);
	for (i = 0; i < s.nr; i++) {
		KUNIT_EXPECT_PTR_EQ(test, s.cand[i].llc, &llc[i]);
		KUNIT_EXPECT_EQ(test, s.cand[i].occ, 3);
	}

	/* One more than can be told apart is left out, and said so. */
	scan_add(&s, &llc[SCHED_CACHE_MAX_VISITED], 100);
	KUNIT_EXPECT_EQ(test, s.nr, SCHED_CACHE_MAX_VISITED);
	KUNIT_EXPECT_EQ(test, s.skipped, 1);
}

/*
 * Three threads that run from the birth of their group on read three at every age,
 * wherever in an epoch it was born.
 */
static void young_group_reads_its_threads(struct kunit *test)
{
	const u32 tick = 1000, ticks = 10;	/* 1 ms, in units; of an epoch */
	u32 birth;

	for (birth = 0; birth < ticks; birth++) {
		u32 window = ticks * tick, occ = 0, birth_window = 0, age = 0, t;
		u32 running;

		for (t = 0; t < 20 * ticks; t++) {
			if (t && t % ticks == 0) {
				window /= 2;
				occ /= 2;
				age += t > birth;
			}
			if (t == birth)
				birth_window = window;
			window += tick;
			if (t < birth)
				continue;
			occ += 3 * tick;
			running = sched_cache_cpus(occ, own_window(window, birth_window, age));
			KUNIT_EXPECT_LE(test, running, 3 * SCHED_CACHE_CPU + 8);
			KUNIT_EXPECT_GE(test, running, 3 * SCHED_CACHE_CPU - 8);
		}
	}
	/* Never less than nothing. */
	KUNIT_EXPECT_EQ(test, own_window(5, 10, 0), 0);
}

static struct kunit_case sched_cache_scan_cases[] = {
	KUNIT_CASE(scan_looks_at_visited_cpus_only),
	KUNIT_CASE(others_are_claims_and_strays),
	KUNIT_CASE(group_follows_its_tasks_to_a_node),
	KUNIT_CASE(scan_tells_llcs_apart),
	KUNIT_CASE(young_group_reads_its_threads),
	{}
};

static struct kunit_suite sched_cache_scan_suite = {
	.name		= "sched_cache_scan",
	.test_cases	= sched_cache_scan_cases,
};

kunit_test_suite(sched_cache_scan_suite);
