/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SCHED_CACHE_PRCTL_H
#define SCHED_CACHE_PRCTL_H

#include <linux/prctl.h>

/* For headers of a kernel without the feature */
#ifndef PR_SCHED_CACHE
#define PR_SCHED_CACHE			0x53434143
# define PR_SCHED_CACHE_GET		0
# define PR_SCHED_CACHE_SET		1
# define PR_SCHED_CACHE_DEFAULT		0
# define PR_SCHED_CACHE_NEVER		1
# define PR_SCHED_CACHE_ALWAYS		2
#endif

#endif /* SCHED_CACHE_PRCTL_H */
