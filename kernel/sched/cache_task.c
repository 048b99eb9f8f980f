// SPDX-License-Identifier: GPL-2.0
/*
 * Cache-aware load balancing: a process's own say in it, and what can be seen of
 * a task.
 */
#include <linux/mmu_context.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>

#include "sched.h"

static struct task_struct *find_process(pid_t pid)
{
	struct task_struct *p;

	guard(rcu)();
	p = pid ? find_task_by_vpid(pid) : current;
	return p ? get_task_struct(p) : NULL;
}

static void set_mode(struct task_struct *p, unsigned int mode)
{
	struct task_struct *t;

	WRITE_ONCE(p->signal->sched_cache_mode, mode);
	if (mode != PR_SCHED_CACHE_NEVER)
		return;

	/*
	 * A thread that is just joining the group leaves it again when its runtime
	 * is charged; this is for those that sleep.
	 */
	rcu_read_lock();
	for_each_thread(p, t)
		rcu_assign_pointer(t->cache.group, NULL);
	rcu_read_unlock();
}

/**
 * sched_cache_prctl - prctl(PR_SCHED_CACHE, op, pid, mode, 0)
 * @op: %PR_SCHED_CACHE_GET or %PR_SCHED_CACHE_SET
 * @pid: a thread of the process that is meant, 0 for the caller's
 * @mode: for %PR_SCHED_CACHE_SET: %PR_SCHED_CACHE_DEFAULT (the gates decide),
 *	%PR_SCHED_CACHE_NEVER or %PR_SCHED_CACHE_ALWAYS (the gates are
 *	ignored); else 0
 * @zero: 0
 *
 * The mode is that of the process, with all its threads. A new process inherits
 * it, exec keeps it, nothing resets it. Process context.
 *
 * Return: the mode or 0; -EINVAL for arguments not listed above, -ESRCH if there
 * is no such process, -EPERM if the caller may not ptrace-read it.
 */
int sched_cache_prctl(unsigned long op, unsigned long pid, unsigned long mode,
		      unsigned long zero)
{
	struct task_struct *p;
	int ret = 0;

	if (zero || pid > INT_MAX ||
	    mode > (op == PR_SCHED_CACHE_SET ? PR_SCHED_CACHE_ALWAYS : 0) ||
	    (op != PR_SCHED_CACHE_SET && op != PR_SCHED_CACHE_GET))
		return -EINVAL;

	p = find_process(pid);
	if (!p)
		return -ESRCH;

	if (!same_thread_group(p, current) &&
	    !ptrace_may_access(p, PTRACE_MODE_READ_REALCREDS))
		ret = -EPERM;
	else if (op == PR_SCHED_CACHE_GET)
		ret = sched_cache_mode(p);
	else
		set_mode(p, mode);

	put_task_struct(p);
	return ret;
}

#ifdef CONFIG_SCHED_DEBUG

static const char * const mode_names[] = {
	[PR_SCHED_CACHE_DEFAULT]	= "default",
	[PR_SCHED_CACHE_NEVER]		= "never",
	[PR_SCHED_CACHE_ALWAYS]		= "always",
};

/* As in trace events */
static const char * const gate_names[] = {
	[SCHED_CACHE_OPEN]		= "open",
	[SCHED_CACHE_NEW]		= "new",
	[SCHED_CACHE_OFF]		= "off",
	[SCHED_CACHE_SINGLE]		= "single",
	[SCHED_CACHE_THREADS]		= "threads",
	[SCHED_CACHE_FOOTPRINT]		= "footprint",
	[SCHED_CACHE_BUSY]		= "busy",
	[SCHED_CACHE_NO_ROOM]		= "no_room",
	[SCHED_CACHE_NOWHERE]		= "nowhere",
};

/* Percent of the group's occupancy that is in its preferred LLC now. */
static unsigned int share_pct(struct sched_cache_group *grp,
			      struct sched_cache_llc *pref)
{
	u32 epoch = sched_cache_epoch();
	u64 home = 0, sum = 0;
	int cpu;

	for_each_cpu(cpu, to_cpumask(grp->visited)) {
		u32 occ = sched_cache_word_occ(READ_ONCE(*per_cpu_ptr(grp->slots, cpu)),
					       epoch);

		sum += occ;
		if (READ_ONCE(per_cpu(sched_cache_llc, cpu)) == pref)
			home += occ;
	}
	return sum ? div64_u64(home * 100, sum) : 0;
}

static void show_str(struct seq_file *m, const char *name, const char *val)
{
	seq_printf(m, "%-45s:%21s\n", name, val);
}

static void show_num(struct seq_file *m, const char *name, long long val)
{
	seq_printf(m, "%-45s:%21lld\n", name, val);
}

static void show_group(struct seq_file *m, struct sched_cache_group *grp)
{
	struct sched_cache_llc *pref = READ_ONCE(grp->pref);
	struct sched_cache_footprint *fp = READ_ONCE(grp->footprint);
	u32 running = READ_ONCE(grp->running);

	show_str(m, "sched_cache.gate", gate_names[READ_ONCE(grp->gate)]);
	show_num(m, "sched_cache.pref_llc", pref ? pref->id : -1);
	show_num(m, "sched_cache.share_pct", pref ? share_pct(grp, pref) : 0);
	seq_printf(m, "%-45s:%18u.%02u\n", "sched_cache.running",
		   running >> SCHED_CACHE_CPU_SHIFT,
		   (u32)((running % SCHED_CACHE_CPU) * 100 >> SCHED_CACHE_CPU_SHIFT));
	/* Only a resident set that is larger than the LLC is looked at. */
	if (fp)
		show_num(m, "sched_cache.footprint_kb",
			 sched_cache_footprint_bytes(fp) >> 10);
}

/**
 * sched_cache_show_task - a task's lines in /proc/PID/sched
 * @p: the task
 * @m: the file
 *
 * What is shown is that of the process: a thread that has slept since the group
 * was made has not joined it yet. Process context; may sleep.
 */
void sched_cache_show_task(struct task_struct *p, struct seq_file *m)
{
	unsigned int mode = sched_cache_mode(p);
	struct sched_cache_group *grp = NULL;
	struct mm_struct *mm;

	show_str(m, "sched_cache.mode", mode_names[mode]);
	if (mode == PR_SCHED_CACHE_NEVER) {
		show_str(m, "sched_cache.gate", "never");
		return;
	}

	mm = get_task_mm(p);
	if (mm)
		/* The mm keeps it. Pairs with cmpxchg() in sched_cache_group_join(). */
		grp = smp_load_acquire(&mm->sched_cache);
	if (grp)
		show_group(m, grp);
	else
		show_str(m, "sched_cache.gate", "none");
	if (mm)
		mmput(mm);
}

#endif /* CONFIG_SCHED_DEBUG */
