// SPDX-License-Identifier: GPL-2.0
/*
 * Cache-aware load balancing: mechanism.
 *
 * Who lives in which last-level cache (LLC)? The tasks that are expected to
 * share data, by default the threads of one mm, form a group. While a task
 * runs, its runtime is charged to its group and to the CPU it ran on, and from
 * this the scan, task_cache_work(), elects an LLC that the group prefers. What
 * follows from a preference is in cache_place.c.
 *
 * Time is counted in epochs of llc_epoch_period ms. The occupancy of a CPU by a
 * group is its runtime there, halved at the end of each epoch:
 *
 *	occ = r(0) + r(1) / 2 + r(2) / 4 + ...
 *
 * where r(i) is the runtime i epochs ago. It is kept as one word per CPU,
 * {epoch, occ as of that epoch}, with one writer: update_curr() under the rq
 * lock of that CPU. Whoever reads the word halves what he read by the epochs
 * that have passed and writes nothing.
 *
 * A CPU that never idles has gathered, e after the last epoch began, a window of
 *
 *	w = e + p(1) / 2 + p(2) / 4 + ...	(p: length of an epoch)
 *
 * so that the sum of occ over CPUs, divided by w, is the average number of
 * running threads, however young the epoch is. The clock keeps w.
 *
 * The scan looks only at the CPUs where the group ran lately, visited_cpus. A
 * CPU sets its bit when its word enters a new epoch and the bit is not set; the
 * scan clears bits that have not been renewed for llc_epoch_affinity_timeout
 * epochs. Both may meet: then the bit is set again one epoch later.
 *
 * Where others are counts as well. Tasks that will not have a preference are
 * strays, that is, single threads and groups that have been found to fit nowhere:
 * each CPU adds up their runtime per epoch and publishes the sum to its LLC when it
 * enters the next one. A group that has a preference claims its average number
 * of running threads there, anew in every epoch, so that the claims of those
 * that sleep or are gone vanish by themselves. Room is what strays and the claims
 * of others leave of an LLC's cores. It does not matter where tasks that have a
 * preference are right now: they will leave.
 */
#include <linux/mmu_context.h>
#include <linux/prctl.h>
#include <linux/task_work.h>

#include "sched.h"

#define CREATE_TRACE_POINTS
#include <trace/events/sched_cache.h>

DEFINE_PER_CPU(unsigned long [SCHED_CACHE_NR_STATS], sched_cache_stats);

/* Tunables, each a number for itself. Written in cache_debug.c, read anywhere. */
unsigned int __read_mostly sched_cache_tolerance = 1;
unsigned int __read_mostly sched_cache_timeout = 5;
unsigned int __read_mostly sched_cache_overaggr_pct = 100;
unsigned int __read_mostly sched_cache_imb_pct = 20;

#define DEFAULT_PERIOD_MS	10

/*
 * The clock
 * =========
 *
 * One number for all CPUs, so that every word in the system can be compared.
 * Whoever charges first after the end of an epoch begins the next one.
 */
static struct {
	unsigned long	end;		/* jiffies when the epoch ends */
	u32		epoch;
	/* From here on: written with @seq, read by scans. */
	seqcount_raw_spinlock_t seq;
	raw_spinlock_t	lock;		/* one advances, the others go on */
	unsigned int	period;		/* jiffies */
	u32		window;		/* w at the begin of the epoch, units */
	u64		start;		/* begin of the epoch, ns */
	u32		len[SCHED_CACHE_HISTORY];	/* of complete epochs, units */
} clock ____cacheline_aligned_in_smp = {
	.lock	= __RAW_SPIN_LOCK_UNLOCKED(clock.lock),
	.seq	= SEQCNT_RAW_SPINLOCK_ZERO(clock.seq, &clock.lock),
	.end	= INITIAL_JIFFIES,
	.period	= DIV_ROUND_UP(DEFAULT_PERIOD_MS * HZ, MSEC_PER_SEC),
};

/* Epochs that have begun by @now, if one ended at @end. */
static u32 epochs_since(unsigned long end, unsigned long now, unsigned int period)
{
	return time_before(now, end) ? 0 : 1 + (now - end) / period;
}

static void clock_advance(void)
{
	unsigned long flags, now = jiffies;
	u32 nr, len;
	u64 ns;

	/* Task context, too, and a tick would wait for what it has interrupted. */
	if (!raw_spin_trylock_irqsave(&clock.lock, flags))
		return;
	nr = epochs_since(clock.end, now, clock.period);
	if (!nr)
		goto unlock;

	/* More than one epoch at once: nothing was charged for a while. */
	ns = ktime_get_mono_fast_ns();
	len = min_t(u64, (ns - clock.start) >> SCHED_CACHE_UNIT_SHIFT, U32_MAX / 4);
	if (nr > 1)
		len = jiffies64_to_nsecs(clock.period) >> SCHED_CACHE_UNIT_SHIFT;

	write_seqcount_begin(&clock.seq);
	WRITE_ONCE(clock.len[clock.epoch % SCHED_CACHE_HISTORY], len);
	/* After a pause: what a CPU that never idled would have, w = p. */
	clock.window = nr > 1 ? len : (clock.window + len) / 2;
	clock.start = ns;
	WRITE_ONCE(clock.end, clock.end + nr * clock.period);
	WRITE_ONCE(clock.epoch, clock.epoch + nr);
	write_seqcount_end(&clock.seq);
unlock:
	raw_spin_unlock_irqrestore(&clock.lock, flags);
}

/**
 * sched_cache_clock_restart - begin an epoch now
 *
 * For when the feature is switched on: nobody has charged while it was off, maybe
 * for longer than jiffies can tell. Process context.
 */
void sched_cache_clock_restart(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&clock.lock, flags);
	WRITE_ONCE(clock.end, jiffies);
	raw_spin_unlock_irqrestore(&clock.lock, flags);
}

/**
 * sched_cache_epoch - the epoch number of now
 *
 * Any context with interrupts disabled or in a task.
 *
 * Return: the epoch; wraps.
 */
u32 sched_cache_epoch(void)
{
	if (unlikely(time_after_eq(jiffies, READ_ONCE(clock.end))))
		clock_advance();
	return READ_ONCE(clock.epoch);
}

/**
 * sched_cache_period_ms - llc_epoch_period
 *
 * Return: the length of an epoch, ms, as rounded to jiffies.
 */
unsigned int sched_cache_period_ms(void)
{
	return jiffies_to_msecs(READ_ONCE(clock.period));
}

/**
 * sched_cache_set_period_ms - set llc_epoch_period
 * @ms: length of an epoch, at least 1; rounded up to jiffies
 *
 * The epoch goes on where it is; the epoch that has begun ends after @ms at the
 * latest. Process context.
 */
void sched_cache_set_period_ms(unsigned int ms)
{
	unsigned int period = max(1UL, msecs_to_jiffies(ms));
	unsigned long flags;

	raw_spin_lock_irqsave(&clock.lock, flags);
	WRITE_ONCE(clock.period, period);
	if (time_after(clock.end, jiffies + period))
		WRITE_ONCE(clock.end, jiffies + period);
	raw_spin_unlock_irqrestore(&clock.lock, flags);
}

/**
 * sched_cache_clock - the epoch and the window of now, as they belong together
 * @window: w, see above; units of 1024 ns
 *
 * Task context.
 *
 * Return: the epoch.
 */
u32 sched_cache_clock(u32 *window)
{
	unsigned int seq;
	u64 start;
	u32 epoch;

	do {
		seq = read_seqcount_begin(&clock.seq);
		epoch = clock.epoch;
		*window = clock.window;
		start = clock.start;
	} while (read_seqcount_retry(&clock.seq, seq));

	/* The next epoch may be late, but not the window's share of it. */
	*window += min_t(u64, ktime_get_mono_fast_ns() - start,
			 jiffies64_to_nsecs(READ_ONCE(clock.period)) * 2) >>
		   SCHED_CACHE_UNIT_SHIFT;
	return epoch;
}

/*
 * Sums of several CPUs
 * ====================
 */

/**
 * sched_cache_acc_read - what has been added in an epoch
 * @acc: the sums
 * @epoch: one of the last %SCHED_CACHE_HISTORY epochs
 *
 * Return: the sum, 0 if nothing was added or the epoch is too old.
 */
u32 sched_cache_acc_read(struct sched_cache_acc *acc, u32 epoch)
{
	u64 word = atomic64_read(&acc->slot[epoch % SCHED_CACHE_HISTORY]);

	return sched_cache_word_epoch(word) == epoch ? (u32)word : 0;
}

/**
 * sched_cache_acc_add - add to the sum of an epoch
 * @acc: the sums
 * @epoch: this or an earlier epoch; what comes too late is dropped
 * @val: what to add
 *
 * Any context.
 */
void sched_cache_acc_add(struct sched_cache_acc *acc, u32 epoch, u32 val)
{
	atomic64_t *slot = &acc->slot[epoch % SCHED_CACHE_HISTORY];
	s64 old = atomic64_read(slot), new;

	do {
		u32 has = sched_cache_word_epoch(old);

		/* A late one, whose place a later epoch has taken. */
		if ((s32)(has - epoch) > 0)
			return;
		new = SCHED_CACHE_WORD(epoch, has == epoch ? (u32)old + val : val);
	} while (!atomic64_try_cmpxchg(slot, &old, new));
}

/**
 * sched_cache_acc_average - the sums of the last complete epochs
 * @acc: the sums, units of 1024 ns
 * @epoch: the current epoch
 *
 * The last epoch may lack the share of CPUs that have not charged since. Hence
 * the larger of the average of two epochs and the older one.
 *
 * Return: the average per time, 1/1024 CPU.
 */
u32 sched_cache_acc_average(struct sched_cache_acc *acc, u32 epoch)
{
	u32 last = sched_cache_acc_read(acc, epoch - 1);
	u32 older = sched_cache_acc_read(acc, epoch - 2);
	u32 len1 = READ_ONCE(clock.len[(epoch - 1) % SCHED_CACHE_HISTORY]);
	u32 len2 = READ_ONCE(clock.len[(epoch - 2) % SCHED_CACHE_HISTORY]);

	return max(sched_cache_cpus((u64)last + older, len1 + len2),
		   sched_cache_cpus(older, len2));
}

/**
 * sched_cache_llc_wanted - how much is wanted of an LLC
 * @llc: the LLC
 *
 * Any context.
 *
 * Return: the stray demand and all claims, 1/1024 CPU.
 */
u32 sched_cache_llc_wanted(struct sched_cache_llc *llc)
{
	u32 epoch = sched_cache_epoch();

	return sched_cache_acc_average(&llc->stray, epoch) +
	       max(sched_cache_acc_read(&llc->claim, epoch - 1),
		   sched_cache_acc_read(&llc->claim, epoch));
}

/*
 * Accounting
 * ==========
 */

/* A CPU's own stray runtime in the epoch it is in. Under its rq lock. */
struct cpu_stray {
	u32	epoch;
	u32	units;
};

static DEFINE_PER_CPU(struct cpu_stray, cpu_stray);

static void charge_stray(int cpu, u32 epoch, u32 units)
{
	struct cpu_stray *stray = per_cpu_ptr(&cpu_stray, cpu);
	struct sched_cache_llc *llc;

	if (stray->epoch != epoch) {
		llc = READ_ONCE(per_cpu(sched_cache_llc, cpu));
		if (llc && stray->units)
			sched_cache_acc_add(&llc->stray, stray->epoch, stray->units);
		*stray = (struct cpu_stray) { .epoch = epoch };
	}
	stray->units += units;
}

/**
 * sched_cache_charge - charge runtime to a group
 * @grp: the group
 * @cpu: the CPU it ran on; its rq lock is held
 * @epoch: the epoch of now
 * @units: runtime, units of 1024 ns
 */
void sched_cache_charge(struct sched_cache_group *grp, int cpu, u32 epoch, u32 units)
{
	u64 *slot = per_cpu_ptr(grp->slots, cpu);
	u64 word = *slot;

	if (sched_cache_word_epoch(word) == epoch) {
		WRITE_ONCE(*slot, word + units);
		return;
	}

	WRITE_ONCE(*slot, SCHED_CACHE_WORD(epoch, sched_cache_word_occ(word, epoch) + units));
	if (!test_bit(cpu, grp->visited))
		set_bit(cpu, grp->visited);
}

/*
 * CONFIG_SCHED_CACHE_DEBUG: what has to hold whenever a task is charged. A group
 * is that of the mm the task has, so kernel threads have none, whatever mm they
 * borrow; and a CPU is in the LLC that it believes to be in.
 */
static void check_task(struct rq *rq, struct task_struct *p,
		       struct sched_cache_group *grp)
{
	struct sched_cache_llc *llc = READ_ONCE(per_cpu(sched_cache_llc, cpu_of(rq)));

	if (!IS_ENABLED(CONFIG_SCHED_CACHE_DEBUG))
		return;

	lockdep_assert_rq_held(rq);
	WARN_ONCE(grp && (p->flags & PF_KTHREAD), "%s/%d: a kernel thread in a group",
		  p->comm, p->pid);
	WARN_ONCE(grp && (!p->mm || p->mm->sched_cache != grp),
		  "%s/%d: in the group of another mm", p->comm, p->pid);
	WARN_ONCE(llc && cpu_online(cpu_of(rq)) && !test_bit(cpu_of(rq), llc->cpus),
		  "CPU %d is not in its LLC %d", cpu_of(rq), llc->id);
}

/* May the task be asked to do the work, and is there any? */
static bool work_due(struct task_struct *p, struct sched_cache_group *grp,
		     int cpu, u32 epoch)
{
	struct sched_cache_llc *pref, *llc = READ_ONCE(per_cpu(sched_cache_llc, cpu));
	unsigned long now = jiffies;

	if ((p->flags & (PF_KTHREAD | PF_EXITING)) ||
	    p->cache.work.next != &p->cache.work)
		return false;

	/* It is to leave its group, if it has one. */
	if (sched_cache_mode(p) == PR_SCHED_CACHE_NEVER)
		return grp;

	if (!grp)
		return get_nr_threads(p) > 1 &&
		       time_after(now, p->cache.mm_stamp + READ_ONCE(clock.period));

	if (READ_ONCE(grp->scan_epoch) != epoch && sched_cache_may_scan(p, llc))
		return true;

	pref = READ_ONCE(grp->pref);
	return pref && pref != llc && p->cache.home_stamp != now &&
	       p->nr_cpus_allowed > 1;
}

/**
 * __sched_cache_account - charge the runtime of a lot
 * @rq: run queue the task is current on
 * @p: a task of the fair class
 *
 * The part of sched_cache_account() that is rarely run. Under the rq lock, on
 * whatever CPU.
 */
void __sched_cache_account(struct rq *rq, struct task_struct *p)
{
	u64 left = p->se.sum_exec_runtime + SCHED_CACHE_BATCH - p->cache.charge_at;
	u32 epoch = sched_cache_epoch();
	struct sched_cache_group *grp;
	int cpu = cpu_of(rq);
	bool stray;
	u32 units;

	/*
	 * No more than an epoch: what is older belongs to the past, when the
	 * knob was off or the task in another class.
	 */
	left = min_t(u64, left, jiffies_to_nsecs(READ_ONCE(clock.period)));
	units = left >> SCHED_CACHE_UNIT_SHIFT;
	left -= (u64)units << SCHED_CACHE_UNIT_SHIFT;
	p->cache.charge_at = p->se.sum_exec_runtime + SCHED_CACHE_BATCH - left;

	grp = rcu_dereference_sched(p->cache.group);
	check_task(rq, p, grp);
	/* What is no stray is charged as 0: that moves the CPU on to this epoch. */
	stray = grp ? READ_ONCE(grp->stray) :
		get_nr_threads(p) == 1 || sched_cache_mode(p) == PR_SCHED_CACHE_NEVER;
	charge_stray(cpu, epoch, stray ? units : 0);
	if (grp)
		sched_cache_charge(grp, cpu, epoch, units);

	/* On failure the task exits and will never be asked again. */
	if (work_due(p, grp, cpu, epoch))
		task_work_add(p, &p->cache.work, TWA_RESUME);
}

/*
 * Groups
 * ======
 *
 * The mm owns the group. A task's pointer to it is cleared by the task itself
 * before it drops the mm, and the group goes a grace period after the mm, so
 * that no reader under RCU can meet a freed one.
 */

static atomic_long_t nr_groups;

/**
 * sched_cache_nr_groups - groups alive
 *
 * Return: how many.
 */
long sched_cache_nr_groups(void)
{
	return atomic_long_read(&nr_groups);
}

/**
 * sched_cache_group_free - free a group
 * @grp: one that nobody can find any more
 */
void sched_cache_group_free(struct sched_cache_group *grp)
{
	sched_cache_footprint_free(grp);
	free_percpu(grp->slots);
	kfree(grp);
	atomic_long_dec(&nr_groups);
}

static void group_free_rcu(struct rcu_head *rcu)
{
	sched_cache_group_free(container_of(rcu, struct sched_cache_group, rcu));
}

/**
 * sched_cache_group_alloc - make a group
 *
 * Process context.
 *
 * Return: the group, NULL if there is no memory.
 */
struct sched_cache_group *sched_cache_group_alloc(void)
{
	struct sched_cache_group *grp;

	grp = kzalloc(struct_size(grp, visited, BITS_TO_LONGS(nr_cpu_ids)),
		      GFP_KERNEL | __GFP_NOWARN);
	if (!grp)
		return NULL;
	grp->slots = alloc_percpu_gfp(u64, GFP_KERNEL | __GFP_NOWARN);
	if (!grp->slots) {
		kfree(grp);
		return NULL;
	}

	sched_cache_epoch();
	grp->birth_epoch = sched_cache_clock(&grp->birth_window);
	grp->scan_epoch = grp->birth_epoch;
	grp->waits_epoch = grp->birth_epoch;
	grp->node = NUMA_NO_NODE;
	grp->claim_epoch = grp->birth_epoch - SCHED_CACHE_HISTORY;
	grp->stray_epoch = grp->claim_epoch;
	grp->gate = SCHED_CACHE_NEW;
	grp->count_waits = true;
	atomic_long_inc(&nr_groups);
	return grp;
}

/**
 * sched_cache_group_join - let current join the group of its mm
 * @p: current
 *
 * Process context.
 *
 * Return: the group, made if there was none; NULL if there is no memory.
 */
struct sched_cache_group *sched_cache_group_join(struct task_struct *p)
{
	struct mm_struct *mm = p->mm;
	struct sched_cache_group *grp, *old;

	/* Pairs with the cmpxchg() below: the group is complete. */
	grp = smp_load_acquire(&mm->sched_cache);
	if (!grp) {
		grp = sched_cache_group_alloc();
		if (!grp)
			return NULL;
		old = cmpxchg(&mm->sched_cache, NULL, grp);
		if (old) {
			sched_cache_group_free(grp);
			grp = old;
		}
	}
	rcu_assign_pointer(p->cache.group, grp);
	return grp;
}

/**
 * sched_cache_mm_init - begin of an mm's life
 * @mm: an mm that nobody else knows yet, maybe a copy of another one
 */
void sched_cache_mm_init(struct mm_struct *mm)
{
	mm->sched_cache = NULL;
}

/**
 * sched_cache_mm_free - end of an mm's life
 * @mm: an mm that nobody uses any more
 *
 * Any context in which an mm can be dropped.
 */
void sched_cache_mm_free(struct mm_struct *mm)
{
	struct sched_cache_group *grp = mm->sched_cache;

	if (grp)
		call_rcu(&grp->rcu, group_free_rcu);
}

/**
 * sched_cache_fork - begin of a task's life
 * @p: a copy of current that nobody else knows yet
 * @clone_flags: CLONE_*
 */
void sched_cache_fork(struct task_struct *p, unsigned long clone_flags)
{
	RCU_INIT_POINTER(p->cache.group, NULL);
	p->cache.charge_at = SCHED_CACHE_BATCH;
	p->cache.work.next = &p->cache.work;
	p->cache.work.func = task_cache_work;
	if (!(clone_flags & CLONE_VM))
		p->cache.mm_stamp = jiffies;
}

/**
 * sched_cache_fork_mm - a new task has got its mm
 * @p: a copy of current that nobody else knows yet
 * @clone_flags: CLONE_*
 *
 * A thread joins its parent's group. So does a process that shares the mm to
 * stay, but not a vfork() child on its way to exec. A process inherits what its
 * parent has asked for with prctl().
 */
void sched_cache_fork_mm(struct task_struct *p, unsigned long clone_flags)
{
	if ((clone_flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM)
		RCU_INIT_POINTER(p->cache.group,
				 rcu_dereference_protected(current->cache.group, 1));
	if (!(clone_flags & CLONE_THREAD))
		p->signal->sched_cache_mode = sched_cache_mode(current);
}

/**
 * sched_cache_exec - current is about to replace its mm
 * @p: current
 */
void sched_cache_exec(struct task_struct *p)
{
	sched_cache_exit(p);
	p->cache.mm_stamp = jiffies;
}

/**
 * sched_cache_exit - current is about to drop its mm
 * @p: current
 */
void sched_cache_exit(struct task_struct *p)
{
	rcu_assign_pointer(p->cache.group, NULL);
}

#ifdef CONFIG_SCHED_CACHE_KUNIT_TEST
#include "tests/cache_test.c"
#endif
