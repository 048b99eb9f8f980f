// SPDX-License-Identifier: GPL-2.0
/*
 * Cache-aware load balancing: policy.
 *
 * The first half of this file is arithmetic: gates and decisions as functions
 * of numbers, which the KUnit suite checks by table. The second half collects
 * those numbers for the wakeup, fork and balance paths of fair.c and for tasks
 * that bring themselves home.
 *
 * All paths go by one decision, sched_cache_room(), which the scan takes once
 * an epoch for the whole group: what may enter the preferred LLC, and what is
 * kept there, so that no path undoes what another one did.
 */
#include <linux/mmu_context.h>

#include "sched.h"

#include <trace/events/sched_cache.h>

/**
 * sched_cache_decay - occupancy after some epochs without any runtime
 * @occ: occupancy, units of 1024 ns
 * @epochs: how many epochs have passed
 *
 * Return: @occ halved @epochs times.
 */
u32 sched_cache_decay(u32 occ, u32 epochs)
{
	return epochs < 32 ? occ >> epochs : 0;
}

/**
 * sched_cache_word_occ - what is left now of an occupancy word
 * @word: the word
 * @epoch: the epoch of now
 *
 * Return: occupancy, units of 1024 ns.
 */
u32 sched_cache_word_occ(u64 word, u32 epoch)
{
	return sched_cache_decay((u32)word, epoch - sched_cache_word_epoch(word));
}

/**
 * sched_cache_cpus - number of CPUs that an occupancy stands for
 * @occ: sum of occupancies, units of 1024 ns
 * @window: what an always busy CPU has gathered by now, same units
 *
 * Return: occ / window in 1/1024 CPU, rounded to nearest. 0 while @window is 0.
 */
u32 sched_cache_cpus(u64 occ, u32 window)
{
	if (!window)
		return 0;
	return div_u64((occ << SCHED_CACHE_CPU_SHIFT) + window / 2, window);
}

/**
 * sched_cache_limit - how much of something the gates admit
 * @amount: what fits
 * @tolerance: llc_aggr_tolerance
 *
 * Return: @amount times @tolerance; 0 for a tolerance of 0, U64_MAX for 100 and
 * more and when the product would not fit.
 */
u64 sched_cache_limit(u64 amount, unsigned int tolerance)
{
	u64 limit;

	if (tolerance >= SCHED_CACHE_TOLERANCE_ANY ||
	    check_mul_overflow(amount, (u64)tolerance, &limit))
		return U64_MAX;
	return limit;
}

/**
 * sched_cache_threads_fit - the gate of running threads
 * @running: average number of running threads, 1/1024
 * @cores: cores of the preferred LLC
 * @tolerance: llc_aggr_tolerance
 * @open: the gate is open now
 *
 * An open gate closes when the average rounds to more threads than are
 * admitted; a closed one opens at an eighth of a thread above them, so that a
 * group of just that many does not flap.
 *
 * Return: true if the group may be gathered.
 */
bool sched_cache_threads_fit(u32 running, unsigned int cores,
			     unsigned int tolerance, bool open)
{
	u64 limit = sched_cache_limit((u64)cores << SCHED_CACHE_CPU_SHIFT,
				      tolerance);

	if (!limit || limit == U64_MAX)
		return limit;
	return running <= limit + SCHED_CACHE_CPU / (open ? 2 : 8);
}

/**
 * sched_cache_footprint_fits - the gate of the working set
 * @bytes: working set
 * @llc_bytes: size of the preferred LLC, 0 if it is not known
 * @tolerance: llc_aggr_tolerance
 * @open: the gate is open now
 *
 * An open gate closes an eighth above the limit, a closed one opens at it. A
 * cache of unknown size closes no gate.
 *
 * Return: true if the group may be gathered.
 */
bool sched_cache_footprint_fits(u64 bytes, u64 llc_bytes,
				unsigned int tolerance, bool open)
{
	u64 limit = sched_cache_limit(llc_bytes, tolerance);

	if (!tolerance)
		return false;
	if (!llc_bytes || limit == U64_MAX)
		return true;
	if (bytes <= limit)
		return true;
	return open && bytes - limit <= limit / 8;
}

/**
 * sched_cache_room - what there is in an LLC for a group beside the others
 * @others: what everybody else wants of the LLC, 1/1024 CPU
 * @need: average number of running threads of the group, 1/1024
 * @cores: cores of the LLC, times the tolerance
 * @overaggr_pct: llc_overaggr_pct, percent of @cores
 * @imb_pct: llc_imb_pct, percent of @cores
 *
 * The one decision of all paths. Tasks may enter while
 *
 *	others + need <= cores * overaggr_pct / 100
 *
 * and those inside are kept from leaving for llc_imb_pct longer; both to the
 * nearest whole task. It depends on where tasks want to be and not on where they
 * are, so that no move of a task makes the next one.
 *
 * Return: the room.
 */
enum sched_cache_room
sched_cache_room(u32 others, u32 need, u64 cores, unsigned int overaggr_pct,
		 unsigned int imb_pct)
{
	u64 sum = (u64)others + need;
	u64 enter, keep;

	/* No sum comes near this, and the products below stay within 64 bits. */
	cores = min(cores, 1ULL << 32);
	enter = div_u64((cores << SCHED_CACHE_CPU_SHIFT) * overaggr_pct, 100);
	keep = enter + div_u64((cores << SCHED_CACHE_CPU_SHIFT) * imb_pct, 100);

	if (sum <= enter + SCHED_CACHE_CPU / 2)
		return SCHED_CACHE_ENTER;
	if (sum <= keep + SCHED_CACHE_CPU / 2)
		return SCHED_CACHE_KEEP;
	return SCHED_CACHE_FULL;
}

/**
 * sched_cache_too_busy - did too many tasks of a group find no idle CPU
 * @waits: wakeups that found none
 * @epochs: in how many epochs; less than one counts as one
 * @cores: cores of the LLC
 * @tolerance: llc_aggr_tolerance
 *
 * A group that fits on average may still want more CPUs at once than the LLC has.
 * For every two cores a task may have to wait once an epoch.
 *
 * Return: 0 if there were no more, 1 if there were, 2 if they were so many (four
 * times that) that there is no need to look twice.
 */
unsigned int sched_cache_too_busy(u32 waits, u32 epochs, unsigned int cores,
				  unsigned int tolerance)
{
	u64 limit = sched_cache_limit(((u64)cores * max(epochs, 1) + 1) / 2, tolerance);

	if (waits <= limit)
		return 0;
	return waits / 4 <= limit ? 1 : 2;
}

/**
 * sched_cache_busy_step - what follows from the tasks that waited
 * @busy: what is known of the group so far
 * @epoch: the epoch of the scan
 * @waits: sched_cache_too_busy() since the last scan
 *
 * One scan may have hit a moment; after the second in a row, or one that leaves no
 * doubt, the group is left alone, the longer the more often it happens.
 *
 * Return: true if the group is to be left alone until @busy->retry.
 */
bool sched_cache_busy_step(struct sched_cache_busy *busy, u32 epoch,
			   unsigned int waits)
{
	if (!waits) {
		busy->scans = 0;
		if (busy->backoff && epoch - busy->retry > busy->backoff)
			busy->backoff = 0;
		return false;
	}
	busy->scans += waits;
	if (busy->scans < 2)
		return false;

	busy->scans = 0;
	busy->backoff = clamp(2 * busy->backoff, SCHED_CACHE_BACKOFF_MIN,
			      SCHED_CACHE_BACKOFF_MAX);
	busy->retry = epoch + busy->backoff;
	return true;
}

/**
 * sched_cache_busy_soon - is a group that was left alone about to be tried again
 * @busy: what is known of the group
 * @epoch: the epoch of the scan
 *
 * How its tasks fare until then does not matter, so that nobody needs to count.
 *
 * Return: true from %SCHED_CACHE_BACKOFF_END epochs before @busy->retry on.
 */
bool sched_cache_busy_soon(const struct sched_cache_busy *busy, u32 epoch)
{
	return (s32)(busy->retry - epoch) <= SCHED_CACHE_BACKOFF_END;
}

/**
 * sched_cache_elect - which LLC a group should prefer
 * @cand: LLCs where the group ran
 * @nr: how many
 * @cur: index of the LLC it prefers now, -1 for none
 *
 * The LLC with most occupancy of those with room. The current one, while it has
 * room, gives way only to one that exceeds it by %SCHED_CACHE_HYSTERESIS. Without
 * a current one those that are not exceeded by that much are equals: the one that
 * others want least wins, so that processes do not share a cache without need.
 *
 * Return: an index, or -1 if none has room.
 */
int sched_cache_elect(const struct sched_cache_cand *cand, int nr, int cur)
{
	int i, best = -1, most;

	for (i = 0; i < nr; i++) {
		if (!cand[i].fits)
			continue;
		if (best < 0 || cand[i].occ > cand[best].occ)
			best = i;
	}

	if (cur >= 0 && cand[cur].fits &&
	    cand[best].occ <= (u64)cand[cur].occ * SCHED_CACHE_HYSTERESIS)
		return cur;

	for (i = 0, most = best; i < nr; i++) {
		if (cand[i].fits && cand[i].others < cand[best].others &&
		    cand[most].occ <= (u64)cand[i].occ * SCHED_CACHE_HYSTERESIS)
			best = i;
	}
	return best;
}

/* The preferred LLC of a task's group and the room there. Under RCU or rq lock. */
static struct sched_cache_llc *
task_pref(struct task_struct *p, enum sched_cache_room *room)
{
	struct sched_cache_group *grp;

	grp = rcu_dereference_check(p->cache.group, p == current ||
				    rcu_read_lock_sched_held());
	if (!grp)
		return NULL;
	*room = READ_ONCE(grp->room);
	return READ_ONCE(grp->pref);
}

/* NUMA balancing's preferred node goes before the preferred LLC. */
static bool node_objects(struct task_struct *p, struct sched_cache_llc *pref)
{
#ifdef CONFIG_NUMA_BALANCING
	int nid = READ_ONCE(p->numa_preferred_nid);

	return static_branch_unlikely(&sched_numa_balancing) &&
	       nid != NUMA_NO_NODE && nid != pref->nid;
#else
	return false;
#endif
}

/* Tell the scan, which looks for an LLC on a node that the tasks are wanted on. */
static void note_objection(struct task_struct *p)
{
#ifdef CONFIG_NUMA_BALANCING
	struct sched_cache_group *grp = rcu_dereference(p->cache.group);

	if (grp && !READ_ONCE(grp->objection))
		WRITE_ONCE(grp->objection, true);
#endif
}

/* The task is not taken to its preferred LLC. Returns true, for the caller. */
static bool refuse(struct task_struct *p, struct sched_cache_llc *pref,
		   enum sched_cache_refusal why)
{
	sched_cache_count(SCHED_CACHE_REFUSED + why);
	trace_sched_cache_refuse(p, pref->id, why);
	return true;
}

/* Is there a reason, other than the CPUs there, not to take a task to @pref? */
static bool refused(struct task_struct *p, struct sched_cache_llc *pref,
		    enum sched_cache_room room, enum sched_cache_room need)
{
	if (sched_asym_cpucap_active())
		return refuse(p, pref, SCHED_CACHE_REFUSE_ASYM);
	if (node_objects(p, pref)) {
		note_objection(p);
		return refuse(p, pref, SCHED_CACHE_REFUSE_NODE);
	}
	if (room < need)
		return refuse(p, pref, SCHED_CACHE_REFUSE_ROOM);
	return false;
}

/* Asymmetric packing would take a task that goes from @src_cpu to @cpu back. */
static bool packing_objects(int src_cpu, int cpu)
{
	struct sched_domain *sd;

	sd = rcu_dereference(per_cpu(sd_asym_packing, src_cpu));
	return sd && cpumask_test_cpu(cpu, sched_domain_span(sd)) &&
	       sched_asym_prefer(src_cpu, cpu);
}

/**
 * sched_cache_target - where a waking or new task should look for an idle CPU
 * @p: the task
 * @prev_cpu: the CPU it ran on last, for a new one its parent's
 * @new_cpu: the CPU around which it would look otherwise, -1 for a new task,
 *	which would be spread over the machine
 *
 * Called under RCU with @p's pi_lock held.
 *
 * Return: a CPU that @p may use in its preferred LLC, or -1 if @p has none, if
 * @new_cpu is there already, or if that LLC has no room.
 */
int sched_cache_target(struct task_struct *p, int prev_cpu, int new_cpu)
{
	struct sched_cache_llc *prev, *pref;
	enum sched_cache_room room;
	int cpu;

	pref = task_pref(p, &room);
	if (!pref ||
	    (new_cpu >= 0 && pref == READ_ONCE(per_cpu(sched_cache_llc, new_cpu))))
		return -1;

	/* A task that wakes where it slept does not enter. */
	prev = READ_ONCE(per_cpu(sched_cache_llc, prev_cpu));
	if (refused(p, pref, room, new_cpu >= 0 && prev == pref ?
				   SCHED_CACHE_KEEP : SCHED_CACHE_ENTER))
		return -1;

	if (prev == pref && cpumask_test_cpu(prev_cpu, p->cpus_ptr))
		return prev_cpu;
	cpu = cpumask_any_and(to_cpumask(pref->cpus), p->cpus_ptr);
	if (cpu >= nr_cpu_ids || cpu_rq(cpu)->rd != cpu_rq(prev_cpu)->rd) {
		refuse(p, pref, SCHED_CACHE_REFUSE_AFFINITY);
		return -1;
	}
	return cpu;
}

/**
 * sched_cache_accept - is the CPU found near sched_cache_target() good enough
 * @p: the waking or new task
 * @cpu: what the search for an idle CPU came back with
 * @new_cpu: the CPU around which @p would look otherwise
 *
 * Called under RCU with @p's pi_lock held.
 *
 * Return: true if @p should go to @cpu: it is idle, and no asymmetric packing
 * would pull the task back.
 */
bool sched_cache_accept(struct task_struct *p, int cpu, int new_cpu)
{
	struct sched_cache_llc *llc = READ_ONCE(per_cpu(sched_cache_llc, cpu));

	/* Without an LLC: it has just gone offline. */
	if (!llc)
		return false;
	if (!available_idle_cpu(cpu)) {
		__sched_cache_waits(rcu_dereference(p->cache.group), p, cpu);
		return !refuse(p, llc, SCHED_CACHE_REFUSE_BUSY);
	}
	if (packing_objects(new_cpu, cpu))
		return !refuse(p, llc, SCHED_CACHE_REFUSE_PACKING);

	sched_cache_count(SCHED_CACHE_WAKE);
	trace_sched_cache_wake(p, cpu);
	return true;
}

/**
 * __sched_cache_waits - a waking task will have to wait
 * @grp: its group, which counts such wakeups
 * @p: the task
 * @cpu: where it goes, a CPU that is not idle
 *
 * If that is at home, gathering may be why. If the group has no home yet, or not
 * now because its tasks had to wait, they would not wait less when gathered. Called
 * under RCU with @p's pi_lock held.
 */
void __sched_cache_waits(struct sched_cache_group *grp, struct task_struct *p, int cpu)
{
	struct sched_cache_llc *pref = READ_ONCE(grp->pref);
	u32 waits;

	if (pref && pref != READ_ONCE(per_cpu(sched_cache_llc, cpu)))
		return;
	/* Enough for any LLC: leave the cache line alone. */
	if (!pref && atomic_read(&grp->waits) > 4 * nr_cpu_ids)
		return;

	/* Beyond doubt: nobody comes in or is kept until the scan has judged. */
	waits = atomic_inc_return(&grp->waits);
	if (pref && READ_ONCE(grp->room) != SCHED_CACHE_FULL &&
	    sched_cache_too_busy(waits, 1, READ_ONCE(pref->nr_cores),
				 sched_cache_tolerance_of(p)) > 1)
		WRITE_ONCE(grp->room, SCHED_CACHE_FULL);
}

/* Is a CPU of an LLC idle that a task may use? */
static bool has_idle_cpu(struct sched_cache_llc *llc, struct task_struct *p)
{
	int cpu;

	for_each_cpu_and(cpu, to_cpumask(llc->cpus), p->cpus_ptr) {
		if (available_idle_cpu(cpu))
			return true;
	}
	return false;
}

/**
 * sched_cache_keep - should the balancer leave a task in its preferred LLC
 * @p: the task
 * @src_cpu: where it is
 * @dst_cpu: where the balancer would take it
 *
 * A task that waits is never kept from an idle CPU, unless one at home is idle,
 * too, and will take it. Called under RCU.
 *
 * Where capacities differ, so that a task may be a misfit, none is kept.
 *
 * Return: true if @p is at home on @src_cpu, @dst_cpu is in another LLC, and
 * the preferred LLC is not full.
 */
bool sched_cache_keep(struct task_struct *p, int src_cpu, int dst_cpu)
{
	struct sched_cache_llc *src, *dst;
	enum sched_cache_room room;
	struct sched_domain *sd;

	src = READ_ONCE(per_cpu(sched_cache_llc, src_cpu));
	dst = READ_ONCE(per_cpu(sched_cache_llc, dst_cpu));
	if (!src || !dst || src == dst || task_pref(p, &room) != src ||
	    room < SCHED_CACHE_KEEP || sched_asym_cpucap_active() ||
	    node_objects(p, src))
		return false;

	/*
	 * A task that may not use all of the LLC, as far as its cpuset partition
	 * has it, cannot rely on its room.
	 */
	sd = rcu_dereference(per_cpu(sd_llc, src_cpu));
	if (!sd || !cpumask_subset(sched_domain_span(sd), p->cpus_ptr))
		return false;

	if (READ_ONCE(cpu_rq(src_cpu)->nr_running) > 1 && !has_idle_cpu(src, p))
		return false;

	sched_cache_count(SCHED_CACHE_KEPT);
	return true;
}

/**
 * __sched_cache_keep_rq - is there nothing to take from a run queue
 * @rq: the run queue of another CPU, with one task
 * @dst_cpu: where the balancer would take a task
 *
 * Called under RCU without the rq lock: a guess, like all that the balancer
 * gathers before it takes a lock.
 *
 * Return: true if the only task of @rq runs and sched_cache_keep() holds for it.
 */
bool __sched_cache_keep_rq(struct rq *rq, int dst_cpu)
{
	struct task_struct *curr = rcu_dereference(rq->curr);

	return curr->sched_class == &fair_sched_class &&
	       sched_cache_keep(curr, cpu_of(rq), dst_cpu);
}

/* CPUs that a task is on its way to. Two that come home take two idle CPUs. */
static DEFINE_PER_CPU(int, cpu_taken);

static bool core_is_idle(int cpu)
{
#ifdef CONFIG_SCHED_SMT
	int sibling;

	for_each_cpu(sibling, cpu_smt_mask(cpu)) {
		if (!available_idle_cpu(sibling) ||
		    READ_ONCE(per_cpu(cpu_taken, sibling)))
			return false;
	}
#endif
	return true;
}

/*
 * An idle CPU of @pref for current, taken; an idle core if there is one.
 * -1 if none.
 */
static int take_idle_cpu(struct sched_cache_llc *pref, int this_cpu)
{
	struct cpumask *cpus = to_cpumask(pref->cpus);
	struct task_struct *p = current;
	bool cores;
	int cpu;

	for (cores = true; ; cores = false) {
		for_each_cpu_and(cpu, cpus, p->cpus_ptr) {
			if (available_idle_cpu(cpu) &&
			    (!cores || core_is_idle(cpu)) &&
			    cpu_rq(cpu)->rd == cpu_rq(this_cpu)->rd &&
			    sched_core_cookie_match(cpu_rq(cpu), p) &&
			    !packing_objects(this_cpu, cpu) &&
			    !cmpxchg(&per_cpu(cpu_taken, cpu), 0, 1))
				return cpu;
		}
		if (!cores)
			return -1;
	}
}

/*
 * A task that runs alone on a CPU of @pref, wants to be in another LLC, and may as
 * well run on this CPU: best of all one that wants to be here. Where LLCs are
 * full of each other's tasks none of them would ever find an idle CPU. Returns a
 * reference and sets @dst_cpu, NULL if there is none. Under RCU.
 */
static struct task_struct *
find_swap(struct sched_cache_llc *pref, int this_cpu, int *dst_cpu)
{
	struct sched_cache_llc *here = READ_ONCE(per_cpu(sched_cache_llc, this_cpu));
	struct task_struct *found = NULL;
	enum sched_cache_room room;
	int cpu;

	if (!IS_ENABLED(CONFIG_NUMA_BALANCING) || !here)
		return NULL;

	for_each_cpu_and(cpu, to_cpumask(pref->cpus), current->cpus_ptr) {
		struct rq *rq = cpu_rq(cpu);
		struct task_struct *t = rcu_dereference(rq->curr);
		struct sched_cache_llc *wants = task_pref(t, &room);

		if (!wants || wants == pref || (found && wants != here) ||
		    READ_ONCE(rq->nr_running) != 1 ||
		    t->sched_class != &fair_sched_class ||
		    !cpumask_test_cpu(this_cpu, t->cpus_ptr) ||
		    rq->rd != cpu_rq(this_cpu)->rd || sched_core_enabled(rq) ||
		    packing_objects(this_cpu, cpu) || packing_objects(cpu, this_cpu) ||
		    node_objects(t, here))
			continue;
		found = t;
		*dst_cpu = cpu;
		if (wants == here)
			break;
	}
	return found ? get_task_struct(found) : NULL;
}

/* Move current to an idle CPU, or let it and @other change places. */
static bool go_to(int cpu, int this_cpu, struct task_struct *other)
{
	int ret = 0;

	if (!other) {
		sched_cache_migrate_current(cpu);
		WRITE_ONCE(per_cpu(cpu_taken, cpu), 0);
		return true;
	}

#ifdef CONFIG_NUMA_BALANCING
	ret = migrate_swap(current, other, cpu, this_cpu);
#endif
	if (!ret)
		sched_cache_count(SCHED_CACHE_SWAP);
	put_task_struct(other);
	return !ret;
}

/**
 * sched_cache_go_home - move current to an idle CPU of its preferred LLC
 * @p: current
 *
 * Or to change places with a task there that wants to leave. From the task work,
 * where a task can be moved by its own will and without any search by others.
 * Process context; may sleep.
 */
void sched_cache_go_home(struct task_struct *p)
{
	struct task_struct *other = NULL;
	enum sched_cache_room room;
	struct sched_cache_llc *pref;
	int cpu, this_cpu;

	if (!sched_feat(SC_HOME) || p->nr_cpus_allowed == 1 ||
	    p->sched_class != &fair_sched_class)
		return;

	scoped_guard(rcu) {
		this_cpu = raw_smp_processor_id();
		pref = task_pref(p, &room);
		if (!pref || pref == READ_ONCE(per_cpu(sched_cache_llc, this_cpu)))
			return;

		/* The next attempt is for the next tick. */
		p->cache.home_stamp = jiffies;
		if (refused(p, pref, room, SCHED_CACHE_ENTER))
			return;
		cpu = take_idle_cpu(pref, this_cpu);
		if (cpu < 0)
			other = find_swap(pref, this_cpu, &cpu);
		if (cpu < 0) {
			refuse(p, pref, cpumask_intersects(to_cpumask(pref->cpus),
							   p->cpus_ptr) ?
					SCHED_CACHE_REFUSE_BUSY :
					SCHED_CACHE_REFUSE_AFFINITY);
			return;
		}
	}

	if (!go_to(cpu, this_cpu, other))
		return;
	sched_cache_count(SCHED_CACHE_HOME);
	trace_sched_cache_home(p, this_cpu, cpu);
}

#ifdef CONFIG_SCHED_CACHE_KUNIT_TEST
#include "tests/cache_place_test.c"
#endif
