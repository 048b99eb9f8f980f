// SPDX-License-Identifier: GPL-2.0
/*
 * Cache-aware load balancing: debugfs.
 *
 * Every knob exists once. It is shown in /sys/kernel/debug/sched as llc_NAME and
 * in /sys/kernel/debug/sched/llc_balancing as NAME, where later kernels have it.
 */
#include <linux/debugfs.h>
#include <linux/mmu_context.h>

#include "sched.h"

/**
 * struct knob - a number that can be set
 * @name: without prefix
 * @min: least value
 * @max: greatest value
 * @get: read it
 * @set: set it to a value that is in range
 */
struct knob {
	const char	*name;
	unsigned int	min, max;
	unsigned int	(*get)(void);
	void		(*set)(unsigned int val);
};

static unsigned int get_enabled(void)
{
	return sched_cache_enabled();
}

static void set_enabled(unsigned int val)
{
	sched_cache_set_enabled(val);
}

#define SIMPLE_KNOB(var)						\
static unsigned int get_##var(void) { return READ_ONCE(sched_cache_##var); } \
static void set_##var(unsigned int val) { WRITE_ONCE(sched_cache_##var, val); }

SIMPLE_KNOB(tolerance)
SIMPLE_KNOB(timeout)
SIMPLE_KNOB(overaggr_pct)
SIMPLE_KNOB(imb_pct)

static const struct knob knobs[] = {
	{ "enabled",		    0,    1, get_enabled, set_enabled },
	{ "aggr_tolerance",	    0,  100, get_tolerance, set_tolerance },
	{ "epoch_period",	    1, 1000, sched_cache_period_ms,
	  sched_cache_set_period_ms },
	{ "epoch_affinity_timeout", 1, 1000, get_timeout, set_timeout },
	{ "overaggr_pct",	    0,  100, get_overaggr_pct, set_overaggr_pct },
	{ "imb_pct",		    0,  100, get_imb_pct, set_imb_pct },
};

static int knob_show(struct seq_file *m, void *v)
{
	const struct knob *knob = m->private;

	seq_printf(m, "%u\n", knob->get());
	return 0;
}

static ssize_t knob_write(struct file *file, const char __user *ubuf, size_t cnt,
			  loff_t *ppos)
{
	const struct knob *knob = file_inode(file)->i_private;
	unsigned int val;
	int ret;

	ret = kstrtouint_from_user(ubuf, cnt, 0, &val);
	/* What is no number and what is none of ours are the same to a script. */
	if (ret == -EFAULT)
		return ret;
	if (ret || val < knob->min || val > knob->max)
		return -EINVAL;

	knob->set(val);
	*ppos += cnt;
	return cnt;
}

static int knob_open(struct inode *inode, struct file *file)
{
	return single_open(file, knob_show, inode->i_private);
}

static const struct file_operations knob_fops = {
	.open		= knob_open,
	.read		= seq_read,
	.write		= knob_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int state_llc(struct sched_cache_llc *llc, void *arg)
{
	u32 wanted = sched_cache_llc_wanted(llc);
	struct seq_file *m = arg;

	seq_printf(m, "llc %d: cpus %*pbl cores %u node %d size %llu KiB wanted %u.%02u\n",
		   llc->id, cpumask_pr_args(to_cpumask(llc->cpus)),
		   READ_ONCE(llc->nr_cores), llc->nid, llc->bytes >> 10,
		   wanted >> SCHED_CACHE_CPU_SHIFT,
		   (u32)((wanted % SCHED_CACHE_CPU) * 100 >> SCHED_CACHE_CPU_SHIFT));
	return 0;
}

static int count_llc(struct sched_cache_llc *llc, void *nr)
{
	++*(int *)nr;
	return 0;
}

static int llc_state_show(struct seq_file *m, void *v)
{
	int nr = 0;

	sched_cache_walk_llcs(count_llc, &nr);

	seq_puts(m, "active: ");
	if (static_key_enabled(&sched_cache_active))
		seq_puts(m, "yes\n");
	else if (!sched_cache_enabled())
		seq_printf(m, "no (%s)\n", sched_cache_off_reason());
	else if (!nr)
		seq_puts(m, "no (no LLC domain)\n");
	else
		seq_puts(m, "no (one LLC)\n");

	seq_printf(m, "llcs: %d\n", nr);
	seq_printf(m, "groups: %ld\n", sched_cache_nr_groups());
	sched_cache_walk_llcs(state_llc, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(llc_state);

static const char * const stat_names[] = {
	[SCHED_CACHE_SCAN]	= "scans",
	[SCHED_CACHE_SCAN_CPUS]	= "scanned_cpus",
	[SCHED_CACHE_ELECT]	= "pref_changes",
	[SCHED_CACHE_HOME]	= "home",
	[SCHED_CACHE_SWAP]	= "swap",
	[SCHED_CACHE_WAKE]	= "wake",
	[SCHED_CACHE_KEPT]	= "kept",
};

/* As in trace events */
static const char * const refusal_names[] = {
	[SCHED_CACHE_REFUSE_ASYM]	= "asym",
	[SCHED_CACHE_REFUSE_NODE]	= "node",
	[SCHED_CACHE_REFUSE_ROOM]	= "room",
	[SCHED_CACHE_REFUSE_AFFINITY]	= "affinity",
	[SCHED_CACHE_REFUSE_BUSY]	= "busy",
	[SCHED_CACHE_REFUSE_PACKING]	= "packing",
};

static int llc_stats_show(struct seq_file *m, void *v)
{
	unsigned long sum;
	int i, cpu;

	for (i = 0; i < SCHED_CACHE_NR_STATS; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += per_cpu(sched_cache_stats, cpu)[i];
		if (i < SCHED_CACHE_REFUSED)
			seq_printf(m, "%s %lu\n", stat_names[i], sum);
		else
			seq_printf(m, "refused_%s %lu\n",
				   refusal_names[i - SCHED_CACHE_REFUSED], sum);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(llc_stats);

static int __init sched_cache_debug_init(void)
{
	struct dentry *sched = debugfs_lookup("sched", NULL), *dir;
	char name[40];
	int i;

	BUILD_BUG_ON(ARRAY_SIZE(stat_names) != SCHED_CACHE_REFUSED);
	BUILD_BUG_ON(ARRAY_SIZE(refusal_names) != SCHED_CACHE_NR_REFUSALS);

	if (!sched)
		sched = debugfs_create_dir("sched", NULL);
	dir = debugfs_create_dir("llc_balancing", sched);

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		snprintf(name, sizeof(name), "llc_%s", knobs[i].name);
		debugfs_create_file(name, 0644, sched, (void *)&knobs[i], &knob_fops);
		debugfs_create_file(knobs[i].name, 0644, dir, (void *)&knobs[i],
				    &knob_fops);
	}
	debugfs_create_file("llc_state", 0444, sched, NULL, &llc_state_fops);
	debugfs_create_file("llc_stats", 0444, sched, NULL, &llc_stats_fops);
	return 0;
}
late_initcall(sched_cache_debug_init);
