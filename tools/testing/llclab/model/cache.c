// SPDX-License-Identifier: GPL-2.0
/*
 * A line's way from a CPU to memory:
 *
 *   L2 of the CPU     u32 per way: line << 2 | state, most recently used way first
 *   LLC of its group  inclusive: a line in an L2 is in the LLC above it, too, with
 *                     a bit for each CPU whose L2 may have it
 *   directory         u16 per line of memory: a bit for each LLC that has the line,
 *                     and EXCLUSIVE when the one LLC that has it may write it
 *
 * The directory is exact and has no limit of its own.  State of a line:
 *
 *   L2 SHARED          others may have it, a store must ask
 *   L2 EXCLUSIVE       nobody else has it, a store need not ask
 *   L2 MODIFIED        the same, and the LLC's copy is old
 *   LLC dirty          memory's copy is old
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"

#define EXCLUSIVE	BIT(15)
#define LLC_BITS	(EXCLUSIVE - 1)

enum l2_state {
	L2_INVALID,
	L2_SHARED,
	L2_EXCLUSIVE,
	L2_MODIFIED,
};

struct llc_way {
	uint64_t cpus;		/* whose L2 may have the line */
	uint32_t line;
	bool valid, dirty;
};

struct cache {
	struct cache_geometry g;
	uint32_t l2_mask, llc_mask;	/* of the set in a line's number */
	uint8_t node_of[CACHE_MAX_BLOCKS];
	uint16_t *directory;		/* [line] */
	uint32_t *l2;			/* [cpu][set][way] */
	struct llc_way *llc;		/* [llc][set][way] */
};

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static uint64_t sets_of(uint64_t size, unsigned int ways)
{
	return ways ? size / ways >> CACHE_LINE_SHIFT : 0;
}

const char *cache_check(const struct cache_geometry *g)
{
	if (!g->llcs || g->llcs > CACHE_MAX_LLCS)
		return "the number of LLCs must be 1 to 15";
	if (!g->cpus_per_llc || g->cpus_per_llc > CACHE_MAX_LLC_CPUS)
		return "the number of CPUs of an LLC must be 1 to 64";
	if (!power_of_two(sets_of(g->llc_size, g->llc_ways)))
		return "LLC: size / ways / 64 is no power of two";
	if (g->l2_size && !power_of_two(sets_of(g->l2_size, g->l2_ways)))
		return "L2: size / ways / 64 is no power of two";
	if (!g->memory || g->memory >> CACHE_LINE_SHIFT >= 1u << 30)
		return "memory must be less than 64 GiB";
	if (!g->llcs_per_package || !g->llcs_per_node)
		return "a package and a node have at least one LLC";
	if (g->node_shift && g->memory >> g->node_shift >= CACHE_MAX_BLOCKS)
		return "a node is too small for this memory";
	return NULL;
}

struct cache *cache_new(const struct cache_geometry *g)
{
	uint64_t llc_sets = sets_of(g->llc_size, g->llc_ways);
	uint64_t l2_sets = g->l2_size ? sets_of(g->l2_size, g->l2_ways) : 0;
	struct cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->g = *g;
	c->llc_mask = llc_sets - 1;
	c->l2_mask = l2_sets - 1;
	/* calloc: of memory that the guest never touches, no page is used. */
	c->directory = calloc((g->memory >> CACHE_LINE_SHIFT) + 1, sizeof(*c->directory));
	c->llc = calloc(g->llcs * llc_sets * g->llc_ways, sizeof(*c->llc));
	c->l2 = calloc(g->llcs * g->cpus_per_llc * l2_sets * g->l2_ways + 1, sizeof(*c->l2));
	if (!c->directory || !c->llc || !c->l2) {
		cache_free(c);
		return NULL;
	}
	return c;
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	free(c->directory);
	free(c->llc);
	free(c->l2);
	free(c);
}

void cache_set_node(struct cache *c, unsigned int block, unsigned int node)
{
	c->node_of[block] = node;
}

static size_t llc_ways(const struct cache *c)
{
	return (size_t)c->g.llcs * (c->llc_mask + 1) * c->g.llc_ways;
}

static size_t l2_ways(const struct cache *c)
{
	return (size_t)c->g.llcs * c->g.cpus_per_llc * (c->l2_mask + 1) * c->g.l2_ways;
}

void cache_flush(struct cache *c)
{
	size_t i;

	for (i = 0; i < llc_ways(c); i++)
		if (c->llc[i].valid)
			c->directory[c->llc[i].line] = 0;
	memset(c->llc, 0, llc_ways(c) * sizeof(*c->llc));
	if (c->g.l2_size)
		memset(c->l2, 0, l2_ways(c) * sizeof(*c->l2));
}

/*
 * The private level
 */

static uint32_t *l2_set(const struct cache *c, unsigned int cpu, uint32_t line)
{
	uint64_t set = (uint64_t)cpu * (c->l2_mask + 1) + (line & c->l2_mask);

	return c->l2 + set * c->g.l2_ways;
}

/* The way that has the line, or NULL; the order does not change. */
static uint32_t *l2_peek(const struct cache *c, unsigned int cpu, uint32_t line)
{
	uint32_t *set;
	unsigned int i;

	if (!c->g.l2_size)
		return NULL;
	set = l2_set(c, cpu, line);
	for (i = 0; i < c->g.l2_ways; i++)
		if (set[i] >> 2 == line && (set[i] & 3) != L2_INVALID)
			return &set[i];
	return NULL;
}

/* As an access does it: the way becomes the most recently used one. */
static inline uint32_t *l2_find(struct cache *c, unsigned int cpu, uint32_t line)
{
	uint32_t *set, found;
	unsigned int i;

	if (!c->g.l2_size)
		return NULL;
	set = l2_set(c, cpu, line);
	for (i = 0; i < c->g.l2_ways; i++)
		if (set[i] >> 2 == line && (set[i] & 3) != L2_INVALID)
			break;
	if (i == c->g.l2_ways)
		return NULL;
	found = set[i];
	for (; i; i--)
		set[i] = set[i - 1];
	set[0] = found;
	return set;
}

/*
 * The LLC
 */

static struct llc_way *llc_set(const struct cache *c, unsigned int llc, uint32_t line)
{
	uint64_t set = (uint64_t)llc * (c->llc_mask + 1) + (line & c->llc_mask);

	return c->llc + set * c->g.llc_ways;
}

static struct llc_way *llc_peek(const struct cache *c, unsigned int llc, uint32_t line)
{
	struct llc_way *set = llc_set(c, llc, line);
	unsigned int i;

	for (i = 0; i < c->g.llc_ways; i++)
		if (set[i].valid && set[i].line == line)
			return &set[i];
	return NULL;
}

static struct llc_way *move_to_front(struct llc_way *set, struct llc_way *way)
{
	struct llc_way found = *way;

	memmove(set + 1, set, (char *)way - (char *)set);
	set[0] = found;
	return set;
}

static unsigned int llc_of(const struct cache *c, unsigned int cpu)
{
	return cpu / c->g.cpus_per_llc;
}

/* The bit of a CPU in the masks of its LLC. */
static uint64_t bit_of(const struct cache *c, unsigned int cpu)
{
	return 1ULL << cpu % c->g.cpus_per_llc;
}

/*
 * Take the line from the L2s in @cpus of an LLC, or leave them a shared copy;
 * what they had modified is in the LLC then.  Returns how many had it.
 */
static unsigned int l2s_give_up(struct cache *c, unsigned int llc, struct llc_way *w,
				uint64_t cpus, enum l2_state left)
{
	unsigned int had = 0;

	cpus &= w->cpus;
	if (left == L2_INVALID)
		w->cpus &= ~cpus;
	for (; cpus; cpus &= cpus - 1) {
		unsigned int cpu = llc * c->g.cpus_per_llc + __builtin_ctzll(cpus);
		uint32_t *way = l2_peek(c, cpu, w->line);

		if (!way)
			continue;
		had++;
		w->dirty |= (*way & 3) == L2_MODIFIED;
		*way = w->line << 2 | left;
	}
	return had;
}

/* A line falls out of an LLC to make room. */
static void llc_evict(struct cache *c, unsigned int llc, struct llc_way *w, struct cache_counts *n)
{
	uint16_t *dir = &c->directory[w->line];

	l2s_give_up(c, llc, w, ~0ULL, L2_INVALID);
	n->write_backs += w->dirty;
	*dir &= ~(EXCLUSIVE | 1u << llc);
	w->valid = false;
}

static struct llc_way *llc_fill(struct cache *c, unsigned int llc, uint32_t line,
				struct cache_counts *n)
{
	struct llc_way *set = llc_set(c, llc, line), *w = NULL;
	unsigned int i;

	/*
	 * A way without a line goes first; then the least recently used one that no L2
	 * has, for hits in an L2 do not reach the LLC and say nothing of their use.
	 */
	for (i = 0; i < c->g.llc_ways; i++) {
		if (!set[i].valid) {
			w = &set[i];
			break;
		}
		if (!set[i].cpus)
			w = &set[i];
	}
	if (!w)
		w = &set[c->g.llc_ways - 1];
	if (w->valid)
		llc_evict(c, llc, w, n);
	w = move_to_front(set, w);
	*w = (struct llc_way){ .line = line, .valid = true };
	return w;
}

static void l2_fill(struct cache *c, unsigned int cpu, struct llc_way *w, enum l2_state state)
{
	uint32_t *set, victim;
	unsigned int i, last;

	if (!c->g.l2_size) {
		w->dirty |= state == L2_MODIFIED;
		return;
	}
	set = l2_set(c, cpu, w->line);
	for (last = 0; last < c->g.l2_ways - 1 && (set[last] & 3) != L2_INVALID; last++)
		;
	victim = set[last];
	if ((victim & 3) != L2_INVALID) {
		struct llc_way *above = llc_peek(c, llc_of(c, cpu), victim >> 2);

		above->dirty |= (victim & 3) == L2_MODIFIED;
		above->cpus &= ~bit_of(c, cpu);
	}
	for (i = last; i; i--)
		set[i] = set[i - 1];
	set[0] = w->line << 2 | state;
	w->cpus |= bit_of(c, cpu);
}

/*
 * Between LLCs
 */

static bool is_near(const struct cache *c, unsigned int a, unsigned int b)
{
	return a / c->g.llcs_per_package == b / c->g.llcs_per_package;
}

/* Any of @llcs in the package of @llc? */
static bool any_near(const struct cache *c, unsigned int llc, uint16_t llcs)
{
	for (; llcs; llcs &= llcs - 1)
		if (is_near(c, llc, __builtin_ctz(llcs)))
			return true;
	return false;
}

/* Any of them elsewhere? */
static bool any_far(const struct cache *c, unsigned int llc, uint16_t llcs)
{
	for (; llcs; llcs &= llcs - 1)
		if (!is_near(c, llc, __builtin_ctz(llcs)))
			return true;
	return false;
}

/* Take the line from all of @llcs; true if one of them had it dirty. */
static bool invalidate(struct cache *c, uint32_t line, uint16_t llcs, struct cache_counts *n)
{
	bool dirty = false;

	for (; llcs; llcs &= llcs - 1) {
		unsigned int llc = __builtin_ctz(llcs);
		struct llc_way *w = llc_peek(c, llc, line);

		l2s_give_up(c, llc, w, ~0ULL, L2_INVALID);
		dirty |= w->dirty;
		w->valid = false;
		n->invalidations++;
	}
	return dirty;
}

/* The one LLC that may write the line shares it: memory gets what is new. */
static bool share(struct cache *c, uint32_t line, unsigned int llc, struct cache_counts *n)
{
	struct llc_way *w = llc_peek(c, llc, line);
	bool dirty;

	l2s_give_up(c, llc, w, ~0ULL, L2_SHARED);
	dirty = w->dirty;
	w->dirty = false;
	n->write_backs += dirty;
	return dirty;
}

static void count_transfer(bool near, bool dirty, struct cache_counts *n)
{
	if (near && dirty)
		n->near_dirty++;
	else if (near)
		n->near_clean++;
	else if (dirty)
		n->far_dirty++;
	else
		n->far_clean++;
}

static void count_memory(const struct cache *c, unsigned int llc, uint32_t line,
			 struct cache_counts *n)
{
	uint64_t addr = (uint64_t)line << CACHE_LINE_SHIFT;

	if (!c->g.node_shift || c->node_of[addr >> c->g.node_shift] == llc / c->g.llcs_per_node)
		n->mem_local++;
	else
		n->mem_remote++;
}

/* The line is in no L2 of the CPU and not in its LLC. */
static enum cache_result llc_miss(struct cache *c, unsigned int cpu, uint32_t line, bool write,
				  struct cache_counts *n)
{
	unsigned int llc = llc_of(c, cpu);
	uint16_t *dir = &c->directory[line], others = *dir & LLC_BITS;
	enum cache_result result = others ? CACHE_TRANSFER : CACHE_MEMORY;
	bool exclusive = write || !others;
	struct llc_way *w;
	bool dirty = false, near;

	near = any_near(c, llc, others);
	if (others && write)
		dirty = invalidate(c, line, others, n);
	else if (*dir & EXCLUSIVE)
		dirty = share(c, line, __builtin_ctz(others), n);

	if (others)
		count_transfer(near, dirty, n);
	else
		count_memory(c, llc, line, n);

	*dir = exclusive ? EXCLUSIVE | 1u << llc : others | 1u << llc;
	w = llc_fill(c, llc, line, n);
	/* A dirty line that moves stays dirty; one that is shared has gone to memory. */
	w->dirty = dirty && write;
	l2_fill(c, cpu, w, write ? L2_MODIFIED : exclusive ? L2_EXCLUSIVE : L2_SHARED);
	return result;
}

/* The LLC has the line: make it one that the CPU may read or write. */
static enum cache_result llc_hit(struct cache *c, unsigned int cpu, struct llc_way *w, bool write,
				 struct cache_counts *n)
{
	unsigned int llc = llc_of(c, cpu);
	uint16_t *dir = &c->directory[w->line], others = *dir & LLC_BITS & ~(1u << llc);
	uint64_t siblings = w->cpus & ~bit_of(c, cpu);
	bool far = false;

	if (!write) {
		if (siblings)
			l2s_give_up(c, llc, w, siblings, L2_SHARED);
		l2_fill(c, cpu, w, *dir & EXCLUSIVE && !siblings ? L2_EXCLUSIVE : L2_SHARED);
		n->llc_hits++;
		return CACHE_LLC_HIT;
	}
	n->l2_invalidations += l2s_give_up(c, llc, w, siblings, L2_INVALID);
	if (others) {
		far = any_far(c, llc, others);
		invalidate(c, w->line, others, n);
	}
	*dir = EXCLUSIVE | 1u << llc;
	if (!others) {
		n->llc_hits++;
		return CACHE_LLC_HIT;
	}
	if (far)
		n->upgrades_far++;
	else
		n->upgrades_near++;
	return CACHE_UPGRADE;
}

static enum cache_result l2_miss(struct cache *c, unsigned int cpu, uint32_t line, bool write,
				 struct cache_counts *n)
{
	unsigned int llc = llc_of(c, cpu);
	struct llc_way *w = llc_peek(c, llc, line);
	enum cache_result result;

	if (!w)
		return llc_miss(c, cpu, line, write, n);
	w = move_to_front(llc_set(c, llc, line), w);
	result = llc_hit(c, cpu, w, write, n);
	if (write)
		l2_fill(c, cpu, w, L2_MODIFIED);
	return result;
}

enum cache_result cache_access(struct cache *c, unsigned int cpu, uint64_t addr, bool write,
			       struct cache_counts *n)
{
	uint32_t line = addr >> CACHE_LINE_SHIFT, *way;
	enum cache_result result;

	if (write)
		n->stores++;
	else
		n->loads++;
	way = l2_find(c, cpu, line);
	if (!way)
		return l2_miss(c, cpu, line, write, n);
	if (!write || (*way & 3) != L2_SHARED) {
		if (write)
			*way = line << 2 | L2_MODIFIED;
		n->l2_hits++;
		return CACHE_L2_HIT;
	}
	/* A store to a line that others may have */
	result = llc_hit(c, cpu, llc_peek(c, llc_of(c, cpu), line), true, n);
	*way = line << 2 | L2_MODIFIED;
	return result;
}

/*
 * For tests
 */

static const char *l2_inconsistency(const struct cache *c, unsigned int cpu, uint32_t way)
{
	struct llc_way *above = llc_peek(c, llc_of(c, cpu), way >> 2);

	if (!above)
		return "a line of an L2 is not in its LLC";
	if (!(above->cpus & bit_of(c, cpu)))
		return "an LLC does not know that an L2 has a line";
	if ((way & 3) == L2_SHARED)
		return NULL;
	if (above->cpus != bit_of(c, cpu))
		return "a line that one L2 may write is in another one, too";
	if (!(c->directory[way >> 2] & EXCLUSIVE))
		return "a line that an L2 may write is in another LLC, too";
	return NULL;
}

const char *cache_inconsistency(const struct cache *c)
{
	size_t sets = c->llc_mask + 1, i, bits = 0, lines = 0;
	const char *wrong;

	for (i = 0; i <= c->g.memory >> CACHE_LINE_SHIFT; i++) {
		uint16_t dir = c->directory[i];

		bits += __builtin_popcount(dir & LLC_BITS);
		if (dir & EXCLUSIVE && __builtin_popcount(dir & LLC_BITS) != 1)
			return "a line that one LLC may write is in none or in several";
	}
	for (i = 0; i < llc_ways(c); i++) {
		struct llc_way *w = &c->llc[i];

		lines += w->valid;
		if (w->valid && !(c->directory[w->line] >> (i / sets / c->g.llc_ways) & 1))
			return "the directory does not know that an LLC has a line";
		if (w->valid && w->dirty && !(c->directory[w->line] & EXCLUSIVE))
			return "a dirty line is in several LLCs";
	}
	if (bits != lines)
		return "the directory says that an LLC has a line which it has not";
	if (!c->g.l2_size)
		return NULL;
	for (i = 0; i < l2_ways(c); i++) {
		if ((c->l2[i] & 3) == L2_INVALID)
			continue;
		wrong = l2_inconsistency(c, i / (c->l2_mask + 1) / c->g.l2_ways, c->l2[i]);
		if (wrong)
			return wrong;
	}
	return NULL;
}
