// SPDX-License-Identifier: GPL-2.0
/* For the model's self-test: programs of which one can say beforehand what they do to caches. */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cache.h"
#include "llc_phase.h"

#define LINE	64

static const char usage[] =
"Usage: model_probe share PHASE NR CPU CPU STORES\n"
"         store to line NR of \"lines\" from two CPUs in turn\n"
"       model_probe walk PHASE CPU KIB ROUNDS\n"
"         read a line after the other, again and again\n"
"       model_probe triad PHASE CPU KIB\n"
"         a STREAM triad through three arrays of this size, twice; the second is counted\n"
"       model_probe spin PHASE CPU MS\n"
"         run that long, print the time\n";

/* Found by its address in the report. */
struct line {
	alignas(LINE) unsigned int turn;
} lines[4];

static struct {
	alignas(LINE) int ready;
	alignas(LINE) int go;
} sync_flags;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "cannot run on CPU %d", cpu);
}

static void *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		err(1, "no memory: %zu bytes", bytes);
	memset(p, 1, bytes);
	return p;
}

struct side {
	unsigned int *turn, first, stores;
	int cpu;
};

/* Stores number first, first + 2, ... each when the one before has been seen. */
static void take_turns(const struct side *s)
{
	unsigned int nr;

	for (nr = s->first; nr < s->stores; nr += 2) {
		while (__atomic_load_n(s->turn, __ATOMIC_ACQUIRE) != nr)
			;
		__atomic_store_n(s->turn, nr + 1, __ATOMIC_RELEASE);
	}
}

static void *other_side(void *arg)
{
	const struct side *s = arg;

	pin(s->cpu);
	/* Both have the line before the first store. */
	__atomic_load_n(s->turn, __ATOMIC_ACQUIRE);
	__atomic_store_n(&sync_flags.ready, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&sync_flags.go, __ATOMIC_ACQUIRE))
		;
	take_turns(s);
	return NULL;
}

static void share(char **argv)
{
	unsigned int *turn = &lines[atoi(argv[1]) % 4].turn, stores = atoi(argv[4]);
	struct side a = { turn, 0, stores, atoi(argv[2]) }, b = { turn, 1, stores, atoi(argv[3]) };
	pthread_t thread;

	pin(a.cpu);
	if (pthread_create(&thread, NULL, other_side, &b))
		errx(1, "cannot create a thread");
	while (!__atomic_load_n(&sync_flags.ready, __ATOMIC_ACQUIRE))
		;
	__atomic_load_n(turn, __ATOMIC_ACQUIRE);
	llc_phase_begin(argv[0]);
	__atomic_store_n(&sync_flags.go, 1, __ATOMIC_RELEASE);
	take_turns(&a);
	pthread_join(thread, NULL);
	llc_phase_end();
}

static void walk(char **argv)
{
	size_t bytes = atol(argv[2]) * 1024, i;
	int rounds = atoi(argv[3]);
	const char *p;

	/* First: what another LLC has had keeps a copy there. */
	pin(atoi(argv[1]));
	p = map(bytes);
	for (i = 0; i < bytes; i += LINE)
		asm volatile("" : : "r" (p[i]));
	llc_phase_begin(argv[0]);
	for (; rounds; rounds--)
		for (i = 0; i < bytes; i += LINE)
			asm volatile("" : : "r" (p[i]));
	llc_phase_end();
}

static void triad(char **argv)
{
	size_t n = atol(argv[2]) * 1024 / sizeof(double), i;
	double *a, *b, *c;
	int round;

	pin(atoi(argv[1]));
	a = map(3 * n * sizeof(double));
	b = a + n;
	c = b + n;
	for (round = 0; round < 2; round++) {
		if (round)
			llc_phase_begin(argv[0]);
		for (i = 0; i < n; i++)
			a[i] = b[i] + 3 * c[i];
	}
	llc_phase_end();
}

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void spin(char **argv)
{
	unsigned long long start, end;

	pin(atoi(argv[1]));
	start = now();
	llc_phase_begin(argv[0]);
	do
		end = now();
	while (end - start < atoi(argv[2]) * 1000000ULL);
	llc_phase_end();
	printf("%llu\n", end - start);
}

static const struct {
	const char *name;
	int args;
	void (*run)(char **argv);
} modes[] = {
	{ "share", 5, share }, { "walk", 4, walk }, { "triad", 3, triad }, { "spin", 3, spin },
};

int main(int argc, char **argv)
{
	size_t i;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		if (argc == modes[i].args + 2 && !strcmp(argv[1], modes[i].name)) {
			modes[i].run(argv + 2);
			return 0;
		}
	fputs(usage, stderr);
	return 2;
}
