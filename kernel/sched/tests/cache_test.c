// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the bookkeeping of cache-aware load balancing: words, sums,
 * visited_cpus and the clock. Included at the end of cache.c.
 */
#include <kunit/test.h>
#include <linux/delay.h>

static void word_keeps_epoch_and_occupancy(struct kunit *test)
{
	static const u32 val[] = { 0, 1, 9766, U32_MAX };
	int e, v;

	for (e = 0; e < ARRAY_SIZE(val); e++) {
		for (v = 0; v < ARRAY_SIZE(val); v++) {
			u64 word = SCHED_CACHE_WORD(val[e], val[v]);

			KUNIT_EXPECT_EQ(test, sched_cache_word_epoch(word), val[e]);
			KUNIT_EXPECT_EQ(test, sched_cache_word_occ(word, val[e]), val[v]);
			/* also where the epoch wraps */
			KUNIT_EXPECT_EQ(test, sched_cache_word_occ(word, val[e] + 1), val[v] / 2);
			KUNIT_EXPECT_EQ(test, sched_cache_word_occ(word, val[e] + 100), 0);
		}
	}
}

static void sums_belong_to_their_epoch(struct kunit *test)
{
	static const u32 start[] = { 5, U32_MAX - 1, 0 };
	int i;

	for (i = 0; i < ARRAY_SIZE(start); i++) {
		struct sched_cache_acc acc;
		u32 e = start[i];
		int j;

		/* as it looks after some time, also where the epoch wraps */
		for (j = 0; j < SCHED_CACHE_HISTORY; j++)
			atomic64_set(&acc.slot[j], SCHED_CACHE_WORD(e - 8, 77));

		sched_cache_acc_add(&acc, e, 3);
		sched_cache_acc_add(&acc, e, 4);
		KUNIT_EXPECT_EQ(test, sched_cache_acc_read(&acc, e), 7);
		KUNIT_EXPECT_EQ(test, sched_cache_acc_read(&acc, e + 1), 0);
		KUNIT_EXPECT_EQ(test, sched_cache_acc_read(&acc, e + SCHED_CACHE_HISTORY), 0);

		/* late, but not too late */
		sched_cache_acc_add(&acc, e + 1, 10);
		sched_cache_acc_add(&acc, e, 1);
		KUNIT_EXPECT_EQ(test, sched_cache_acc_read(&acc, e), 8);

		/* another epoch in its place, and then too late */
		sched_cache_acc_add(&acc, e + SCHED_CACHE_HISTORY, 2);
		sched_cache_acc_add(&acc, e, 1);
		KUNIT_EXPECT_EQ(test, sched_cache_acc_read(&acc, e), 0);
		KUNIT_EXPECT_EQ(test, sched_cache_acc_read(&acc, e + SCHED_CACHE_HISTORY), 2);
		KUNIT_EXPECT_EQ(test, sched_cache_acc_read(&acc, e + 1), 10);
	}
}

static struct sched_cache_group *test_group(struct kunit *test)
{
	struct sched_cache_group *grp = sched_cache_group_alloc();

	KUNIT_ASSERT_NOT_NULL(test, grp);
	return grp;
}

static void charge_decays_and_marks_the_cpu(struct kunit *test)
{
	struct sched_cache_group *grp = test_group(test);
	int cpu = cpumask_first(cpu_possible_mask);
	u64 *slot = per_cpu_ptr(grp->slots, cpu);
	u32 e = U32_MAX;	/* the next epoch is 0 */

	sched_cache_charge(grp, cpu, e, 1000);
	KUNIT_EXPECT_EQ(test, *slot, SCHED_CACHE_WORD(e, 1000));
	KUNIT_EXPECT_TRUE(test, test_bit(cpu, grp->visited));

	sched_cache_charge(grp, cpu, e, 24);
	KUNIT_EXPECT_EQ(test, *slot, SCHED_CACHE_WORD(e, 1024));

	/* A bit that was lost is set again in the next epoch, not before. */
	clear_bit(cpu, grp->visited);
	sched_cache_charge(grp, cpu, e, 0);
	KUNIT_EXPECT_FALSE(test, test_bit(cpu, grp->visited));
	sched_cache_charge(grp, cpu, e + 1, 8);
	KUNIT_EXPECT_EQ(test, *slot, SCHED_CACHE_WORD(e + 1, 512 + 8));
	KUNIT_EXPECT_TRUE(test, test_bit(cpu, grp->visited));

	sched_cache_charge(grp, cpu, e + 4, 0);
	KUNIT_EXPECT_EQ(test, *slot, SCHED_CACHE_WORD(e + 4, 65));
	sched_cache_charge(grp, cpu, e + 300, 5);
	KUNIT_EXPECT_EQ(test, *slot, SCHED_CACHE_WORD(e + 300, 5));
	sched_cache_group_free(grp);
}

/* The epoch never goes back and follows a new period at once. */
static void clock_is_monotonic_when_the_period_changes(struct kunit *test)
{
	static const unsigned int ms[] = { 1000, 1, 100, 3, 10, 1000, 2 };
	unsigned int old = sched_cache_period_ms();
	u32 last = sched_cache_epoch(), now;
	int i;

	for (i = 0; i < ARRAY_SIZE(ms); i++) {
		sched_cache_set_period_ms(ms[i]);
		KUNIT_EXPECT_GE(test, sched_cache_period_ms(), ms[i]);
		now = sched_cache_epoch();
		KUNIT_EXPECT_GE(test, (s32)(now - last), 0);
		last = now;
	}

	/* 2 ms now, whatever of a second was left. */
	mdelay(2 * sched_cache_period_ms() + 2 * MSEC_PER_SEC / HZ);
	KUNIT_EXPECT_GT(test, (s32)(sched_cache_epoch() - last), 0);
	sched_cache_set_period_ms(old);
	KUNIT_EXPECT_EQ(test, sched_cache_period_ms(), old);
}

/* jiffies wrap: five minutes after boot with 32 bits. */
static void epochs_are_counted_where_jiffies_wrap(struct kunit *test)
{
	static const unsigned int period[] = { 1, 3, 10, 250, 1000 };
	unsigned long end, d;
	int p;

	for (p = 0; p < ARRAY_SIZE(period); p++) {
		for (end = -2000UL; end != 2000; end += 400) {
			KUNIT_EXPECT_EQ(test, epochs_since(end, end - 1, period[p]), 0);
			KUNIT_EXPECT_EQ(test, epochs_since(end, end - 5000, period[p]), 0);
			for (d = 0; d < 5000; d += 123)
				KUNIT_EXPECT_EQ(test, epochs_since(end, end + d, period[p]),
						1 + d / period[p]);
		}
	}
}

static void window_is_what_a_busy_cpu_gathers(struct kunit *test)
{
	u32 window, period = jiffies_to_usecs(clock.period) * 1000 >> SCHED_CACHE_UNIT_SHIFT;
	int i;

	/* epochs as long as they are now */
	for (i = 0; i < 4; i++) {
		mdelay(sched_cache_period_ms());
		sched_cache_epoch();
	}
	sched_cache_clock(&window);
	/* p right after an epoch began, 2p before it ends, some more if it is late */
	KUNIT_EXPECT_GE(test, window, period / 2);
	KUNIT_EXPECT_LE(test, window, 4 * period);
}

static void groups_are_counted(struct kunit *test)
{
	long before = sched_cache_nr_groups();
	struct sched_cache_group *grp = test_group(test);

	KUNIT_EXPECT_GE(test, sched_cache_nr_groups(), before + 1);
	sched_cache_group_free(grp);
}

static struct kunit_case sched_cache_cases[] = {
	KUNIT_CASE(word_keeps_epoch_and_occupancy),
	KUNIT_CASE(sums_belong_to_their_epoch),
	KUNIT_CASE(charge_decays_and_marks_the_cpu),
	KUNIT_CASE(clock_is_monotonic_when_the_period_changes),
	KUNIT_CASE(epochs_are_counted_where_jiffies_wrap),
	KUNIT_CASE(window_is_what_a_busy_cpu_gathers),
	KUNIT_CASE(groups_are_counted),
	{}
};

static struct kunit_suite sched_cache_suite = {
	.name		= "sched_cache",
	.test_cases	= sched_cache_cases,
};

kunit_test_suite(sched_cache_suite);
