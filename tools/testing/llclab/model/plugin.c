// SPDX-License-Identifier: GPL-2.0
/*
 * The cache model as a plugin of QEMU's TCG.
 *
 * While the guest boots only marks are looked for, which costs nothing.  The mark
 * "start" has all code translated anew, with a call for each block and each access.
 *
 * Which CPU is it?  QEMU passes an index, but from 9.2 (plugin API 4) on, outside of
 * MTTCG, that is the CPU which translated the block, a constant.  There, the host
 * register that holds the CPU's state while translated code runs tells them apart.
 * Either is only a key: the guest says on each CPU in turn which one it is ("cpu N"),
 * and then checks that what it runs is seen there ("spin N", "spun N").  When that
 * fails there is no report.  A block's first call sets the CPU for all that is in it.
 */
#include <stdlib.h>
#include <string.h>

#include <qemu-plugin.h>

#include "env.h"
#include "model.h"

#define EXPORT		__attribute__((visibility("default")))
#define FOLDED_SINCE	4		/* version of the plugin API */

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static qemu_plugin_id_t plugin;
static struct options opt;
static struct report report = { .options = &opt };
static struct cache *cache;

static struct phase *phases[MAX_PHASES];
static unsigned int phase;		/* the current one */

static struct vcpu vcpus[MAX_CPUS];	/* in the order of "cpu N" */
static struct vcpu *vcpu;		/* the one that runs, or NULL */
static unsigned int nr_vcpus;
static bool started, ready, reported;
static struct cache_counts ignored, *counts = &ignored;	/* where this block is counted */

static uint64_t spin_insns[MAX_CPUS];	/* in user mode, between "spin" and "spun" */
static unsigned int spins;
static bool spinning;

static uint64_t node_accesses[CACHE_MAX_BLOCKS];	/* of user mode, "node" to "seen" */
static bool node_learning;
static unsigned int nodes;

static void trouble(const char *text)
{
	if (!report.trouble)
		report.trouble = strdup(text);
}

/*
 * Phases
 */

static void phase_set(const char *name)
{
	unsigned int i;

	for (i = 0; i < report.nr_phases && strcmp(phases[i]->name, name); i++)
		;
	if (i == MAX_PHASES) {
		trouble("too many phases");
		return;
	}
	if (i == report.nr_phases) {
		phases[i] = calloc(1, sizeof(*phases[i]));
		if (!phases[i]) {
			trouble("no memory for another phase");
			return;
		}
		snprintf(phases[i]->name, NAME_LEN, "%s", name);
		report.nr_phases++;
	}
	phase = i;
}

/*
 * CPUs
 */

static struct vcpu *vcpu_find(const void *key)
{
	unsigned int i;

	if (vcpu && vcpu->key == key)
		return vcpu;
	for (i = 0; i < nr_vcpus; i++)
		if (vcpus[i].key == key)
			return &vcpus[i];
	return NULL;
}

static const void *key_of(unsigned int index, const void *env, bool in_block)
{
	if (opt.key == KEY_ENV)
		return env;
	/* As QEMU does it from 9.2 on: one CPU for all, here the first one. */
	if (opt.key == KEY_FOLDED || (opt.key == KEY_BLOCKS && in_block))
		index = 0;
	return (const void *)(uintptr_t)(index + 1);
}

static void vcpu_is(unsigned int nr, const void *key)
{
	char text[128];
	struct vcpu *v = vcpu_find(key);

	if (v) {
		snprintf(text, sizeof(text), "CPUs %u and %u look the same to the model",
			 v->nr, nr);
		trouble(text);
	} else if (nr >= opt.cpus || nr_vcpus == opt.cpus) {
		snprintf(text, sizeof(text), "CPU %u, but the model has only %u", nr, opt.cpus);
		trouble(text);
	} else {
		vcpus[nr_vcpus++] = (struct vcpu){ .key = key, .nr = nr };
		/* Some have blocks to finish before they are asked for their own number. */
		ready = nr_vcpus == opt.cpus;
	}
}

/* The guest has run a loop on CPU @nr: nearly all of user mode must have been seen there. */
static void spin_check(unsigned int nr)
{
	uint64_t all = 0;
	unsigned int i;
	char text[128];

	for (i = 0; i < opt.cpus; i++)
		all += spin_insns[i];
	if (nr < opt.cpus && ready && all && spin_insns[nr] >= all * 0.9) {
		spins++;
		return;
	}
	snprintf(text, sizeof(text), "a program on CPU %u was seen there for %d %% of its time", nr,
		 nr < opt.cpus && all ? (int)(100 * spin_insns[nr] / all) : 0);
	trouble(text);
}

/*
 * Nodes
 *
 * Which addresses are memory of which node depends on the version of QEMU, too: 7.2
 * shows addresses that are not the guest's physical ones. The guest touches memory
 * of each node and says so.
 */
static void node_seen(unsigned int node)
{
	unsigned int i, most = 0;

	for (i = 1; i < CACHE_MAX_BLOCKS; i++)
		if (node_accesses[i] > node_accesses[most])
			most = i;
	cache_set_node(cache, most, node);
	nodes++;
}

/*
 * Marks
 */

static void start(void);

static void write_report(void)
{
	if (!started)
		trouble("the guest did not start the model");
	else if (spins != opt.cpus)
		trouble("the guest has not shown the model all of its CPUs");
	else if (opt.geometry.node_shift && nodes != opt.geometry.llcs / opt.geometry.llcs_per_node)
		trouble("the guest has not shown the model memory of each node");
	report.phases = phases;
	if (!reported)
		report_write(&report);
	reported = true;
}

static void message(char *text, const void *key)
{
	char *arg = strchr(text, ' ');
	unsigned int nr;

	if (arg)
		*arg++ = '\0';
	else
		arg = text + strlen(text);
	nr = atoi(arg);
	if (!strcmp(text, "begin") && *arg && strlen(arg) < NAME_LEN) {
		phase_set(arg);
	} else if (!strcmp(text, "end")) {
		phase = 0;
	} else if (!strcmp(text, "process")) {
		if (opt.process && (!vcpu || !space_want(vcpus, nr_vcpus, vcpu)))
			report.bad_marks++;
	} else if (!strcmp(text, "start")) {
		if (!started)
			start();
	} else if (!strcmp(text, "cpu")) {
		vcpu_is(nr, key);
	} else if (!strcmp(text, "spin")) {
		memset(spin_insns, 0, sizeof(spin_insns));
		spinning = true;
	} else if (!strcmp(text, "spun")) {
		spin_check(nr);
		spinning = false;
	} else if (!strcmp(text, "node") && opt.geometry.node_shift) {
		memset(node_accesses, 0, sizeof(node_accesses));
		node_learning = true;
	} else if (!strcmp(text, "seen") && opt.geometry.node_shift) {
		node_learning = false;
		node_seen(nr);
	} else if (!strcmp(text, "flush")) {
		cache_flush(cache);
	} else if (!strcmp(text, "report")) {
		write_report();
	} else {
		report.bad_marks++;
	}
}

static void mark(unsigned int index, void *udata, const void *env)
{
	static char text[MESSAGE_LEN];
	static unsigned int len;
	char byte = (uintptr_t)udata & 0xff;

	if (byte == 1) {
		phases[phase]->ops++;
		return;
	}
	if (byte) {
		if (len < MESSAGE_LEN - 1)
			text[len++] = byte;
		else
			report.bad_marks++;
		return;
	}
	text[len] = '\0';
	len = 0;
	message(text, key_of(index, env, false));
}

/*
 * Blocks and accesses
 */

static bool counted(const struct vcpu *v, bool kernel)
{
	if (opt.mode == COUNT_USER && kernel)
		return false;
	if (opt.mode == COUNT_KERNEL && !kernel)
		return false;
	return !opt.process || (v->wanted && !v->lazy);
}

#define BLOCK_KERNEL	BIT(31)

static void block(unsigned int index, void *udata, const void *env)
{
	uint32_t bits = (uintptr_t)udata, insns = bits & ~BLOCK_KERNEL;
	struct vcpu *v = vcpu_find(key_of(index, env, true));
	bool kernel = bits & BLOCK_KERNEL;

	vcpu = v;
	counts = &ignored;
	if (!v || !ready)
		return;
	if (counted(v, kernel))
		counts = &phases[phase]->cpu[v->nr];
	counts->insns += insns;
	counts->insns_user += kernel ? 0 : insns;
	if (spinning && !kernel)
		spin_insns[v->nr] += insns;
}

/*
 * With an access: where the code is. This bit of it, else as the topmost one, is the
 * other way round when a load wants the line for a store.
 */
#define FOR_STORE	BIT_ULL(56)

static bool in_range(uint64_t vaddr, uint64_t paddr)
{
	uint64_t addr = opt.range_start >> 63 ? vaddr : paddr;

	return addr >= opt.range_start && addr < opt.range_end;
}

static void touch(uint64_t vaddr, uint64_t paddr, uint64_t pc, bool write)
{
	struct cache_counts *n = counts;
	enum cache_result result;

	if (paddr >= opt.geometry.memory) {
		report.outside++;
		return;
	}
	if (node_learning && pc >> 63 == 0)
		node_accesses[paddr >> opt.geometry.node_shift]++;
	if (opt.has_range && !in_range(vaddr, paddr))
		n = &ignored;
	result = cache_access(cache, vcpu->nr, paddr, write, n);
	if (n == &ignored || !phase || !opt.top)
		return;
	if (result == CACHE_UPGRADE || result == CACHE_TRANSFER)
		top_count(paddr, vaddr, pc, write, result);
}

static void access_memory(unsigned int index, qemu_plugin_meminfo_t info, uint64_t vaddr,
			  void *udata)
{
	uint64_t bits = (uintptr_t)udata, flip = (bits >> 7 ^ bits) & FOR_STORE, pc = bits ^ flip;
	bool write = flip || qemu_plugin_mem_is_store(info);
	const struct qemu_plugin_hwaddr *where;
	unsigned int size, line_rest;
	uint64_t paddr;

	(void)index;
	if (!ready || !vcpu)
		return;
	where = qemu_plugin_get_hwaddr(info, vaddr);
	if (!where || qemu_plugin_hwaddr_is_io(where))
		return;
	paddr = qemu_plugin_hwaddr_phys_addr(where);
	touch(vaddr, paddr, pc, write);
	/* The rest of an access that crosses a line; in another page it may be anywhere. */
	size = 1u << qemu_plugin_mem_size_shift(info);
	line_rest = 64 - vaddr % 64;
	if (size > line_rest && vaddr % 4096 + size <= 4096)
		touch(vaddr + line_rest, paddr + line_rest, pc, write);
}

/* Two callbacks for the accesses of one instruction: QEMU 7.2 calls only one of them. */
static void access_mm(unsigned int index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	space_load(vaddr);
	access_memory(index, info, vaddr, udata);
}

static void count_symbol(unsigned int index, void *udata)
{
	(void)index;
	if (counts != &ignored)
		phases[phase]->counter[(uintptr_t)udata]++;
}

WITH_ENV(mark)
WITH_ENV(block)

/*
 * Translation
 */

#define NO_REGS		QEMU_PLUGIN_CB_NO_REGS

/* A number as what QEMU passes to a callback. */
static void *value(uint64_t n)
{
	return (void *)(uintptr_t)n;
}

/*
 * Of the instruction's bytes as many as there are, at most @max; how many. API 3 has
 * changed the function; what counts is the QEMU that runs, not the header.
 */
static size_t insn_bytes(const struct qemu_plugin_insn *insn, uint8_t *bytes, size_t max)
{
	size_t (*copy)(const struct qemu_plugin_insn *insn, void *dest, size_t len);
	const void *(*peek)(const struct qemu_plugin_insn *insn);
	size_t size = qemu_plugin_insn_size(insn);

	if (size > max)
		size = max;
	if (report.api >= 3) {
		copy = (void *)qemu_plugin_insn_data;
		return copy(insn, bytes, size);
	}
	peek = (void *)qemu_plugin_insn_data;
	memcpy(bytes, peek(insn), size);
	return size;
}

/* A load that is the first half of a locked operation, or of xchg, wants the line for itself. */
static bool is_atomic(const uint8_t *b, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (b[i] == 0xf0)
			return true;
		if (b[i] == 0x86 || b[i] == 0x87)
			return true;
		if (b[i] != 0x66 && b[i] != 0x65 && b[i] != 0x64 && b[i] >> 4 != 4)
			return false;
	}
	return false;
}

/* nopl 0x4c4c43BB(%rax), see llc_phase.h */
static bool is_mark(const uint8_t *b, size_t size)
{
	static const uint8_t start_of[] = { 0x0f, 0x1f, 0x80 }, end_of[] = { 0x43, 0x4c, 0x4c };

	return size == 7 && !memcmp(b, start_of, 3) && !memcmp(b + 4, end_of, 3);
}

static void translate_insn(struct qemu_plugin_insn *insn)
{
	uint64_t pc = qemu_plugin_insn_vaddr(insn);
	uint8_t bytes[16];
	size_t size = insn_bytes(insn, bytes, sizeof(bytes));
	qemu_plugin_vcpu_mem_cb_t access = access_memory;
	unsigned int i;

	if (is_mark(bytes, size))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_entry, NO_REGS, value(bytes[3]));
	if (!started)
		return;
	for (i = 0; i < opt.counters; i++)
		if (opt.counter[i].addr == pc)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, count_symbol, NO_REGS,
							       value(i));
	if (opt.process && space_translate(&opt, insn, pc, bytes, size))
		access = access_mm;
	qemu_plugin_register_vcpu_mem_cb(insn, access, NO_REGS, QEMU_PLUGIN_MEM_RW,
					 value(is_atomic(bytes, size) ? pc ^ FOR_STORE : pc));
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	bool kernel = qemu_plugin_tb_vaddr(tb) >> 63;

	(void)id;
	if (started)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, block_entry, NO_REGS,
						     value(n | (kernel ? BLOCK_KERNEL : 0)));
	for (i = 0; i < n; i++)
		translate_insn(qemu_plugin_tb_get_insn(tb, i));
}

static void restarted(qemu_plugin_id_t id)
{
	started = true;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
}

/* Have all code translated anew. */
static void start(void)
{
	qemu_plugin_reset(plugin, restarted);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	bool folded = info->version.cur >= FOLDED_SINCE;
	const char *wrong = options_parse(&opt, argc, argv, folded ? KEY_ENV : KEY_INDEX);

	if (!wrong && opt.key == KEY_ENV && !HAVE_ENV)
		wrong = "this host's CPU is none that the model knows with QEMU 9.2 and newer";
	if (!wrong) {
		cache = cache_new(&opt.geometry);
		if (!cache)
			wrong = "no memory for the caches";
	}
	if (wrong) {
		fprintf(stderr, "cache model: %s\n", wrong);
		return 1;
	}
	plugin = id;
	report.api = info->version.cur;
	space_init(&vcpu);
	phase_set("");
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
