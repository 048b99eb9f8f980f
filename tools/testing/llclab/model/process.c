// SPDX-License-Identifier: GPL-2.0
/* For programs that know nothing of the model: "llc_phase process" preloads this. */
#include "llc_phase.h"

__attribute__((constructor)) static void llc_phase_mark_process(void)
{
	llc_phase_process();
}
