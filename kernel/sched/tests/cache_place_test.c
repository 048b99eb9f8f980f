// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the policy of cache-aware load balancing: gates and decisions,
 * by table. Included at the end of cache_place.c.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#define CPUS(n)		((u32)((n) * SCHED_CACHE_CPU))
#define PERCENT(n)	((u32)((n) * SCHED_CACHE_CPU / 100))

static void decay_halves_once_per_epoch(struct kunit *test)
{
	u32 occ, epochs, want;

	for (occ = 1; occ; occ <<= 1) {
		want = occ;
		for (epochs = 0; epochs <= 200; epochs++, want /= 2)
			KUNIT_EXPECT_EQ(test, sched_cache_decay(occ, epochs), want);
	}
	KUNIT_EXPECT_EQ(test, sched_cache_decay(U32_MAX, 31), 1);
	KUNIT_EXPECT_EQ(test, sched_cache_decay(U32_MAX, U32_MAX), 0);
}

/*
 * n CPUs that run all the time read n threads, at every point of an epoch,
 * whether there were more of them before, or none.
 */
static void constant_input_reads_itself(struct kunit *test)
{
	static const u32 before[] = { 0, 1, 64, 512 };
	static const u32 now[] = { 0, 1, 3, 7, 8, 60, 128 };
	const u32 period = 9766, tick = 977;	/* 10 ms and 1 ms, in units */
	int b, n, epoch, t;

	for (b = 0; b < ARRAY_SIZE(before); b++) {
		for (n = 0; n < ARRAY_SIZE(now); n++) {
			u64 occ = (u64)before[b] * period;
			u32 window = period, running = 0, slack = 2 + now[n] / 8;

			for (epoch = 0; epoch < 40; epoch++) {
				for (t = 0; t < 10; t++) {
					occ += (u64)now[n] * tick;
					window += tick;
					running = sched_cache_cpus(occ, window);
					if (epoch < 20)
						continue;
					/* what halving rounds away, at most */
					KUNIT_EXPECT_LE(test, running, CPUS(now[n]) + slack);
					KUNIT_EXPECT_GE(test, running + slack, CPUS(now[n]));
				}
				occ /= 2;
				window /= 2;
			}
		}
	}
	KUNIT_EXPECT_EQ(test, sched_cache_cpus(0, 0), 0);
	KUNIT_EXPECT_EQ(test, sched_cache_cpus(100, 0), 0);
}

static void limit_saturates(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sched_cache_limit(8, 0), 0);
	KUNIT_EXPECT_EQ(test, sched_cache_limit(8, 1), 8);
	KUNIT_EXPECT_EQ(test, sched_cache_limit(8, 99), 792);
	KUNIT_EXPECT_EQ(test, sched_cache_limit(8, 100), U64_MAX);
	KUNIT_EXPECT_EQ(test, sched_cache_limit(8, 101), U64_MAX);
	KUNIT_EXPECT_EQ(test, sched_cache_limit(8, 1U << 31), U64_MAX);
	KUNIT_EXPECT_EQ(test, sched_cache_limit(8, U32_MAX), U64_MAX);
	KUNIT_EXPECT_EQ(test, sched_cache_limit(1ULL << 33, 99), 99ULL << 33);
	KUNIT_EXPECT_EQ(test, sched_cache_limit(U64_MAX / 2, 3), U64_MAX);
}

/* "Fits" is the LLC's cores: not less by a margin, not its SMT siblings. */
static void threads_fit_the_cores(struct kunit *test)
{
	static const struct { unsigned int cpus, smt, fit; } llc[] = {
		{ 4, 4, 1 }, { 4, 8, 1 }, { 8, 1, 8 }, { 8, 2, 4 }, { 16, 2, 8 },
		{ 32, 2, 16 }, { 60, 2, 30 }, { 64, 1, 64 }, { 128, 2, 64 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(llc); i++) {
		/* As llc_update_cores() counts: a core that is cut counts. */
		unsigned int cores = DIV_ROUND_UP(llc[i].cpus, llc[i].smt);

		KUNIT_EXPECT_EQ(test, cores, llc[i].fit);
		KUNIT_EXPECT_TRUE(test, sched_cache_threads_fit(CPUS(cores), cores, 1, false));
		KUNIT_EXPECT_TRUE(test, sched_cache_threads_fit(CPUS(cores), cores, 1, true));
		KUNIT_EXPECT_FALSE(test, sched_cache_threads_fit(CPUS(cores + 1), cores, 1, true));
		KUNIT_EXPECT_FALSE(test, sched_cache_threads_fit(CPUS(cores + 1), cores, 1, false));
		/* Twice the tolerance, twice the threads. */
		KUNIT_EXPECT_TRUE(test, sched_cache_threads_fit(CPUS(2 * cores), cores, 2, false));
		KUNIT_EXPECT_FALSE(test,
				   sched_cache_threads_fit(CPUS(2 * cores + 1), cores, 2, true));
	}
}

static void threads_gate_has_a_dead_band(struct kunit *test)
{
	u32 running;

	for (running = 0; running < CPUS(9); running++) {
		bool opens = sched_cache_threads_fit(running, 6, 1, false);
		bool stays = sched_cache_threads_fit(running, 6, 1, true);

		KUNIT_EXPECT_EQ(test, opens, running <= CPUS(6) + CPUS(1) / 8);
		KUNIT_EXPECT_EQ(test, stays, running <= CPUS(6) + CPUS(1) / 2);
	}
}

static void tolerance_extremes(struct kunit *test)
{
	static const unsigned int any[] = { 100, 101, 1U << 31, U32_MAX };
	int i;

	KUNIT_EXPECT_FALSE(test, sched_cache_threads_fit(0, 8, 0, true));
	KUNIT_EXPECT_FALSE(test, sched_cache_footprint_fits(0, 1 << 20, 0, true));
	KUNIT_EXPECT_FALSE(test, sched_cache_footprint_fits(0, 0, 0, true));
	for (i = 0; i < ARRAY_SIZE(any); i++) {
		KUNIT_EXPECT_TRUE(test, sched_cache_threads_fit(U32_MAX, 1, any[i], false));
		KUNIT_EXPECT_TRUE(test, sched_cache_footprint_fits(U64_MAX, 1, any[i], false));
	}
	KUNIT_EXPECT_TRUE(test, sched_cache_threads_fit(CPUS(99), 1, 99, false));
	KUNIT_EXPECT_FALSE(test, sched_cache_threads_fit(CPUS(100), 1, 99, true));
}

static void footprint_fits_the_cache(struct kunit *test)
{
	const u64 mib = 1 << 20;

	KUNIT_EXPECT_TRUE(test, sched_cache_footprint_fits(32 * mib, 32 * mib, 1, false));
	KUNIT_EXPECT_FALSE(test, sched_cache_footprint_fits(32 * mib + 1, 32 * mib, 1, false));
	/* An open gate stays open for another eighth. */
	KUNIT_EXPECT_TRUE(test, sched_cache_footprint_fits(36 * mib, 32 * mib, 1, true));
	KUNIT_EXPECT_FALSE(test, sched_cache_footprint_fits(36 * mib + 1, 32 * mib, 1, true));
	KUNIT_EXPECT_TRUE(test, sched_cache_footprint_fits(64 * mib, 32 * mib, 2, false));
	/* No information on the cache: no reason not to. */
	KUNIT_EXPECT_TRUE(test, sched_cache_footprint_fits(U64_MAX, 0, 1, false));
	/* 1 GiB of stacked cache and the greatest tolerance that still judges */
	KUNIT_EXPECT_TRUE(test, sched_cache_footprint_fits(99ULL << 30, 1ULL << 30, 99, false));
	KUNIT_EXPECT_FALSE(test, sched_cache_footprint_fits(U64_MAX, 1ULL << 30, 99, true));
}

/*
 * The decision table of Documentation/scheduler/sched-cache.rst: what others
 * want, what the group needs, cores, thresholds, room.
 */
static void decision_table(struct kunit *test)
{
	static const struct {
		u32 others, need;
		unsigned int cores, overaggr_pct, imb_pct;
		enum sched_cache_room room;
	} row[] = {
		/* six cores and the default thresholds: 6.5 and 7.7 */
		{ CPUS(0), CPUS(4), 6, 100, 20, SCHED_CACHE_ENTER },
		{ CPUS(0), CPUS(6), 6, 100, 20, SCHED_CACHE_ENTER },
		{ CPUS(2), CPUS(4), 6, 100, 20, SCHED_CACHE_ENTER },
		{ CPUS(0), CPUS(7), 6, 100, 20, SCHED_CACHE_KEEP },
		{ CPUS(3), CPUS(4), 6, 100, 20, SCHED_CACHE_KEEP },
		{ CPUS(4), CPUS(4), 6, 100, 20, SCHED_CACHE_FULL },
		{ CPUS(12), CPUS(4), 6, 100, 20, SCHED_CACHE_FULL },
		/* half of it to be left free: 3.5 and 4.7 */
		{ CPUS(0), CPUS(3), 6, 50, 20, SCHED_CACHE_ENTER },
		{ CPUS(0), CPUS(4), 6, 50, 20, SCHED_CACHE_KEEP },
		{ CPUS(1), CPUS(4), 6, 50, 20, SCHED_CACHE_FULL },
		/* no dead band */
		{ CPUS(0), CPUS(6), 6, 100, 0, SCHED_CACHE_ENTER },
		{ CPUS(0), CPUS(7), 6, 100, 0, SCHED_CACHE_FULL },
		/* thirty cores */
		{ CPUS(0), CPUS(30), 30, 100, 20, SCHED_CACHE_ENTER },
		{ CPUS(0), CPUS(36), 30, 100, 20, SCHED_CACHE_KEEP },
		{ CPUS(0), CPUS(37), 30, 100, 20, SCHED_CACHE_FULL },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(row); i++)
		KUNIT_EXPECT_EQ_MSG(test, row[i].room,
				    sched_cache_room(row[i].others, row[i].need,
						     row[i].cores, row[i].overaggr_pct,
						     row[i].imb_pct), "row %d", i);
}

/* Entering needs more room than staying, whatever the thresholds. */
static void what_may_enter_is_kept(struct kunit *test)
{
	static const unsigned int pct[] = { 0, 1, 20, 50, 99, 100 };
	static const unsigned int cores[] = { 0, 1, 4, 6, 60, 8192 };
	enum sched_cache_room room, last;
	int c, o, i;
	u32 sum;

	for (c = 0; c < ARRAY_SIZE(cores); c++) {
		for (o = 0; o < ARRAY_SIZE(pct); o++) {
			for (i = 0; i < ARRAY_SIZE(pct); i++) {
				last = SCHED_CACHE_ENTER;
				for (sum = 0; sum < CPUS(130); sum += PERCENT(37)) {
					room = sched_cache_room(sum / 3, sum - sum / 3,
								cores[c], pct[o], pct[i]);
					/* never more room when more is wanted */
					KUNIT_EXPECT_LE(test, room, last);
					last = room;
				}
			}
		}
	}
}

static void room_does_not_overflow(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, SCHED_CACHE_ENTER,
			sched_cache_room(U32_MAX, U32_MAX, U64_MAX, 100, 100));
	KUNIT_EXPECT_EQ(test, SCHED_CACHE_FULL,
			sched_cache_room(U32_MAX, U32_MAX, 8192, 100, 100));
	KUNIT_EXPECT_EQ(test, SCHED_CACHE_FULL, sched_cache_room(0, CPUS(1), 0, 100, 100));
	KUNIT_EXPECT_EQ(test, SCHED_CACHE_ENTER, sched_cache_room(0, 0, 0, 0, 0));
}

static void one_wait_for_two_cores_an_epoch_is_borne(struct kunit *test)
{
	static const struct {
		u32 waits, epochs;
		unsigned int cores, tolerance, busy;
	} row[] = {
		{ 0, 1, 6, 1, 0 }, { 3, 1, 6, 1, 0 }, { 4, 1, 6, 1, 1 },
		{ 6, 2, 6, 1, 0 }, { 7, 2, 6, 1, 1 }, { 6, 1, 6, 2, 0 },
		{ 15, 1, 6, 1, 1 }, { 16, 1, 6, 1, 2 }, { 27, 2, 6, 1, 1 },
		{ 28, 2, 6, 1, 2 }, { 3, 0, 6, 1, 0 }, { 4, 0, 6, 1, 1 },
		{ 1, 1, 1, 1, 0 }, { 2, 1, 1, 1, 1 }, { 2, 1, 3, 1, 0 },
		{ U32_MAX, 1, 6, 1, 2 }, { U32_MAX, 1, 6, 100, 0 },
		{ U32_MAX, U32_MAX, 8192, 99, 0 }, { 1, 5, 0, 1, 1 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(row); i++)
		KUNIT_EXPECT_EQ_MSG(test, row[i].busy,
				    sched_cache_too_busy(row[i].waits, row[i].epochs,
							 row[i].cores, row[i].tolerance),
				    "row %d", i);
}

static void waiting_puts_off_longer_each_time(struct kunit *test)
{
	struct sched_cache_busy b = {};
	u32 epoch = U32_MAX - 100, want;
	int i;

	/* A moment is no reason. */
	KUNIT_EXPECT_FALSE(test, sched_cache_busy_step(&b, epoch, 1));
	KUNIT_EXPECT_FALSE(test, sched_cache_busy_step(&b, epoch, 0));
	KUNIT_EXPECT_FALSE(test, sched_cache_busy_step(&b, epoch, 1));
	KUNIT_EXPECT_TRUE(test, sched_cache_busy_step(&b, epoch, 1));
	KUNIT_EXPECT_EQ(test, b.retry - epoch, SCHED_CACHE_BACKOFF_MIN);

	/* Also where the epoch wraps. */
	want = SCHED_CACHE_BACKOFF_MIN;
	for (i = 0; i < 10; i++) {
		epoch = b.retry + 1;
		want = min(2 * want, SCHED_CACHE_BACKOFF_MAX);
		KUNIT_EXPECT_FALSE(test, sched_cache_busy_step(&b, epoch, 1));
		KUNIT_EXPECT_TRUE(test, sched_cache_busy_step(&b, epoch + 1, 1));
		KUNIT_EXPECT_EQ(test, b.retry - epoch - 1, want);

		/* Nobody has to count until shortly before the end. */
		KUNIT_EXPECT_FALSE(test, sched_cache_busy_soon(&b, epoch + 1));
		KUNIT_EXPECT_FALSE(test, sched_cache_busy_soon(&b, b.retry - 5));
		KUNIT_EXPECT_TRUE(test, sched_cache_busy_soon(&b, b.retry - 4));
		KUNIT_EXPECT_TRUE(test, sched_cache_busy_soon(&b, b.retry + 1));
	}

	/* Forgotten after as long a time without. */
	epoch = b.retry + want;
	KUNIT_EXPECT_FALSE(test, sched_cache_busy_step(&b, epoch, 0));
	KUNIT_EXPECT_EQ(test, b.backoff, want);
	KUNIT_EXPECT_FALSE(test, sched_cache_busy_step(&b, epoch + 1, 0));
	KUNIT_EXPECT_EQ(test, b.backoff, 0);

	/* Far too many: no second look. */
	KUNIT_EXPECT_TRUE(test, sched_cache_busy_step(&b, epoch, 2));
	KUNIT_EXPECT_EQ(test, b.backoff, SCHED_CACHE_BACKOFF_MIN);
}

static void election_needs_twice_the_occupancy(struct kunit *test)
{
	static const struct {
		struct sched_cache_cand cand[3];
		int cur, winner;
	} row[] = {
		/* none yet: most occupancy, of equals the first */
		{ { { NULL, 10, true }, { NULL, 30, true }, { NULL, 20, true } }, -1, 1 },
		{ { { NULL, 10, true }, { NULL, 10, true }, { NULL, 10, true } }, -1, 0 },
		/* the current one stays up to twice its occupancy */
		{ { { NULL, 10, true }, { NULL, 20, true }, { NULL, 0, true } }, 0, 0 },
		{ { { NULL, 10, true }, { NULL, 21, true }, { NULL, 0, true } }, 0, 1 },
		{ { { NULL, 0, true }, { NULL, 1, true }, { NULL, 0, true } }, 0, 1 },
		{ { { NULL, 0, true }, { NULL, 0, true }, { NULL, 0, true } }, 2, 2 },
		{ { { NULL, U32_MAX, true }, { NULL, U32_MAX, true }, { NULL, 0, true } }, 1, 1 },
		/* no room: does not count, whoever it is */
		{ { { NULL, 10, true }, { NULL, 90, false }, { NULL, 5, true } }, 0, 0 },
		{ { { NULL, 90, false }, { NULL, 5, true }, { NULL, 1, true } }, 0, 1 },
		{ { { NULL, 90, false }, { NULL, 5, false }, { NULL, 1, false } }, 0, -1 },
		{ { { NULL, 90, false }, { NULL, 5, false }, { NULL, 1, false } }, -1, -1 },
		/* of those that are within the factor the one that others want least */
		{ { { NULL, 20, true, 0, 9 }, { NULL, 10, true, 0, 8 },
		    { NULL, 9, true, 0, 0 } }, -1, 1 },
		{ { { NULL, 10, true, 0, 9 }, { NULL, 10, true, 0, 8 },
		    { NULL, 10, true, 0, 7 } }, -1, 2 },
		{ { { NULL, 10, true, 0, 9 }, { NULL, 10, false, 0, 0 },
		    { NULL, 4, true, 0, 0 } }, -1, 0 },
		{ { { NULL, 10, true, 0, 9 }, { NULL, 20, true, 0, 0 },
		    { NULL, 0, true, 0, 0 } }, 0, 0 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(row); i++)
		KUNIT_EXPECT_EQ_MSG(test, row[i].winner,
				    sched_cache_elect(row[i].cand, 3, row[i].cur),
				    "row %d", i);
	KUNIT_EXPECT_EQ(test, -1, sched_cache_elect(NULL, 0, -1));
}

/*
 * What goes before locality. A task that nobody else knows, of a group whose
 * preferred LLC is that of CPU home; CPU away is in another one.
 */
struct scene {
	struct task_struct		*p;
	struct sched_cache_group	*grp;
	struct sched_cache_llc		*llc;
	int				home, away;
};

static void scene_end(void *grp)
{
	sched_cache_group_free(grp);
}

static void scene_begin(struct kunit *test, struct scene *s)
{
	int cpu;

	*s = (struct scene) { .home = -1, .away = cpumask_first(cpu_online_mask) };
	for_each_online_cpu(cpu) {
		s->llc = READ_ONCE(per_cpu(sched_cache_llc, cpu));
		if (s->llc && s->llc != READ_ONCE(per_cpu(sched_cache_llc, s->away)))
			s->home = cpu;
	}
	if (s->home < 0 || !READ_ONCE(per_cpu(sched_cache_llc, s->away)))
		kunit_skip(test, "needs two LLCs");
	s->llc = READ_ONCE(per_cpu(sched_cache_llc, s->home));

	s->p = kunit_kzalloc(test, sizeof(*s->p), GFP_KERNEL);
	s->grp = sched_cache_group_alloc();
	KUNIT_ASSERT_NOT_NULL(test, s->p);
	KUNIT_ASSERT_NOT_NULL(test, s->grp);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, scene_end, s->grp));

	s->grp->pref = s->llc;
	s->grp->room = SCHED_CACHE_ENTER;
	RCU_INIT_POINTER(s->p->cache.group, s->grp);
	cpumask_copy(&s->p->cpus_mask, cpu_possible_mask);
	s->p->cpus_ptr = &s->p->cpus_mask;
	s->p->nr_cpus_allowed = cpumask_weight(cpu_possible_mask);
#ifdef CONFIG_NUMA_BALANCING
	s->p->numa_preferred_nid = NUMA_NO_NODE;
#endif
}

static int target(struct scene *s, int prev, int new)
{
	guard(rcu)();
	return sched_cache_target(s->p, prev, new);
}

static bool keep(struct scene *s, int src, int dst)
{
	guard(rcu)();
	return sched_cache_keep(s->p, src, dst);
}

static bool at_home(struct scene *s, int cpu)
{
	return cpu >= 0 && cpumask_test_cpu(cpu, to_cpumask(s->llc->cpus));
}

static void room_decides_who_comes_home(struct kunit *test)
{
	struct scene s;

	scene_begin(test, &s);
	/* from elsewhere, and as a new task */
	KUNIT_EXPECT_TRUE(test, at_home(&s, target(&s, s.away, s.away)));
	KUNIT_EXPECT_TRUE(test, at_home(&s, target(&s, s.away, -1)));
	/* there already, or about to be */
	KUNIT_EXPECT_EQ(test, target(&s, s.away, s.home), -1);
	KUNIT_EXPECT_EQ(test, target(&s, s.home, s.away), s.home);
	KUNIT_EXPECT_TRUE(test, keep(&s, s.home, s.away));

	s.grp->room = SCHED_CACHE_KEEP;
	KUNIT_EXPECT_EQ(test, target(&s, s.away, s.away), -1);
	KUNIT_EXPECT_EQ(test, target(&s, s.away, -1), -1);
	KUNIT_EXPECT_EQ(test, target(&s, s.home, -1), -1);
	KUNIT_EXPECT_EQ(test, target(&s, s.home, s.away), s.home);
	KUNIT_EXPECT_TRUE(test, keep(&s, s.home, s.away));

	s.grp->room = SCHED_CACHE_FULL;
	KUNIT_EXPECT_EQ(test, target(&s, s.away, s.away), -1);
	KUNIT_EXPECT_EQ(test, target(&s, s.home, s.away), -1);
	KUNIT_EXPECT_FALSE(test, keep(&s, s.home, s.away));

	s.grp->room = SCHED_CACHE_ENTER;
	s.grp->pref = NULL;
	KUNIT_EXPECT_EQ(test, target(&s, s.away, s.away), -1);
	KUNIT_EXPECT_FALSE(test, keep(&s, s.home, s.away));
	RCU_INIT_POINTER(s.p->cache.group, NULL);
	KUNIT_EXPECT_EQ(test, target(&s, s.away, s.away), -1);
	KUNIT_EXPECT_FALSE(test, keep(&s, s.home, s.away));
}

static void keep_is_about_leaving_home(struct kunit *test)
{
	struct scene s;
	int cpu;

	scene_begin(test, &s);
	KUNIT_EXPECT_FALSE(test, keep(&s, s.away, s.home));
	for_each_cpu(cpu, to_cpumask(s.llc->cpus))
		KUNIT_EXPECT_FALSE(test, keep(&s, s.home, cpu));
}

static int spin(void *unused)
{
	while (!kthread_should_stop())
		cond_resched();
	return 0;
}

/* Returns NULL if there is no such thread. */
static struct task_struct *spin_on(struct kunit *test, int cpu)
{
	struct task_struct *t = kthread_create(spin, NULL, "sched_cache_spin");

	if (IS_ERR(t)) {
		KUNIT_FAIL(test, "no thread: %ld", PTR_ERR(t));
		return NULL;
	}
	kthread_bind(t, cpu);
	wake_up_process(t);
	return t;
}

/* Until @nr tasks are on @cpu; what else there is to do on it takes a moment. */
static bool tasks_are(int cpu, unsigned int nr)
{
	int i;

	for (i = 0; i < 50 && READ_ONCE(cpu_rq(cpu)->nr_running) != nr; i++)
		msleep(20);
	return READ_ONCE(cpu_rq(cpu)->nr_running) == nr;
}

/* A task that waits may go to an idle CPU elsewhere, unless one at home is idle. */
static void waiting_goes_before_locality(struct kunit *test)
{
	struct task_struct *first, *second, *t, **others;
	int cpu, last = -1, nr = 0, i;
	struct scene s;

	scene_begin(test, &s);
	KUNIT_ASSERT_EQ(test, 0, set_cpus_allowed_ptr(current, cpumask_of(s.away)));
	others = kunit_kcalloc(test, nr_cpu_ids, sizeof(*others), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, others);

	for_each_cpu(cpu, to_cpumask(s.llc->cpus)) {
		if (cpu == s.home)
			continue;
		t = spin_on(test, cpu);
		if (!t)
			continue;
		others[nr++] = t;
		KUNIT_EXPECT_TRUE(test, tasks_are(cpu, 1));
		last = cpu;
	}
	first = spin_on(test, s.home);
	KUNIT_EXPECT_TRUE(test, tasks_are(s.home, 1));
	KUNIT_EXPECT_TRUE(test, keep(&s, s.home, s.away));
	second = spin_on(test, s.home);
	KUNIT_EXPECT_TRUE(test, tasks_are(s.home, 2));
	KUNIT_EXPECT_FALSE(test, keep(&s, s.home, s.away));

	if (nr) {
		kthread_stop(others[--nr]);
		KUNIT_EXPECT_TRUE(test, tasks_are(last, 0));
		KUNIT_EXPECT_TRUE(test, tasks_are(s.home, 2));
		KUNIT_EXPECT_TRUE(test, keep(&s, s.home, s.away));
	}

	for (i = 0; i < nr; i++)
		kthread_stop(others[i]);
	if (first)
		kthread_stop(first);
	if (second)
		kthread_stop(second);
}

static void affinity_goes_before_locality(struct kunit *test)
{
	struct scene s;

	scene_begin(test, &s);
	cpumask_andnot(&s.p->cpus_mask, cpu_possible_mask, to_cpumask(s.llc->cpus));
	KUNIT_EXPECT_EQ(test, target(&s, s.away, s.away), -1);
	KUNIT_EXPECT_EQ(test, target(&s, s.away, -1), -1);

	/* one CPU of it, and then not the one where the task was */
	cpumask_set_cpu(s.home, &s.p->cpus_mask);
	KUNIT_EXPECT_EQ(test, target(&s, s.away, s.away), s.home);
	KUNIT_EXPECT_EQ(test, target(&s, s.home, s.away), s.home);
	/* it cannot rely on the room of an LLC that it may not use */
	if (cpumask_weight(to_cpumask(s.llc->cpus)) > 1)
		KUNIT_EXPECT_FALSE(test, keep(&s, s.home, s.away));
}

/* Misfit tasks there are only where capacities differ. */
static void capacity_and_misfit_go_before_locality(struct kunit *test)
{
	struct scene s;

	scene_begin(test, &s);
	static_branch_inc(&sched_asym_cpucapacity);
	KUNIT_EXPECT_EQ(test, target(&s, s.away, s.away), -1);
	KUNIT_EXPECT_EQ(test, target(&s, s.away, -1), -1);
	KUNIT_EXPECT_FALSE(test, keep(&s, s.home, s.away));
	static_branch_dec(&sched_asym_cpucapacity);
	KUNIT_EXPECT_TRUE(test, at_home(&s, target(&s, s.away, s.away)));
	KUNIT_EXPECT_TRUE(test, keep(&s, s.home, s.away));
}

/* Who waits where: at home, or while the group has no home for that reason. */
static void waits_count_where_gathering_matters(struct kunit *test)
{
	struct signal_struct *signal;
	struct scene s;
	int cpus[2], i;

	scene_begin(test, &s);
	signal = kunit_kzalloc(test, sizeof(*signal), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, signal);
	s.p->signal = signal;
	cpus[0] = s.home;
	cpus[1] = s.away;
	guard(rcu)();
	for (i = 0; i < 2; i++) {
		__sched_cache_waits(s.grp, s.p, cpus[i]);
		KUNIT_EXPECT_EQ(test, atomic_xchg(&s.grp->waits, 0), !i);
	}

	/* So many that the scan need not be waited for, unless the process wants it. */
	signal->sched_cache_mode = PR_SCHED_CACHE_ALWAYS;
	for (i = 0; i < 100 * s.llc->nr_cores; i++)
		__sched_cache_waits(s.grp, s.p, s.home);
	KUNIT_EXPECT_EQ(test, s.grp->room, SCHED_CACHE_ENTER);
	signal->sched_cache_mode = PR_SCHED_CACHE_DEFAULT;
	__sched_cache_waits(s.grp, s.p, s.home);
	KUNIT_EXPECT_EQ(test, s.grp->room, SCHED_CACHE_FULL);
	atomic_set(&s.grp->waits, 0);

	s.grp->pref = NULL;
	__sched_cache_waits(s.grp, s.p, s.away);
	KUNIT_EXPECT_EQ(test, atomic_read(&s.grp->waits), 1);
	/* No more than it takes. */
	for (i = 0; i < 8 * nr_cpu_ids; i++)
		__sched_cache_waits(s.grp, s.p, s.away);
	KUNIT_EXPECT_EQ(test, atomic_read(&s.grp->waits), 4 * nr_cpu_ids + 1);
}

static void numa_node_goes_before_locality(struct kunit *test)
{
	struct scene s;

	if (!IS_ENABLED(CONFIG_NUMA_BALANCING))
		kunit_skip(test, "needs CONFIG_NUMA_BALANCING");
	scene_begin(test, &s);
#ifdef CONFIG_NUMA_BALANCING
	s.p->numa_preferred_nid = s.llc->nid + 1;
	static_branch_inc(&sched_numa_balancing);
	KUNIT_EXPECT_EQ(test, target(&s, s.away, s.away), -1);
	KUNIT_EXPECT_TRUE(test, s.grp->objection);
	KUNIT_EXPECT_FALSE(test, keep(&s, s.home, s.away));
	s.p->numa_preferred_nid = s.llc->nid;
	KUNIT_EXPECT_TRUE(test, at_home(&s, target(&s, s.away, s.away)));
	KUNIT_EXPECT_TRUE(test, keep(&s, s.home, s.away));
	/* What it wanted before it was switched off does not count. */
	s.p->numa_preferred_nid = s.llc->nid + 1;
	static_branch_dec(&sched_numa_balancing);
	if (!static_branch_unlikely(&sched_numa_balancing))
		KUNIT_EXPECT_TRUE(test, at_home(&s, target(&s, s.away, s.away)));
#endif
}

/* Give a CPU a priority, or take it away. */
static void prefer(int cpu, int prio)
{
#if defined(CONFIG_X86) && defined(CONFIG_SCHED_MC_PRIO)
	sched_set_itmt_core_prio(prio, cpu);
#endif
}

static bool objects(int src, int dst)
{
	guard(rcu)();
	return packing_objects(src, dst);
}

/* A domain with SD_ASYM_PACKING for one CPU, as long as the test runs. */
static void packing_goes_before_locality(struct kunit *test)
{
	struct sched_domain *sd, *old;
	struct scene s;

	scene_begin(test, &s);
	sd = kunit_kzalloc(test, sizeof(*sd) + cpumask_size(), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sd);
	cpumask_copy(sched_domain_span(sd), cpu_possible_mask);
	prefer(s.away, 1);
	if (!sched_asym_prefer(s.away, s.home))
		kunit_skip(test, "needs CPUs with priorities");

	KUNIT_EXPECT_FALSE(test, objects(s.away, s.home));
	old = rcu_replace_pointer(per_cpu(sd_asym_packing, s.away), sd, true);
	KUNIT_EXPECT_TRUE(test, objects(s.away, s.home));
	KUNIT_EXPECT_FALSE(test, objects(s.home, s.away));
	/* A CPU that the domain does not span takes nothing back. */
	cpumask_clear_cpu(s.home, sched_domain_span(sd));
	KUNIT_EXPECT_FALSE(test, objects(s.away, s.home));
	rcu_assign_pointer(per_cpu(sd_asym_packing, s.away), old);
	synchronize_rcu();
	prefer(s.away, 0);
}

static struct kunit_case sched_cache_place_cases[] = {
	KUNIT_CASE(decay_halves_once_per_epoch),
	KUNIT_CASE(constant_input_reads_itself),
	KUNIT_CASE(limit_saturates),
	KUNIT_CASE(threads_fit_the_cores),
	KUNIT_CASE(threads_gate_has_a_dead_band),
	KUNIT_CASE(tolerance_extremes),
	KUNIT_CASE(footprint_fits_the_cache),
	KUNIT_CASE(decision_table),
	KUNIT_CASE(what_may_enter_is_kept),
	KUNIT_CASE(room_does_not_overflow),
	KUNIT_CASE(one_wait_for_two_cores_an_epoch_is_borne),
	KUNIT_CASE(waiting_puts_off_longer_each_time),
	KUNIT_CASE(election_needs_twice_the_occupancy),
	KUNIT_CASE(room_decides_who_comes_home),
	KUNIT_CASE(keep_is_about_leaving_home),
	KUNIT_CASE(waiting_goes_before_locality),
	KUNIT_CASE(affinity_goes_before_locality),
	KUNIT_CASE(capacity_and_misfit_go_before_locality),
	KUNIT_CASE(numa_node_goes_before_locality),
	KUNIT_CASE(packing_goes_before_locality),
	KUNIT_CASE(waits_count_where_gathering_matters),
	{}
};

static struct kunit_suite sched_cache_place_suite = {
	.name		= "sched_cache_place",
	.test_cases	= sched_cache_place_cases,
};

kunit_test_suite(sched_cache_place_suite);
