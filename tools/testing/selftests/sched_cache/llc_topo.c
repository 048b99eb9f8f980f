// SPDX-License-Identifier: GPL-2.0
/*
 * Print the LLCs of the running system for shell scripts.
 */
#include <string.h>

#include "topo.h"

static const char usage[] =
"Usage: llc_topo\n"
"Print the last-level caches of the sched domains, as key=value lines:\n"
"  llcs=N cpus=N, then for each I from 0\n"
"  llcI_list=CPUS llcI_cpus=N llcI_cores=N llcI_kib=SIZE llcI_node=NODE\n"
"Exit status 4: the domains cannot be read here, with the reason on stderr.\n";

static void emit_llc(int i, const struct llc *llc)
{
	char key[32], list[4096];

	cpuset_print_list(&llc->cpus, list, sizeof(list));
	snprintf(key, sizeof(key), "llc%d_list", i);
	emit_str(key, list);
	snprintf(key, sizeof(key), "llc%d_cpus", i);
	emit_double(key, llc->nr_cpus);
	snprintf(key, sizeof(key), "llc%d_cores", i);
	emit_double(key, llc->nr_cores);
	snprintf(key, sizeof(key), "llc%d_kib", i);
	emit_double(key, llc->size_kib);
	snprintf(key, sizeof(key), "llc%d_node", i);
	emit_double(key, llc->node);
}

int main(int argc, char **argv)
{
	static struct topo topo;
	int i;

	if (argc > 1) {
		bool help = !strcmp(argv[1], "--help");

		fputs(usage, help ? stdout : stderr);
		return help ? 0 : 2;
	}

	topo_read_or_skip(&topo);
	emit_double("llcs", topo.nr_llcs);
	emit_double("cpus", topo.nr_cpus);
	for (i = 0; i < topo.nr_llcs; i++)
		emit_llc(i, &topo.llc[i]);
	emit_end();
	return 0;
}
