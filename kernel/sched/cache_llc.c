// SPDX-License-Identifier: GPL-2.0
/*
 * Cache-aware load balancing: the LLCs, and whether there are enough of them.
 */
#include <linux/cacheinfo.h>
#include <linux/mmu_context.h>

#include "sched.h"

DEFINE_STATIC_KEY_FALSE(sched_cache_active);

/* The LLC a CPU is in now by its sched domains, NULL while it is in none. */
DEFINE_PER_CPU_READ_MOSTLY(struct sched_cache_llc *, sched_cache_llc);

/*
 * The LLC a CPU was last in. A CPU does not change its cache, so it finds its
 * LLC again when it comes back, and a new CPU finds it through its neighbours.
 * The halves of an LLC that a cpuset partition has split are one LLC: it is one
 * cache, and a task reaches only the CPUs it may use anyway.
 * Written under sched_domains_mutex.
 */
static DEFINE_PER_CPU_READ_MOSTLY(struct sched_cache_llc *, cpu_last_llc);
static LIST_HEAD(llcs);
static int nr_llcs;

/* Size of a CPU's last-level cache as its cacheinfo has it. */
static DEFINE_PER_CPU(u64, cpu_llc_bytes);

static void update_active(struct work_struct *work);
static DECLARE_WORK(update_work, update_active);

static struct sched_cache_llc *llc_of_span(const struct cpumask *span)
{
	struct sched_cache_llc *llc, *found = NULL;
	int cpu;

	/* Two that were partitions before they met: the older one it is. */
	for_each_cpu(cpu, span) {
		llc = per_cpu(cpu_last_llc, cpu);
		if (llc && (!found || llc->id < found->id))
			found = llc;
	}
	if (found)
		return found;

	/* Under rcu_read_lock(). Without memory the CPU just stays out of it. */
	llc = kzalloc(struct_size(llc, cpus, BITS_TO_LONGS(nr_cpu_ids)), GFP_NOWAIT);
	if (!llc)
		return NULL;
	llc->id = nr_llcs++;
	llc->nid = cpu_to_node(cpumask_first(span));
	list_add_tail_rcu(&llc->list, &llcs);
	return llc;
}

/**
 * sched_cache_attach - a CPU's sched domains have changed
 * @cpu: the CPU
 * @sd: its highest domain with SD_SHARE_LLC, NULL if it has none
 *
 * Called under sched_domains_mutex and rcu_read_lock(). Static keys cannot be
 * switched here (not all callers hold the hotplug lock), so that is left to a
 * work item.
 */
void sched_cache_attach(int cpu, struct sched_domain *sd)
{
	struct sched_cache_llc *old = per_cpu(sched_cache_llc, cpu), *llc = NULL;

	if (sd)
		llc = llc_of_span(sched_domain_span(sd));
	if (llc)
		per_cpu(cpu_last_llc, cpu) = llc;

	if (llc != old) {
		if (old)
			clear_bit(cpu, old->cpus);
		if (llc)
			set_bit(cpu, llc->cpus);
		WRITE_ONCE(per_cpu(sched_cache_llc, cpu), llc);
	}
	schedule_work(&update_work);
}

/**
 * sched_cache_walk_llcs - call a function for each LLC in use
 * @fn: the function; a result other than 0 ends the walk
 * @arg: its second argument
 *
 * In the order of their numbers. Any context.
 *
 * Return: the last result of @fn, 0 if there is no LLC.
 */
int sched_cache_walk_llcs(sched_cache_llc_fn fn, void *arg)
{
	struct sched_cache_llc *llc;
	int ret;

	/* None is ever freed. */
	list_for_each_entry_rcu(llc, &llcs, list, true) {
		if (cpumask_empty(to_cpumask(llc->cpus)))
			continue;
		ret = fn(llc, arg);
		if (ret)
			return ret;
	}
	return 0;
}

static int llc_update(struct sched_cache_llc *llc, void *nr)
{
	struct cpumask *cpus = to_cpumask(llc->cpus);
	unsigned int cores = 0;
	u64 bytes = 0;
	int cpu;

	for_each_cpu(cpu, cpus) {
		cores += cpumask_first_and(cpu_smt_mask(cpu), cpus) == cpu;
		bytes = max(bytes, READ_ONCE(per_cpu(cpu_llc_bytes, cpu)));
	}
	for_each_cpu(cpu, cpus) {
		WARN_ONCE(IS_ENABLED(CONFIG_SCHED_CACHE_DEBUG) &&
			  per_cpu(sched_cache_llc, cpu) != llc,
			  "LLC %d claims CPU %d of another one", llc->id, cpu);
	}
	WRITE_ONCE(llc->bytes, bytes);
	WRITE_ONCE(llc->nr_cores, cores);
	++*(int *)nr;
	return 0;
}

/* The switch, and who has set it last. Under sched_cache_mutex once booted. */
static bool enabled = IS_ENABLED(CONFIG_SCHED_CACHE_DEFAULT_ON);
static const char *off_reason =
	"off by default: CONFIG_SCHED_CACHE_DEFAULT_ON is not set";
static DEFINE_MUTEX(sched_cache_mutex);

static int set_at_boot(const char *val, const struct kernel_param *kp)
{
	int ret = param_set_bool(val, kp);

	if (!ret)
		off_reason = "off by boot parameter: sched_cache=off";
	return ret;
}

static const struct kernel_param_ops param_ops_switch = {
	.flags	= KERNEL_PARAM_OPS_FL_NOARG,
	.set	= set_at_boot,
};

#define param_check_switch(name, var)	param_check_bool(name, var)
core_param(sched_cache, enabled, switch, 0);

/* The one place that decides whether the feature is at work. */
static void update_active(struct work_struct *work)
{
	int nr = 0;

	guard(mutex)(&sched_cache_mutex);
	cpus_read_lock();
	scoped_guard(mutex, &sched_domains_mutex)
		sched_cache_walk_llcs(llc_update, &nr);

	if (!enabled || nr < 2) {
		static_branch_disable_cpuslocked(&sched_cache_active);
	} else if (!static_key_enabled(&sched_cache_active)) {
		sched_cache_clock_restart();
		static_branch_enable_cpuslocked(&sched_cache_active);
	}
	cpus_read_unlock();
}

/**
 * sched_cache_set_enabled - the switch
 * @on: switch on or off
 *
 * Off leaves nothing behind that anybody looks at. On takes effect if there are
 * two LLCs or more. Process context, no locks held.
 */
void sched_cache_set_enabled(bool on)
{
	scoped_guard(mutex, &sched_cache_mutex) {
		WRITE_ONCE(enabled, on);
		WRITE_ONCE(off_reason, "off by user: llc_enabled is 0");
	}
	update_active(NULL);
}

/**
 * sched_cache_off_reason - why the switch is off
 *
 * Return: a text for people, good only while it is off.
 */
const char *sched_cache_off_reason(void)
{
	return READ_ONCE(off_reason);
}

/**
 * sched_cache_enabled - the position of the switch
 *
 * Return: true if it is on, whether or not that has an effect here.
 */
bool sched_cache_enabled(void)
{
	return READ_ONCE(enabled);
}

/*
 * The size is a property of the cache, not of its CPUs that happen to be online:
 * the size attribute of the last leaf, as the hardware reports it. It is known
 * after the domains are first built, and asked for again whenever a CPU comes.
 */
static int cache_size_online(unsigned int cpu)
{
	struct cpu_cacheinfo *ci = get_cpu_cacheinfo(cpu);

	if (ci && ci->info_list && ci->num_leaves)
		WRITE_ONCE(per_cpu(cpu_llc_bytes, cpu),
			   ci->info_list[ci->num_leaves - 1].size);
	schedule_work(&update_work);
	return 0;
}

static int __init sched_cache_init(void)
{
	int ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "sched/cache:online",
				    cache_size_online, NULL);

	return ret < 0 ? ret : 0;
}
late_initcall(sched_cache_init);
