// SPDX-License-Identifier: GPL-2.0
/*
 * Cache-aware load balancing: the scan, which elects a group's preferred LLC.
 */
#include <linux/mempolicy.h>
#include <linux/mmu_context.h>
#include <linux/sched/clock.h>

#include "sched.h"

#include <trace/events/sched_cache.h>

/**
 * sched_cache_may_scan - may a thread decide for its group
 * @p: the thread
 * @llc: the LLC it is in, NULL if none
 *
 * Return: false for one that cannot leave its LLC, or its isolated CPU: it does
 * not know where the others could go.
 */
bool sched_cache_may_scan(struct task_struct *p, struct sched_cache_llc *llc)
{
	return llc && p->nr_cpus_allowed > 1 &&
	       !cpumask_subset(p->cpus_ptr, to_cpumask(llc->cpus));
}

/* What a scan found. */
struct scan {
	struct sched_cache_cand	cand[SCHED_CACHE_MAX_VISITED];
	int			nr, cur;	/* LLCs; index of the preferred one */
	unsigned int		cpus, skipped, evicted;
	u32			epoch, window;
	u64			occ;
	enum sched_cache_gate	gate;
	enum sched_cache_room	room;
};

static void scan_add(struct scan *s, struct sched_cache_llc *llc, u32 occ)
{
	int i;

	/* Neighbours have neighbouring numbers: most often the last one. */
	for (i = s->nr - 1; i >= 0; i--) {
		if (s->cand[i].llc == llc) {
			s->cand[i].occ += occ;
			return;
		}
	}
	if (s->nr == SCHED_CACHE_MAX_VISITED) {
		s->skipped++;
		return;
	}
	s->cand[s->nr++] = (struct sched_cache_cand) { .llc = llc, .occ = occ };
}

static void scan_cpus(struct sched_cache_group *grp, struct scan *s)
{
	const struct cpumask *cpus = sched_feat(SC_VISIT) ?
		to_cpumask(grp->visited) : cpu_online_mask;
	u32 timeout = READ_ONCE(sched_cache_timeout);
	struct sched_cache_llc *llc;
	int cpu;

	for_each_cpu(cpu, cpus) {
		u64 word = READ_ONCE(*per_cpu_ptr(grp->slots, cpu));
		u32 occ;

		s->cpus++;
		if (s->epoch - sched_cache_word_epoch(word) > timeout) {
			if (test_bit(cpu, grp->visited)) {
				clear_bit(cpu, grp->visited);
				s->evicted++;
			}
			continue;
		}

		occ = sched_cache_word_occ(word, s->epoch);
		llc = READ_ONCE(per_cpu(sched_cache_llc, cpu));
		/* An isolated CPU is in no LLC, and its threads go nowhere. */
		if (!llc) {
			s->skipped++;
			continue;
		}
		s->occ += occ;
		scan_add(s, llc, occ);
	}
}

/* The node on which NUMA balancing wants most threads of current's process, of some. */
static int node_of_most(void)
{
	int nid = NUMA_NO_NODE;
#ifdef CONFIG_NUMA_BALANCING
	int n, lead = 0, asked = 0;
	struct task_struct *t;

	guard(rcu)();
	for_each_thread(current, t) {
		if (++asked > SCHED_CACHE_NODE_VOTES)
			break;
		n = READ_ONCE(t->numa_preferred_nid);
		if (n == NUMA_NO_NODE)
			continue;
		/* A majority is what is left when each vote takes another one away. */
		if (!lead)
			nid = n;
		lead += n == nid ? 1 : -1;
	}
#endif
	return nid;
}

/*
 * Tasks that NUMA balancing wants on another node than that of the preferred LLC do
 * not come home. If that is most of them it is the LLC that is wrong. What is decided
 * here holds for a while, so that the group does not go to and fro.
 */
static void follow_tasks_to_node(struct sched_cache_group *grp, u32 epoch)
{
	bool objection = READ_ONCE(grp->objection);

	if (objection)
		WRITE_ONCE(grp->objection, false);
	if (grp->node != NUMA_NO_NODE && (s32)(grp->node_until - epoch) > 0)
		return;

	grp->node = NUMA_NO_NODE;
	grp->node_until = epoch;
	if (objection) {
		grp->node = node_of_most();
		grp->node_until = epoch + SCHED_CACHE_NODE_EPOCHS;
	}
#ifdef CONFIG_NUMA_BALANCING
	else if (!grp->pref && static_branch_unlikely(&sched_numa_balancing)) {
		/* One for all, for a first guess. */
		grp->node = READ_ONCE(current->numa_preferred_nid);
	}
#endif
}

/* Memory that is bound to nodes does not follow, or NUMA balancing has decided. */
static bool node_allows(struct sched_cache_group *grp, struct sched_cache_llc *llc)
{
#ifdef CONFIG_NUMA
	struct mempolicy *pol = current->mempolicy;

	if (grp->node != NUMA_NO_NODE && grp->node != llc->nid)
		return false;
	return !pol || pol->mode != MPOL_BIND || node_isset(llc->nid, pol->nodes);
#else
	return true;
#endif
}

/*
 * Demand for an LLC by everybody else, 1/1024 task. Tasks that have a
 * preference count where they want to be, the others where they are. @own: what
 * this group added to the latter in the last epochs.
 */
static u32 llc_others(struct sched_cache_group *grp, struct sched_cache_llc *llc,
		      u32 epoch, u32 own)
{
	u32 stray = sched_cache_acc_average(&llc->stray, epoch);
	u32 before = sched_cache_acc_read(&llc->claim, epoch - 1);
	u32 now = sched_cache_acc_read(&llc->claim, epoch);

	stray -= min(stray, own);
	if (llc == grp->pref && grp->claim_epoch == epoch - 1)
		before -= min(before, grp->claim);
	return stray + max(before, now);
}

static enum sched_cache_room
llc_room(struct sched_cache_group *grp, struct sched_cache_llc *llc, u32 others)
{
	unsigned int tolerance = sched_cache_tolerance_of(current);

	if (!node_allows(grp, llc))
		return SCHED_CACHE_FULL;
	return sched_cache_room(others, grp->running,
				sched_cache_limit(READ_ONCE(llc->nr_cores), tolerance),
				READ_ONCE(sched_cache_overaggr_pct),
				READ_ONCE(sched_cache_imb_pct));
}

struct search {
	struct sched_cache_group *grp;
	struct sched_cache_llc	*found;
	u32			epoch;
	u32			least;
};

static int search_llc(struct sched_cache_llc *llc, void *arg)
{
	struct search *s = arg;
	u32 others = llc_others(s->grp, llc, s->epoch, 0);

	if (!cpumask_intersects(to_cpumask(llc->cpus), current->cpus_ptr) ||
	    llc_room(s->grp, llc, others) < SCHED_CACHE_ENTER)
		return 0;
	if (!s->found || others < s->least) {
		s->found = llc;
		s->least = others;
	}
	return 0;
}

/* Where the group should live, by occupancy. Sets the room there and the gate. */
static struct sched_cache_llc *choose(struct sched_cache_group *grp, struct scan *s)
{
	struct search search = { .grp = grp, .epoch = s->epoch };
	/* What it added to the strays is not what others want. */
	bool stray = s->epoch - grp->stray_epoch < SCHED_CACHE_HISTORY;
	unsigned int tolerance = sched_cache_tolerance_of(current);
	bool wide = true;
	int i, best;

	s->gate = !tolerance ? SCHED_CACHE_OFF :
		  get_nr_threads(current) < 2 ? SCHED_CACHE_SINGLE :
		  !s->nr ? SCHED_CACHE_NOWHERE : SCHED_CACHE_OPEN;
	if (s->gate != SCHED_CACHE_OPEN)
		return NULL;

	/* The preferred LLC takes part, also while no thread has arrived there. */
	if (grp->pref)
		scan_add(s, grp->pref, 0);

	s->cur = -1;
	for (i = 0; i < s->nr; i++) {
		struct sched_cache_cand *c = &s->cand[i];
		u32 own = stray ? sched_cache_cpus(c->occ, s->window) : 0;
		u32 others = llc_others(grp, c->llc, s->epoch, own);

		c->others = others;
		c->room = llc_room(grp, c->llc, others);
		if (c->llc == grp->pref)
			s->cur = i;
		/* To live there one has to enter first. */
		c->fits = c->room >= (s->cur == i ? SCHED_CACHE_KEEP : SCHED_CACHE_ENTER);
		if (sched_cache_threads_fit(grp->running, READ_ONCE(c->llc->nr_cores),
					    tolerance, grp->pref))
			wide = false;
	}

	if (s->cur < 0 || s->cand[s->cur].fits) {
		grp->crowded = 0;
	} else if (++grp->crowded < SCHED_CACHE_PATIENCE) {
		s->room = SCHED_CACHE_FULL;
		return grp->pref;
	}

	best = sched_cache_elect(s->cand, s->nr, s->cur);
	if (best >= 0) {
		s->room = s->cand[best].room;
		return s->cand[best].llc;
	}

	/*
	 * Filled by others wherever it has been: any LLC will do. One that is
	 * too wide for those will hardly fit another: look less often.
	 */
	if (wide && s->epoch % 16) {
		s->gate = SCHED_CACHE_THREADS;
		return NULL;
	}
	sched_cache_walk_llcs(search_llc, &search);
	s->room = SCHED_CACHE_ENTER;
	if (!search.found)
		s->gate = wide ? SCHED_CACHE_THREADS : SCHED_CACHE_NO_ROOM;
	return search.found;
}

/* Has the group been left waiting, so that it is better left alone for a while? */
static bool busy(struct sched_cache_group *grp, u32 epoch, unsigned int cores,
		 unsigned int tolerance)
{
	u32 waits = atomic_read(&grp->waits), epochs = epoch - grp->waits_epoch;

	grp->waits_epoch = epoch;
	if (waits)
		atomic_set(&grp->waits, 0);
	if (tolerance >= SCHED_CACHE_TOLERANCE_ANY)
		return false;
	/* Put off; when it is time, what has happened meanwhile counts. */
	if (!grp->pref && grp->busy.backoff && (s32)(grp->busy.retry - epoch) > 0)
		return true;
	return sched_cache_busy_step(&grp->busy, epoch,
				     sched_cache_too_busy(waits, epochs, cores, tolerance));
}

/* The gates, each judged against the LLC that the group would live in. */
static enum sched_cache_gate judge(struct sched_cache_group *grp, struct scan *s,
				   struct sched_cache_llc *llc, u64 *footprint)
{
	unsigned int tolerance = sched_cache_tolerance_of(current);
	u64 bytes = READ_ONCE(llc->bytes);
	bool open = grp->pref;
	u64 limit;

	if (!sched_cache_threads_fit(grp->running, READ_ONCE(llc->nr_cores),
				     tolerance, open))
		return SCHED_CACHE_THREADS;
	if (busy(grp, s->epoch, READ_ONCE(llc->nr_cores), tolerance))
		return SCHED_CACHE_BUSY;

	limit = sched_cache_limit(bytes, tolerance);
	if (!bytes || limit == U64_MAX)
		return SCHED_CACHE_OPEN;
	if (!sched_cache_footprint(grp, current->mm, s->epoch, limit, footprint))
		return SCHED_CACHE_NEW;
	if (!sched_cache_footprint_fits(*footprint, bytes, tolerance, open))
		return SCHED_CACHE_FOOTPRINT;
	return SCHED_CACHE_OPEN;
}

/* A group that is younger than the window has seen only part of it. */
static u32 own_window(u32 window, u32 birth_window, u32 age)
{
	return window - min(window, sched_cache_decay(birth_window, age));
}

/*
 * Elect the preferred LLC of current's group. The caller holds grp->scanning.
 * Every gate is judged in every scan, so that what has closed can open again.
 */
static void scan_group(struct sched_cache_group *grp)
{
	struct scan s = {};
	struct sched_cache_llc *pref, *old = grp->pref;
	bool traced = trace_sched_cache_scan_enabled();
	bool stray, count;
	u64 t0 = traced ? local_clock() : 0;
	u64 footprint = 0;
	u32 running;

	s.epoch = sched_cache_clock(&s.window);
	s.window = own_window(s.window, grp->birth_window, s.epoch - grp->birth_epoch);
	follow_tasks_to_node(grp, s.epoch);
	scan_cpus(grp, &s);
	running = sched_cache_cpus(s.occ, s.window);
	/* Charges come late by up to a tick; half a step evens that out. */
	if (grp->gate != SCHED_CACHE_NEW)
		running = DIV_ROUND_UP(grp->running + running, 2);
	WRITE_ONCE(grp->running, running);

	pref = choose(grp, &s);
	if (pref) {
		s.gate = judge(grp, &s, pref, &footprint);
		if (s.gate != SCHED_CACHE_OPEN)
			pref = NULL;
	}

	if (pref) {
		sched_cache_acc_add(&pref->claim, s.epoch, grp->running);
		grp->claim_epoch = s.epoch;
		grp->claim = grp->running;
	}

	stray = !pref && s.gate != SCHED_CACHE_NEW;
	if (stray != grp->stray)
		WRITE_ONCE(grp->stray, stray);
	if (stray)
		grp->stray_epoch = s.epoch;
	count = pref || s.gate == SCHED_CACHE_NEW ||
		(s.gate == SCHED_CACHE_BUSY && sched_cache_busy_soon(&grp->busy, s.epoch));
	if (count != grp->count_waits)
		WRITE_ONCE(grp->count_waits, count);
	if (s.room != grp->room)
		WRITE_ONCE(grp->room, s.room);
	WRITE_ONCE(grp->gate, s.gate);
	if (pref != old) {
		WRITE_ONCE(grp->pref, pref);
		grp->crowded = 0;
		sched_cache_count(SCHED_CACHE_ELECT);
		trace_sched_cache_pref(current, old ? old->id : -1,
				       pref ? pref->id : -1, s.gate);
	}

	sched_cache_count(SCHED_CACHE_SCAN);
	this_cpu_add(sched_cache_stats[SCHED_CACHE_SCAN_CPUS], s.cpus);
	if (traced)
		trace_sched_cache_scan(current, s.cpus, s.skipped, s.evicted, s.nr,
				       local_clock() - t0, grp->running, footprint,
				       pref ? pref->id : -1, s.gate);
}

/**
 * task_cache_work - join, scan, go home
 * @work: current's cache.work
 *
 * Run by a thread on its way to user mode, asked for by __sched_cache_account().
 * One thread of a group scans in an epoch; which one does not matter, and a
 * thread that never gets here holds nobody up.
 */
void task_cache_work(struct callback_head *work)
{
	struct sched_cache_group *grp;
	struct task_struct *p = current;
	struct sched_cache_llc *llc;
	u32 epoch;

	work->next = work;
	/* exit_task_work() comes after exit_mm(). */
	if (p->flags & PF_EXITING)
		return;

	grp = rcu_dereference_protected(p->cache.group, p == current);
	/* Asked again: it may have gone through exec in between. */
	if (!grp && get_nr_threads(p) > 1)
		grp = sched_cache_group_join(p);
	if (!grp)
		return;

	if (sched_cache_mode(p) == PR_SCHED_CACHE_NEVER) {
		rcu_assign_pointer(p->cache.group, NULL);
		return;
	}

	epoch = sched_cache_epoch();
	llc = READ_ONCE(per_cpu(sched_cache_llc, raw_smp_processor_id()));
	if (READ_ONCE(grp->scan_epoch) != epoch && sched_cache_may_scan(p, llc) &&
	    !test_and_set_bit_lock(0, &grp->scanning)) {
		if (grp->scan_epoch != epoch) {
			WRITE_ONCE(grp->scan_epoch, epoch);
			scan_group(grp);
		}
		clear_bit_unlock(0, &grp->scanning);
	}

	sched_cache_go_home(p);
}

#ifdef CONFIG_SCHED_CACHE_KUNIT_TEST
#include "tests/cache_scan_test.c"
#endif
