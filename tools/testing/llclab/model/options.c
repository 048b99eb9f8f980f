// SPDX-License-Identifier: GPL-2.0
/* The plugin's arguments, name=value each; llclab writes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static char error[256];

static const char *complain(const char *arg, const char *what)
{
	snprintf(error, sizeof(error), "%.150s: %s", arg, what);
	return error;
}

/* A number and what follows it; false if there is none. */
static bool number(const char **s, uint64_t *val)
{
	char *end;

	errno = 0;
	*val = strtoull(*s, &end, 0);
	if (end == *s || errno)
		return false;
	*s = end;
	return true;
}

/* "A:B" */
static bool two_numbers(const char *s, uint64_t *a, uint64_t *b)
{
	return number(&s, a) && *s++ == ':' && number(&s, b) && !*s;
}

static bool one_number(const char *s, uint64_t *val)
{
	return number(&s, val) && !*s;
}

static int word(const char *val, const char *const *words)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(val, words[i]))
			return i;
	return -1;
}

/* "SYMBOL@ADDRESS" */
static bool add_counter(struct options *o, const char *val)
{
	const char *at = strchr(val, '@');
	struct counter *c = &o->counter[o->counters];

	if (!at || at - val >= NAME_LEN || o->counters == MAX_COUNTERS)
		return false;
	memcpy(c->name, val, at - val);
	o->counters++;
	return one_number(at + 1, &c->addr);
}

static bool parse_one(struct options *o, const char *name, const char *val)
{
	static const char *const modes[] = { "all", "user", "kernel", NULL };
	static const char *const keys[] = { "index", "env", "folded", "blocks", NULL };
	struct cache_geometry *g = &o->geometry;
	const struct {
		const char *name;
		uint64_t *first, *second;
	} pairs[] = {
		{ "range", &o->range_start, &o->range_end },
		{ "switch", &o->switch_start, &o->switch_end },
	};
	const struct {
		const char *name;
		unsigned int *val;
	} ints[] = {
		{ "llcs", &g->llcs }, { "cpus_per_llc", &g->cpus_per_llc },
		{ "llcs_per_package", &g->llcs_per_package },
		{ "llcs_per_node", &g->llcs_per_node }, { "node_shift", &g->node_shift },
		{ "top", &o->top },
	};
	uint64_t a, b;
	size_t i;
	int w;

	for (i = 0; i < ARRAY_SIZE(ints); i++)
		if (!strcmp(name, ints[i].name)) {
			*ints[i].val = one_number(val, &a) ? a : 0;
			return one_number(val, &a) && a <= UINT32_MAX;
		}
	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		if (!strcmp(name, pairs[i].name)) {
			o->has_range |= pairs[i].first == &o->range_start;
			return two_numbers(val, pairs[i].first, pairs[i].second);
		}
	if (!strcmp(name, "l2") || !strcmp(name, "llc")) {
		if (!two_numbers(val, &a, &b) || b > 1024)
			return false;
		*(name[1] == '2' ? &g->l2_size : &g->llc_size) = a;
		*(name[1] == '2' ? &g->l2_ways : &g->llc_ways) = b;
		return true;
	}
	if (!strcmp(name, "mode") || !strcmp(name, "cpu")) {
		w = word(val, *name == 'm' ? modes : keys);
		if (*name == 'm')
			o->mode = w < 0 ? 0 : w;
		else
			o->key = w < 0 ? 0 : w;
		return w >= 0;
	}
	if (!strcmp(name, "memory"))
		return one_number(val, &g->memory);
	if (!strcmp(name, "lazy"))
		return one_number(val, &o->lazy_addr);
	if (!strcmp(name, "process")) {
		o->process = !strcmp(val, "on");
		return o->process || !strcmp(val, "off");
	}
	if (!strcmp(name, "out")) {
		o->out = strdup(val);
		return o->out;
	}
	if (!strcmp(name, "count"))
		return add_counter(o, val);
	return false;
}

const char *options_parse(struct options *o, int argc, char **argv, int key_default)
{
	char name[32];
	const char *wrong;
	int i;

	o->key = key_default;
	for (i = 0; i < argc; i++) {
		const char *eq = strchr(argv[i], '=');
		size_t len = eq ? (size_t)(eq - argv[i]) : sizeof(name);

		if (len >= sizeof(name))
			return complain(argv[i], "is not name=value");
		memcpy(name, argv[i], len);
		name[len] = '\0';
		if (!strcmp(argv[i], "cpu=auto"))
			continue;
		if (!parse_one(o, name, eq + 1))
			return complain(argv[i], "is not an option, or its value is wrong");
	}
	wrong = cache_check(&o->geometry);
	if (wrong)
		return complain("geometry", wrong);
	o->cpus = o->geometry.llcs * o->geometry.cpus_per_llc;
	if (o->cpus > MAX_CPUS)
		return complain("cpus_per_llc", "too many CPUs in all");
	if (!o->out)
		return complain("out", "is missing");
	if (o->process && !o->switch_start)
		return complain("process", "needs switch");
	return NULL;
}
