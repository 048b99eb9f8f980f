/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sched_cache

#if !defined(_TRACE_SCHED_CACHE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_SCHED_CACHE_H

#include <linux/sched.h>
#include <linux/tracepoint.h>

TRACE_DEFINE_ENUM(SCHED_CACHE_OPEN);
TRACE_DEFINE_ENUM(SCHED_CACHE_NEW);
TRACE_DEFINE_ENUM(SCHED_CACHE_OFF);
TRACE_DEFINE_ENUM(SCHED_CACHE_SINGLE);
TRACE_DEFINE_ENUM(SCHED_CACHE_THREADS);
TRACE_DEFINE_ENUM(SCHED_CACHE_FOOTPRINT);
TRACE_DEFINE_ENUM(SCHED_CACHE_BUSY);
TRACE_DEFINE_ENUM(SCHED_CACHE_NO_ROOM);
TRACE_DEFINE_ENUM(SCHED_CACHE_NOWHERE);

TRACE_DEFINE_ENUM(SCHED_CACHE_REFUSE_ASYM);
TRACE_DEFINE_ENUM(SCHED_CACHE_REFUSE_NODE);
TRACE_DEFINE_ENUM(SCHED_CACHE_REFUSE_ROOM);
TRACE_DEFINE_ENUM(SCHED_CACHE_REFUSE_AFFINITY);
TRACE_DEFINE_ENUM(SCHED_CACHE_REFUSE_BUSY);
TRACE_DEFINE_ENUM(SCHED_CACHE_REFUSE_PACKING);

#define show_gate(val)					\
	__print_symbolic(val,				\
		{ SCHED_CACHE_OPEN,	"open" },	\
		{ SCHED_CACHE_NEW,	"new" },	\
		{ SCHED_CACHE_OFF,	"off" },	\
		{ SCHED_CACHE_SINGLE,	"single" },	\
		{ SCHED_CACHE_THREADS,	"threads" },	\
		{ SCHED_CACHE_FOOTPRINT, "footprint" },	\
		{ SCHED_CACHE_BUSY,	"busy" },	\
		{ SCHED_CACHE_NO_ROOM,	"no_room" },	\
		{ SCHED_CACHE_NOWHERE,	"nowhere" })

#define show_refusal(val)				\
	__print_symbolic(val,				\
		{ SCHED_CACHE_REFUSE_ASYM,	"asym" },	\
		{ SCHED_CACHE_REFUSE_NODE,	"node" },	\
		{ SCHED_CACHE_REFUSE_ROOM,	"room" },	\
		{ SCHED_CACHE_REFUSE_AFFINITY,	"affinity" },	\
		{ SCHED_CACHE_REFUSE_BUSY,	"busy" },	\
		{ SCHED_CACHE_REFUSE_PACKING,	"packing" })

/*
 * One scan of a group: which CPUs were looked at, what came of it.
 * Reported by the scanning thread, for its thread group.
 */
TRACE_EVENT(sched_cache_scan,

	TP_PROTO(struct task_struct *p, unsigned int cpus, unsigned int skipped,
		 unsigned int evicted, unsigned int llcs, u64 duration,
		 unsigned int running, u64 footprint, int pref, int gate),

	TP_ARGS(p, cpus, skipped, evicted, llcs, duration, running, footprint,
		pref, gate),

	TP_STRUCT__entry(
		__array(char,		comm, TASK_COMM_LEN)
		__field(pid_t,		tgid)
		__field(unsigned int,	cpus)
		__field(unsigned int,	skipped)
		__field(unsigned int,	evicted)
		__field(unsigned int,	llcs)
		__field(unsigned int,	running)
		__field(u64,		duration)
		__field(u64,		footprint)
		__field(int,		pref)
		__field(int,		gate)
	),

	TP_fast_assign(
		memcpy(__entry->comm, p->comm, TASK_COMM_LEN);
		__entry->tgid		= p->tgid;
		__entry->cpus		= cpus;
		__entry->skipped	= skipped;
		__entry->evicted	= evicted;
		__entry->llcs		= llcs;
		__entry->running	= running;
		__entry->duration	= duration;
		__entry->footprint	= footprint;
		__entry->pref		= pref;
		__entry->gate		= gate;
	),

	TP_printk("comm=%s tgid=%d cpus=%u skipped=%u evicted=%u llcs=%u duration=%llu running=%u.%02u footprint=%llu pref=%d gate=%s",
		  __entry->comm, __entry->tgid, __entry->cpus,
		  __entry->skipped, __entry->evicted, __entry->llcs,
		  __entry->duration, __entry->running >> 10,
		  (__entry->running & 1023) * 100 >> 10, __entry->footprint,
		  __entry->pref,
		  show_gate(__entry->gate))
);

/* The preferred LLC of a group changed; -1 is none, for the reason in gate. */
TRACE_EVENT(sched_cache_pref,

	TP_PROTO(struct task_struct *p, int old, int pref, int gate),

	TP_ARGS(p, old, pref, gate),

	TP_STRUCT__entry(
		__array(char,	comm, TASK_COMM_LEN)
		__field(pid_t,	tgid)
		__field(int,	old)
		__field(int,	pref)
		__field(int,	gate)
	),

	TP_fast_assign(
		memcpy(__entry->comm, p->comm, TASK_COMM_LEN);
		__entry->tgid	= p->tgid;
		__entry->old	= old;
		__entry->pref	= pref;
		__entry->gate	= gate;
	),

	TP_printk("comm=%s tgid=%d old=%d pref=%d gate=%s", __entry->comm,
		  __entry->tgid, __entry->old, __entry->pref,
		  show_gate(__entry->gate))
);

/* A running task moved itself into its preferred LLC. */
TRACE_EVENT(sched_cache_home,

	TP_PROTO(struct task_struct *p, int src_cpu, int dst_cpu),

	TP_ARGS(p, src_cpu, dst_cpu),

	TP_STRUCT__entry(
		__array(char,	comm, TASK_COMM_LEN)
		__field(pid_t,	pid)
		__field(int,	src_cpu)
		__field(int,	dst_cpu)
	),

	TP_fast_assign(
		memcpy(__entry->comm, p->comm, TASK_COMM_LEN);
		__entry->pid		= p->pid;
		__entry->src_cpu	= src_cpu;
		__entry->dst_cpu	= dst_cpu;
	),

	TP_printk("comm=%s pid=%d src_cpu=%d dst_cpu=%d", __entry->comm,
		  __entry->pid, __entry->src_cpu, __entry->dst_cpu)
);

/* A waking or new task was placed in its preferred LLC. */
TRACE_EVENT(sched_cache_wake,

	TP_PROTO(struct task_struct *p, int cpu),

	TP_ARGS(p, cpu),

	TP_STRUCT__entry(
		__array(char,	comm, TASK_COMM_LEN)
		__field(pid_t,	pid)
		__field(int,	cpu)
	),

	TP_fast_assign(
		memcpy(__entry->comm, p->comm, TASK_COMM_LEN);
		__entry->pid	= p->pid;
		__entry->cpu	= cpu;
	),

	TP_printk("comm=%s pid=%d cpu=%d", __entry->comm, __entry->pid,
		  __entry->cpu)
);

/* A task was not taken to its preferred LLC, for the reason given. */
TRACE_EVENT(sched_cache_refuse,

	TP_PROTO(struct task_struct *p, int pref, int reason),

	TP_ARGS(p, pref, reason),

	TP_STRUCT__entry(
		__array(char,	comm, TASK_COMM_LEN)
		__field(pid_t,	pid)
		__field(int,	pref)
		__field(int,	reason)
	),

	TP_fast_assign(
		memcpy(__entry->comm, p->comm, TASK_COMM_LEN);
		__entry->pid	= p->pid;
		__entry->pref	= pref;
		__entry->reason	= reason;
	),

	TP_printk("comm=%s pid=%d pref=%d reason=%s", __entry->comm,
		  __entry->pid, __entry->pref,
		  show_refusal(__entry->reason))
);

#endif /* _TRACE_SCHED_CACHE_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
