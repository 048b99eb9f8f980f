/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_CACHE_H
#define _LINUX_SCHED_CACHE_H

/*
 * Cache-aware load balancing: what fork, exec, exit and the mm see of it.
 *
 * See Documentation/scheduler/sched-cache.rst for the model.
 */

#include <linux/types.h>

struct mm_struct;
struct task_struct;
struct sched_cache_group;

#ifdef CONFIG_SCHED_CACHE

/**
 * struct sched_cache_task - a task's part in cache-aware scheduling
 * @group: the group the task runs for, or NULL. Written by the task itself (and
 *	by its parent before it is visible), always cleared before the task
 *	drops the mm that owns the group. Other CPUs read it under RCU, which
 *	a held rq lock implies.
 * @charge_at: value of se.sum_exec_runtime (ns) from which on the runtime not
 *	charged yet is charged. Written under the rq lock.
 * @work: the scan, see task_cache_work(). Idle while it points to itself.
 * @mm_stamp: jiffies when the task's mm was made.
 * @home_stamp: jiffies of the last attempt to bring the task home.
 */
struct sched_cache_task {
	struct sched_cache_group __rcu	*group;
	u64				charge_at;
	struct callback_head		work;
	unsigned long			mm_stamp;
	unsigned long			home_stamp;
};

void sched_cache_fork(struct task_struct *p, unsigned long clone_flags);
void sched_cache_fork_mm(struct task_struct *p, unsigned long clone_flags);
void sched_cache_exec(struct task_struct *p);
void sched_cache_exit(struct task_struct *p);
void sched_cache_mm_init(struct mm_struct *mm);
void sched_cache_mm_free(struct mm_struct *mm);
int sched_cache_prctl(unsigned long op, unsigned long pid, unsigned long mode,
		      unsigned long zero);

#else /* !CONFIG_SCHED_CACHE */

static inline void
sched_cache_fork(struct task_struct *p, unsigned long clone_flags) { }
static inline void
sched_cache_fork_mm(struct task_struct *p, unsigned long clone_flags) { }
static inline void sched_cache_exec(struct task_struct *p) { }
static inline void sched_cache_exit(struct task_struct *p) { }
static inline void sched_cache_mm_init(struct mm_struct *mm) { }
static inline void sched_cache_mm_free(struct mm_struct *mm) { }

#endif /* CONFIG_SCHED_CACHE */

#endif /* _LINUX_SCHED_CACHE_H */
