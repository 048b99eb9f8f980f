// SPDX-License-Identifier: GPL-2.0
/*
 * Which lines move between LLCs.  A hash table of all lines that did, each with
 * the code that most likely did it: a vote for the code that is there, against
 * it by other code, and who is at zero is replaced (majority vote).
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define SLOTS	BIT(20)
#define PROBES	64

static struct top_line *table;
static uint64_t lost;

static uint64_t moves(const struct top_line *t)
{
	return t->transfers + t->upgrades;
}

/* The line's place; where there is none left, that of its neighbour which moved least. */
static struct top_line *find(uint64_t line)
{
	uint64_t hash = line * 0x9e3779b97f4a7c15ULL >> 44;
	struct top_line *least = NULL;
	unsigned int i;

	if (!table)
		table = calloc(SLOTS, sizeof(*table));
	for (i = 0; table && i < PROBES; i++) {
		struct top_line *t = &table[(hash + i) % SLOTS];

		if (t->line == line + 1)
			return t;
		if (!t->line) {
			t->line = line + 1;
			return t;
		}
		if (!least || moves(t) < moves(least))
			least = t;
	}
	if (least) {
		lost += moves(least);
		*least = (struct top_line){ .line = line + 1 };
	}
	return least;
}

void top_count(uint64_t paddr, uint64_t vaddr, uint64_t pc, bool write, enum cache_result result)
{
	struct top_line *t = find(paddr >> CACHE_LINE_SHIFT);

	if (!t) {
		lost++;
		return;
	}
	t->transfers += result == CACHE_TRANSFER;
	t->upgrades += result == CACHE_UPGRADE;
	t->stores += write;
	if (t->pc == pc) {
		t->pc_votes++;
	} else if (t->pc_votes) {
		t->pc_votes--;
	} else {
		t->pc = pc;
		t->vaddr = vaddr;
		t->pc_votes = 1;
	}
}

static int busier(const void *a, const void *b)
{
	const struct top_line *x = a, *y = b;
	uint64_t n = moves(x), m = moves(y);

	if (n != m)
		return n < m ? 1 : -1;
	return (x->line > y->line) - (x->line < y->line);
}

const struct top_line *top_sorted(unsigned int n, unsigned int *found)
{
	unsigned int i, used = 0;

	*found = 0;
	if (!table)
		return NULL;
	/* The table is of no more use: this is the end. */
	for (i = 0; i < SLOTS; i++)
		if (table[i].line)
			table[used++] = table[i];
	qsort(table, used, sizeof(*table), busier);
	*found = used < n ? used : n;
	return table;
}

uint64_t top_lost(void)
{
	return lost;
}
