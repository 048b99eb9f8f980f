/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cache-aware load balancing: what the scheduler and the files of the feature
 * share. Included at the end of sched.h.
 */
#ifndef _KERNEL_SCHED_CACHE_H
#define _KERNEL_SCHED_CACHE_H

#ifdef CONFIG_SCHED_CACHE

#include <linux/prctl.h>

/* Occupancy is kept in units of 1024 ns, numbers of CPUs in 1/1024 CPU. */
#define SCHED_CACHE_UNIT_SHIFT	10
#define SCHED_CACHE_CPU_SHIFT	10
#define SCHED_CACHE_CPU		BIT(SCHED_CACHE_CPU_SHIFT)

/* A task's runtime is charged in lots of this many ns. */
#define SCHED_CACHE_BATCH	NSEC_PER_MSEC

/* Factor by which another LLC's occupancy has to exceed the preferred one's. */
#define SCHED_CACHE_HYSTERESIS	2

/* Scans in a row that find no room in the preferred LLC before it is left. */
#define SCHED_CACHE_PATIENCE	3

/* LLCs one scan tells apart; a group seen in more of them cannot be gathered. */
#define SCHED_CACHE_MAX_VISITED	16

/* Epochs for which a group whose tasks had to wait is left alone: at first, at most. */
#define SCHED_CACHE_BACKOFF_MIN	32
#define SCHED_CACHE_BACKOFF_MAX	1024
/* Epochs before the end of that time from which on it matters whether they wait. */
#define SCHED_CACHE_BACKOFF_END	4

/* Epochs for which a group stays on the node that NUMA balancing wants it on. */
#define SCHED_CACHE_NODE_EPOCHS	64
/* Threads that are asked for that. */
#define SCHED_CACHE_NODE_VOTES	64

/* From this aggr_tolerance on the gates are ignored. */
#define SCHED_CACHE_TOLERANCE_ANY	100

/*
 * Epochs of one LLC that can be told apart: the one that is being filled, two
 * complete ones and a spare, so that a late publisher meets no reader.
 */
#define SCHED_CACHE_HISTORY	4

/**
 * struct sched_cache_acc - per-epoch sums that several CPUs add to
 * @slot: one word an epoch: epoch number << 32 | sum in units of 1024 ns (or
 *	1/1024 CPU for claims). A word of another epoch reads as 0, so that
 *	nothing has to be cleared.
 */
struct sched_cache_acc {
	atomic64_t	slot[SCHED_CACHE_HISTORY];
};

/**
 * struct sched_cache_llc - a last-level cache, from the sched domains
 * @id: dense number, for people and trace events. Never reused.
 * @nid: NUMA node.
 * @list: all LLCs there have ever been.
 * @nr_cores: cores among @cpus; SMT siblings count once.
 * @bytes: size of the cache, 0 while it is not known.
 * @stray: runtime of fair tasks that have no preference, published by each CPU
 *	when it enters a new epoch.
 * @claim: average running threads of the groups that prefer this LLC.
 * @cpus: CPUs whose sched domains say that they are in this LLC now.
 *
 * Made when the domains are first built with it, never freed: a pointer to it
 * is good for ever and means the same cache whatever hotplug and cpusets did.
 * @cpus and @nr_cores are written under sched_domains_mutex and read without a
 * lock.
 */
struct sched_cache_llc {
	int			id;
	int			nid;
	struct list_head	list;
	unsigned int		nr_cores;
	u64			bytes;
	struct sched_cache_acc	stray ____cacheline_aligned_in_smp;
	struct sched_cache_acc	claim;
	unsigned long		cpus[] ____cacheline_aligned_in_smp;
};

/* Why a group has no preferred LLC. Names in trace/events/sched_cache.h. */
enum sched_cache_gate {
	SCHED_CACHE_OPEN,	/* none: it may be gathered */
	SCHED_CACHE_NEW,	/* not judged yet */
	SCHED_CACHE_OFF,	/* aggr_tolerance is 0 */
	SCHED_CACHE_SINGLE,	/* one thread left */
	SCHED_CACHE_THREADS,	/* more running threads than the LLC has cores */
	SCHED_CACHE_FOOTPRINT,	/* touches more memory than the LLC holds */
	SCHED_CACHE_BUSY,	/* too many wakeups found no idle CPU in the LLC */
	SCHED_CACHE_NO_ROOM,	/* other work has filled every LLC */
	SCHED_CACHE_NOWHERE,	/* ran in no LLC at all */
};

/* Why a task is not taken to its preferred LLC. Names as for the gates. */
enum sched_cache_refusal {
	SCHED_CACHE_REFUSE_ASYM,	/* CPUs of different capacity */
	SCHED_CACHE_REFUSE_NODE,	/* NUMA balancing wants another node */
	SCHED_CACHE_REFUSE_ROOM,	/* the LLC is full */
	SCHED_CACHE_REFUSE_AFFINITY,	/* it may use no CPU there */
	SCHED_CACHE_REFUSE_BUSY,	/* no CPU there is idle */
	SCHED_CACHE_REFUSE_PACKING,	/* asymmetric packing prefers another CPU */
	SCHED_CACHE_NR_REFUSALS
};

/* What there is in an LLC for a group beside the others, see sched_cache_room(). */
enum sched_cache_room {
	SCHED_CACHE_FULL,	/* no room: the ordinary balancer decides */
	SCHED_CACHE_KEEP,	/* the dead band: who is in may stay */
	SCHED_CACHE_ENTER,	/* room: who is out may come in, too */
};

/**
 * struct sched_cache_busy - has gathering a group left its tasks waiting
 * @retry: epoch from which on it may be tried again
 * @backoff: epochs it was put off the last time; each time is twice the one
 *	before, and forgotten after a good time of the same length
 * @scans: scans in a row with too many tasks that waited; one with far too many
 *	counts twice
 */
struct sched_cache_busy {
	u32		retry;
	u32		backoff;
	unsigned int	scans;
};

/**
 * struct sched_cache_group - tasks that are expected to share data
 * @slots: per CPU, epoch << 32 | occupancy in units of 1024 ns as of that
 *	epoch. Written under that CPU's rq lock only.
 * @pref: preferred LLC, or NULL.
 * @room: how full @pref is: may tasks enter, are they kept there. Written by the
 *	scanner, and set to full when @waits leaves no doubt.
 * @stray: a scan has found that there is no LLC to prefer: the threads count
 *	where they run.
 * @count_waits: wakeups that find no idle CPU matter: the group is gathered, or will
 *	soon be unless they are too many.
 * @scan_epoch: epoch of the last scan.
 * @scanning: bit 0 is held by the scanner, who owns all that follows.
 * @birth_epoch: epoch when the group was made.
 * @birth_window: clock window (units) then, see sched_cache_clock().
 * @stray_epoch: last epoch in which @stray was set.
 * @claim_epoch: epoch of the last claim, which was for @pref.
 * @claim: the amount of it.
 * @running: average number of running threads, 1/1024; smoothed.
 * @crowded: scans in a row that found no room in @pref.
 * @busy: how the tasks fare in @pref.
 * @waits_epoch: epoch when @waits was last read.
 * @node: the only node on which an LLC is preferred, NUMA_NO_NODE: any.
 * @node_until: epoch until which that holds.
 * @waits: wakeups since then that found no idle CPU, in @pref if there is one.
 * @objection: NUMA balancing has kept a task from @pref since the last scan.
 * @gate: why @pref is NULL.
 * @footprint: bytes in use, see cache_footprint.c.
 * @rcu: readers reach the group under RCU.
 * @visited: CPUs with a slot worth reading. Set by the CPU, cleared by the scan.
 */
struct sched_cache_group {
	/* Read whenever runtime is charged or a task is placed, hardly written. */
	u64 __percpu			*slots;
	struct sched_cache_llc		*pref;
	enum sched_cache_room		room;
	bool				stray;
	bool				count_waits;
	u32				birth_epoch;
	u32				birth_window;
	struct sched_cache_footprint	*footprint;
	struct rcu_head			rcu;

	u32				scan_epoch ____cacheline_aligned_in_smp;
	enum sched_cache_gate		gate;
	unsigned long			scanning;
	u32				stray_epoch;
	u32				claim_epoch;
	u32				claim;
	u32				running;
	unsigned int			crowded;
	struct sched_cache_busy		busy;
	u32				waits_epoch;
	int				node;
	u32				node_until;

	/* Written by any CPU, once in a while. */
	atomic_t			waits ____cacheline_aligned_in_smp;
	bool				objection;
	unsigned long			visited[];
};

/* An occupancy word: what it was, and in which epoch. */
#define SCHED_CACHE_WORD(epoch, occ)	((u64)(epoch) << 32 | (u32)(occ))

static inline u32 sched_cache_word_epoch(u64 word)
{
	return word >> 32;
}

/* What happened, counted per CPU. Names in cache_debug.c. */
enum sched_cache_stat {
	SCHED_CACHE_SCAN,	/* scans */
	SCHED_CACHE_SCAN_CPUS,	/* CPUs looked at by them */
	SCHED_CACHE_ELECT,	/* changes of a preferred LLC */
	SCHED_CACHE_HOME,	/* running tasks that moved into their LLC */
	SCHED_CACHE_SWAP,	/* of them, by changing places with another one */
	SCHED_CACHE_WAKE,	/* wakeups and forks placed in the LLC */
	SCHED_CACHE_KEPT,	/* tasks the balancer was asked to leave at home */
	SCHED_CACHE_REFUSED,	/* not taken home, by enum sched_cache_refusal */
	SCHED_CACHE_NR_STATS = SCHED_CACHE_REFUSED + SCHED_CACHE_NR_REFUSALS
};

DECLARE_PER_CPU(unsigned long [SCHED_CACHE_NR_STATS], sched_cache_stats);

#define sched_cache_count(item)	this_cpu_inc(sched_cache_stats[item])

/* Policy: pure functions of numbers, in cache_place.c. */

/**
 * struct sched_cache_cand - what an election sees of an LLC
 * @llc: the LLC
 * @occ: occupancy of the group in it, units of 1024 ns
 * @fits: the group may live there
 * @room: the room there, for the caller
 * @others: what everybody else wants of it, 1/1024 CPU
 */
struct sched_cache_cand {
	struct sched_cache_llc	*llc;
	u32			occ;
	bool			fits;
	enum sched_cache_room	room;
	u32			others;
};

u32 sched_cache_decay(u32 occ, u32 epochs);
u32 sched_cache_word_occ(u64 word, u32 epoch);
u32 sched_cache_cpus(u64 occ, u32 window);
u64 sched_cache_limit(u64 amount, unsigned int tolerance);
bool sched_cache_threads_fit(u32 running, unsigned int cores,
			     unsigned int tolerance, bool open);
bool sched_cache_footprint_fits(u64 bytes, u64 llc_bytes,
				unsigned int tolerance, bool open);
enum sched_cache_room
sched_cache_room(u32 others, u32 need, u64 cores, unsigned int overaggr_pct,
		 unsigned int imb_pct);
unsigned int sched_cache_too_busy(u32 waits, u32 epochs, unsigned int cores,
				  unsigned int tolerance);
bool sched_cache_busy_step(struct sched_cache_busy *busy, u32 epoch,
			   unsigned int waits);
bool sched_cache_busy_soon(const struct sched_cache_busy *busy, u32 epoch);
int sched_cache_elect(const struct sched_cache_cand *cand, int nr, int cur);

/* Mechanism, in cache.c. */

DECLARE_STATIC_KEY_FALSE(sched_cache_active);
DECLARE_PER_CPU_READ_MOSTLY(struct sched_cache_llc *, sched_cache_llc);

extern unsigned int sched_cache_tolerance;
extern unsigned int sched_cache_timeout;
extern unsigned int sched_cache_overaggr_pct;
extern unsigned int sched_cache_imb_pct;

u32 sched_cache_epoch(void);
u32 sched_cache_clock(u32 *window);
void sched_cache_clock_restart(void);
unsigned int sched_cache_period_ms(void);
void sched_cache_set_period_ms(unsigned int ms);
u32 sched_cache_llc_wanted(struct sched_cache_llc *llc);
u32 sched_cache_acc_read(struct sched_cache_acc *acc, u32 epoch);
void sched_cache_acc_add(struct sched_cache_acc *acc, u32 epoch, u32 val);
u32 sched_cache_acc_average(struct sched_cache_acc *acc, u32 epoch);
void __sched_cache_account(struct rq *rq, struct task_struct *p);
void sched_cache_charge(struct sched_cache_group *grp, int cpu, u32 epoch, u32 units);
struct sched_cache_group *sched_cache_group_alloc(void);
struct sched_cache_group *sched_cache_group_join(struct task_struct *p);
void sched_cache_group_free(struct sched_cache_group *grp);
long sched_cache_nr_groups(void);

/* The LLCs, in cache_llc.c. */

void sched_cache_attach(int cpu, struct sched_domain *sd);
void sched_cache_set_enabled(bool on);
bool sched_cache_enabled(void);
const char *sched_cache_off_reason(void);
typedef int (*sched_cache_llc_fn)(struct sched_cache_llc *llc, void *arg);
int sched_cache_walk_llcs(sched_cache_llc_fn fn, void *arg);

/* The scan, in cache_scan.c. */

bool sched_cache_may_scan(struct task_struct *p, struct sched_cache_llc *llc);
void task_cache_work(struct callback_head *work);

/* What fair.c asks, in cache_place.c. */

int sched_cache_target(struct task_struct *p, int prev_cpu, int new_cpu);
bool sched_cache_accept(struct task_struct *p, int cpu, int new_cpu);
void __sched_cache_waits(struct sched_cache_group *grp, struct task_struct *p, int cpu);
bool sched_cache_keep(struct task_struct *p, int src_cpu, int dst_cpu);
bool __sched_cache_keep_rq(struct rq *rq, int dst_cpu);
void sched_cache_go_home(struct task_struct *p);
void sched_cache_migrate_current(int cpu);

/* What the process asked for with prctl(), see cache_task.c. */
static inline unsigned int sched_cache_mode(struct task_struct *p)
{
	return READ_ONCE(p->signal->sched_cache_mode);
}

/* llc_aggr_tolerance, unless the process has asked for the gates to be ignored. */
static inline unsigned int sched_cache_tolerance_of(struct task_struct *p)
{
	return sched_cache_mode(p) == PR_SCHED_CACHE_ALWAYS ?
	       SCHED_CACHE_TOLERANCE_ANY : READ_ONCE(sched_cache_tolerance);
}

void sched_cache_show_task(struct task_struct *p, struct seq_file *m);

/* The working set, in cache_footprint.c. */

u64 sched_cache_footprint_bytes(struct sched_cache_footprint *fp);

bool sched_cache_footprint(struct sched_cache_group *grp, struct mm_struct *mm,
			   u32 epoch, u64 limit, u64 *bytes);
void sched_cache_footprint_free(struct sched_cache_group *grp);

/**
 * sched_cache_account - charge the current task's runtime to its group
 * @rq: run queue the task is current on
 * @p: a task of the fair class
 *
 * Called on every update_curr(), under the rq lock. Runtime is charged in lots
 * of %SCHED_CACHE_BATCH ns, so that all but a few calls are one comparison.
 */
static __always_inline void
sched_cache_account(struct rq *rq, struct task_struct *p)
{
	if (static_branch_unlikely(&sched_cache_active) &&
	    unlikely(p->se.sum_exec_runtime >= p->cache.charge_at))
		__sched_cache_account(rq, p);
}

/* Is there an LLC to prefer? Under RCU. For most tasks this is all they are asked. */
static inline bool sched_cache_prefers(struct task_struct *p)
{
	struct sched_cache_group *grp = rcu_dereference(p->cache.group);

	return grp && READ_ONCE(grp->pref);
}

/**
 * sched_cache_note_wakeup - a task was placed by the ordinary search
 * @p: the task
 * @cpu: where it goes
 * @sync: the waker is about to sleep
 *
 * Called under RCU with @p's pi_lock held.
 */
static inline void
sched_cache_note_wakeup(struct task_struct *p, int cpu, bool sync)
{
	struct sched_cache_group *grp;

	if (!static_branch_unlikely(&sched_cache_active))
		return;

	grp = rcu_dereference(p->cache.group);
	if (grp && READ_ONCE(grp->count_waits) && !available_idle_cpu(cpu) &&
	    !(sync && cpu == smp_processor_id()))
		__sched_cache_waits(grp, p, cpu);
}

/* sched_cache_keep(), where the balancer has the task and not only its queue. */
static inline bool
sched_cache_keep_task(struct task_struct *p, int src_cpu, int dst_cpu)
{
	return static_branch_unlikely(&sched_cache_active) &&
	       sched_feat(SC_KEEP) && sched_cache_keep(p, src_cpu, dst_cpu);
}

/* Is there nothing to take from a run queue? Under RCU, without the rq lock. */
static inline bool sched_cache_keep_rq(struct rq *rq, int dst_cpu)
{
	return static_branch_unlikely(&sched_cache_active) &&
	       READ_ONCE(rq->nr_running) == 1 && sched_feat(SC_KEEP) &&
	       sched_cache_prefers(rcu_dereference(rq->curr)) &&
	       __sched_cache_keep_rq(rq, dst_cpu);
}

#else /* !CONFIG_SCHED_CACHE */

static inline void sched_cache_account(struct rq *rq, struct task_struct *p) { }
static inline void sched_cache_attach(int cpu, struct sched_domain *sd) { }
static inline void
sched_cache_note_wakeup(struct task_struct *p, int cpu, bool sync) { }
static inline bool sched_cache_keep_rq(struct rq *rq, int dst_cpu) { return false; }
static inline void
sched_cache_show_task(struct task_struct *p, struct seq_file *m) { }

#endif /* CONFIG_SCHED_CACHE */

#endif /* _KERNEL_SCHED_CACHE_H */
