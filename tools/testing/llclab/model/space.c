// SPDX-License-Identifier: GPL-2.0
/*
 * Which address space does a CPU use?  Plugins of API 1 cannot read registers, so
 * CR3 stays hidden.  But to load it the kernel's switch_mm_irqs_off() reads the
 * address of the page table from the mm, and the address of that field, which an
 * access shows, stands for the mm as well.  It is the last load through a plain base
 * register before "mov REG, %cr3".
 *
 * enter_lazy_tlb() says that a kernel thread, the idle one mostly, goes on with the
 * mm of who ran before; a switch ends that.  Newer kernels have inlined it: then
 * what such threads do counts for the process whose mm they borrow.
 */
#include <qemu-plugin.h>

#include "model.h"

#define MAX_WANTED	64
#define NO_REGS		QEMU_PLUGIN_CB_NO_REGS

static struct vcpu **current;
static const void *wanted[MAX_WANTED];
static unsigned int nr_wanted;

static bool is_wanted(const void *mm)
{
	unsigned int i;

	for (i = 0; i < nr_wanted; i++)
		if (wanted[i] == mm)
			return true;
	return false;
}

bool space_want(struct vcpu *vcpus, unsigned int n, const struct vcpu *v)
{
	unsigned int i;

	if (!v->mm || nr_wanted == MAX_WANTED)
		return false;
	if (is_wanted(v->mm))
		return true;
	wanted[nr_wanted++] = v->mm;
	for (i = 0; i < n; i++)
		vcpus[i].wanted = is_wanted(vcpus[i].mm);
	return true;
}

static void begin(unsigned int index, void *udata)
{
	struct vcpu *v = *current;

	(void)index;
	(void)udata;
	if (!v)
		return;
	v->lazy = false;
	v->mm_seen = NULL;
}

void space_load(uint64_t vaddr)
{
	if (*current)
		(*current)->mm_seen = (const void *)(uintptr_t)vaddr;
}

static void load_cr3(unsigned int index, void *udata)
{
	struct vcpu *v = *current;

	(void)index;
	(void)udata;
	if (!v || !v->mm_seen)
		return;
	v->mm = v->mm_seen;
	v->wanted = is_wanted(v->mm);
}

static void lazy(unsigned int index, void *udata)
{
	(void)index;
	(void)udata;
	if (*current)
		(*current)->lazy = true;
}

/* mov or add, 64 bit, from disp(REG): not relative to gs, the stack or the code */
static bool loads_field(const uint8_t *b, size_t size)
{
	return size >= 4 && (b[0] & 0xf8) == 0x48 && (b[1] == 0x8b || b[1] == 0x03) &&
	       (b[2] >> 6 == 1 || b[2] >> 6 == 2) && (b[2] & 7) != 4;
}

bool space_translate(const struct options *o, struct qemu_plugin_insn *insn, uint64_t pc,
		     const uint8_t *b, size_t size)
{
	if (pc == o->lazy_addr)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, lazy, NO_REGS, NULL);
	if (pc < o->switch_start || pc >= o->switch_end)
		return false;
	if (pc == o->switch_start)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, begin, NO_REGS, NULL);
	if (size == 3 && b[0] == 0x0f && b[1] == 0x22 && (b[2] & 0xf8) == 0xd8)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, load_cr3, NO_REGS, NULL);
	return loads_field(b, size);
}

void space_init(struct vcpu **now)
{
	current = now;
}
