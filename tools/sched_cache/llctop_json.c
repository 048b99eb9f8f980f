// SPDX-License-Identifier: GPL-2.0
/*
 * llctop: a snapshot as JSON.
 */
#include "llctop.h"

/* Length of the valid UTF-8 character of more than one byte at @s, else 0. */
static int utf8_len(const unsigned char *s)
{
	unsigned long c;
	int len, i;

	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;

	c = s[0] & (0x7f >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if ((len == 3 && c < 0x800) || (c >= 0xd800 && c <= 0xdfff) ||
	    (len == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	return len;
}

/* A name may hold any byte; JSON may not. What is no UTF-8 becomes U+FFFD. */
static void print_string(FILE *out, const char *str)
{
	const unsigned char *s = (const unsigned char *)str;
	int len;

	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\') {
			fprintf(out, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(out, "\\u%04x", *s);
		} else if (*s < 0x80) {
			fputc(*s, out);
		} else {
			len = utf8_len(s);
			if (len) {
				fwrite(s, 1, len, out);
				s += len - 1;
			} else {
				fputs("\\ufffd", out);
			}
		}
	}
	fputc('"', out);
}

static void print_llcs(FILE *out, const struct snapshot *s)
{
	size_t i;

	fputs(", \"llcs\": [", out);
	for (i = 0; i < s->nr_llcs; i++) {
		const struct llc *l = &s->llcs[i];

		fprintf(out, "%s{\"id\": %d, \"cpus\": ", i ? ", " : "", l->id);
		print_string(out, l->cpus);
		fprintf(out, ", \"cores\": %d, \"node\": %d, \"size_kib\": %llu, \"wanted\": %.2f}",
			l->cores, l->node, l->size_kib, l->wanted);
	}
	fputc(']', out);
}

static void print_counters(FILE *out, const char *key, const struct snapshot *s,
			   const struct snapshot *since)
{
	size_t i;

	fprintf(out, ", \"%s\": {", key);
	for (i = 0; i < s->nr_counters; i++) {
		fputs(i ? ", " : "", out);
		print_string(out, s->counters[i].name);
		fprintf(out, ": %llu", counter_delta(&s->counters[i], since));
	}
	fputc('}', out);
}

static void print_known(FILE *out, const char *key, long long val)
{
	if (val < 0)
		fprintf(out, ", \"%s\": null", key);
	else
		fprintf(out, ", \"%s\": %lld", key, val);
}

static void print_proc(FILE *out, const struct proc *p)
{
	fprintf(out, "{\"pid\": %d, \"comm\": ", p->pid);
	print_string(out, p->comm);
	fprintf(out, ", \"threads\": %u, \"grouped\": %s", p->threads,
		p->grouped ? "true" : "false");
	print_known(out, "pref_llc", p->pref);
	print_known(out, "share_pct", p->grouped ? p->share_pct : -1);
	fprintf(out, ", \"running\": %.2f, \"gate\": ", p->running);
	print_string(out, p->gate);
	print_known(out, "footprint_kb", p->footprint_kb);
	fputs(", \"mode\": ", out);
	print_string(out, p->mode);
	fputc('}', out);
}

void print_json(FILE *out, const struct snapshot *s, const struct snapshot *prev)
{
	size_t i;

	fprintf(out, "{\"active\": %s, \"reason\": ", s->active ? "true" : "false");
	if (s->active)
		fputs("null", out);
	else
		print_string(out, s->reason);
	fprintf(out, ", \"groups\": %ld", s->groups);
	print_llcs(out, s);
	print_counters(out, "stats", s, NULL);
	if (prev) {
		fprintf(out, ", \"interval_s\": %.3f", s->time - prev->time);
		print_counters(out, "delta", s, prev);
	}
	fputs(", \"processes\": [", out);
	for (i = 0; i < s->nr_procs; i++) {
		fputs(i ? ", " : "", out);
		print_proc(out, &s->procs[i]);
	}
	fputs("]}\n", out);
}
