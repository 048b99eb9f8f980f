// SPDX-License-Identifier: GPL-2.0
/* The report, as JSON. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"

#define FIELD(f) { #f, offsetof(struct cache_counts, f) }

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	FIELD(insns), FIELD(insns_user), FIELD(loads), FIELD(stores), FIELD(l2_hits),
	FIELD(llc_hits), FIELD(near_clean), FIELD(near_dirty), FIELD(far_clean),
	FIELD(far_dirty), FIELD(upgrades_near), FIELD(upgrades_far), FIELD(invalidations),
	FIELD(l2_invalidations), FIELD(mem_local), FIELD(mem_remote), FIELD(write_backs),
};

static_assert(ARRAY_SIZE(fields) * sizeof(uint64_t) ==
	       sizeof(struct cache_counts), "a count is missing in the report");

/* Text that came from outside; what JSON cannot hold as it is becomes '?'. */
static void write_text(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++)
		fputc(*text == '"' || *text == '\\' || *text < ' ' || *text > '~' ? '?' : *text, f);
	fputc('"', f);
}

static void write_number(FILE *f, const char *before, const char *name, uint64_t val)
{
	fprintf(f, "%s\"%s\": %llu", before, name, (unsigned long long)val);
}

static void write_cpu(FILE *f, const struct cache_counts *n)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		write_number(f, i ? ", " : "{", fields[i].name,
			     *(const uint64_t *)((const char *)n + fields[i].offset));
	fputc('}', f);
}

static void write_phase(FILE *f, const struct phase *p, const struct options *o)
{
	unsigned int i;

	fputs("{\"name\": ", f);
	write_text(f, p->name);
	write_number(f, ", ", "ops", p->ops);
	fputs(", \"counters\": {", f);
	for (i = 0; i < o->counters; i++) {
		fputs(i ? ", " : "", f);
		write_text(f, o->counter[i].name);
		fprintf(f, ": %llu", (unsigned long long)p->counter[i]);
	}
	fputs("},\n \"cpus\": [\n", f);
	for (i = 0; i < o->cpus; i++) {
		write_cpu(f, &p->cpu[i]);
		fputs(i + 1 < o->cpus ? ",\n" : "]}", f);
	}
}

static void write_figures(FILE *f, const struct report *r)
{
	unsigned int i, found;
	const struct top_line *top;

	fputs(",\n\"phases\": [", f);
	for (i = 0; i < r->nr_phases; i++) {
		fputs(i ? ",\n" : "\n", f);
		write_phase(f, r->phases[i], r->options);
	}
	fputs("],\n\"top\": [", f);
	top = top_sorted(r->options->top, &found);
	for (i = 0; i < found; i++) {
		write_number(f, i ? ",\n{" : "\n{", "paddr", (top[i].line - 1) << CACHE_LINE_SHIFT);
		write_number(f, ", ", "vaddr", top[i].vaddr);
		write_number(f, ", ", "pc", top[i].pc);
		write_number(f, ", ", "transfers", top[i].transfers);
		write_number(f, ", ", "upgrades", top[i].upgrades);
		write_number(f, ", ", "stores", top[i].stores);
		fputc('}', f);
	}
	write_number(f, "],\n", "top_lost", top_lost());
}

void report_write(const struct report *r)
{
	static const char *const keys[] = { "index", "env", "folded", "blocks" };
	char tmp[4096];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s.tmp", r->options->out);
	f = fopen(tmp, "w");
	if (!f) {
		perror(tmp);
		return;
	}
	fprintf(f, "{\"plugin_api\": %d, \"cpu_key\": \"%s\", \"trouble\": ", r->api,
		keys[r->options->key]);
	if (r->trouble)
		write_text(f, r->trouble);
	else
		fputs("null", f);
	write_number(f, ", ", "outside", r->outside);
	write_number(f, ", ", "bad_marks", r->bad_marks);
	/* Figures of the wrong CPUs are worse than none. */
	if (!r->trouble)
		write_figures(f, r);
	fputs("}\n", f);
	if (ferror(f) | fclose(f) || rename(tmp, r->options->out)) {
		perror(r->options->out);
		unlink(tmp);
	}
}
