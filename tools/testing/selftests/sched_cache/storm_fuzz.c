// SPDX-License-Identifier: GPL-2.0
/*
 * Storms of odd input: what the files and the prctl of the feature make of
 * writes, reads and arguments that no sensible program would try.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sched_cache_prctl.h"
#include "storm.h"

const struct knob knobs[NR_KNOBS] = {
	{ "enabled", 0, 1 },
	{ "aggr_tolerance", 0, 100 },
	{ "epoch_period", 1, 1000 },
	{ "epoch_affinity_timeout", 1, 1000 },
	{ "overaggr_pct", 0, 100 },
	{ "imb_pct", 0, 100 },
};

void knob_path(char *buf, size_t size, const struct knob *knob, bool other_name)
{
	snprintf(buf, size, SCHED_DEBUGFS "/%s%s", other_name ? "llc_balancing/" : "llc_",
		 knob->name);
}

const char *knobs_save(void)
{
	const char *why;
	char path[256];
	int i;

	for (i = 0; i < NR_KNOBS; i++) {
		knob_path(path, sizeof(path), &knobs[i], false);
		why = save(path);
		if (why)
			return why;
	}
	return NULL;
}

/* Numbers where something may turn */
static long long odd_number(const struct knob *knob)
{
	switch (rnd(12)) {
	case 0:
		return (long long)knob->min - 1 - rnd(2);
	case 1:
		return (long long)knob->max + 1 + rnd(2);
	case 2:
		return 1LL << rnd(63);
	case 3:
		return (1LL << rnd(63)) - 1;
	case 4:
		return -(1LL << rnd(63));
	case 5:
		return (1LL << 32) + knob->min + rnd(2);
	case 6:
		return knob->min;
	case 7:
		return knob->max;
	default:
		return knob->min + rnd(knob->max - knob->min + 1);
	}
}

static size_t odd_size(size_t max)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 7, 63, 64, 65, 4095, 4096, 4097 };
	size_t size = rnd(4) ? sizes[rnd(ARRAY_SIZE(sizes))] : rnd(max);

	return size < max ? size : max;
}

static off_t odd_offset(void)
{
	static const off_t offsets[] = {
		0, 1, 2, 5, 4095, 4096, 65536, INT32_MAX, 1LL << 32, INT64_MAX, -1, INT64_MIN,
	};

	return offsets[rnd(ARRAY_SIZE(offsets))];
}

/* Two pages, the second of which is not there */
static char *edge_page(void)
{
	static char *page;

	if (!page) {
		page = mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(page + getpagesize(), getpagesize());
	}
	return page;
}

/* What is written: a number in some form, or anything. Returns its length. */
static size_t odd_text(const struct knob *knob, char *buf, size_t size)
{
	static const char *const forms[] = {
		"%lld", "%lld\n", " %lld", "+%lld", "0x%llx", "0%llo", "%lld\n\n", "%lld ",
		"%lldx", "%lld.0", "%lld,1", "00000000000000000000000%lld", "-%lld", "%lld%%",
	};
	size_t i, len;

	if (chance(70))
		return snprintf(buf, size, forms[rnd(ARRAY_SIZE(forms))], odd_number(knob));
	len = odd_size(size);
	for (i = 0; i < len; i++)
		buf[i] = chance(50) ? '0' + rnd(10) : rnd(256);
	return len;
}

static bool refusal(int err)
{
	return err == EINVAL || err == EFAULT || err == ERANGE || err == EBADF || err == ESPIPE;
}

static bool knob_in_range(const struct knob *knob)
{
	char path[256], buf[64], *end;
	unsigned long val;

	knob_path(path, sizeof(path), knob, rnd(2));
	if (read_file(path, buf, sizeof(buf)) <= 0)
		return false;
	val = strtoul(buf, &end, 10);
	return end > buf && *end == '\n' && val >= knob->min && val <= knob->max;
}

static void fuzz_write(const struct knob *knob)
{
	static const int flags[] = {
		O_WRONLY, O_RDWR, O_RDONLY, O_WRONLY | O_TRUNC, O_RDWR | O_APPEND,
		O_WRONLY | O_NONBLOCK, O_PATH,
	};
	char path[256], buf[8192];
	size_t len = odd_text(knob, buf, sizeof(buf));
	struct iovec iov[2];
	ssize_t ret = 0;
	int fd;

	knob_path(path, sizeof(path), knob, rnd(2));
	fd = open(path, flags[rnd(ARRAY_SIZE(flags))] | O_CLOEXEC);
	if (fd < 0) {
		fail("cannot open %s: %s", path, strerror(errno));
		return;
	}
	switch (rnd(6)) {
	case 0 ... 2:
		ret = write(fd, buf, len);
		break;
	case 3:
		ret = pwrite(fd, buf, len, odd_offset());
		break;
	case 4:
		iov[0] = (struct iovec) { buf, len / 2 };
		iov[1] = (struct iovec) { buf + len / 2, len - len / 2 };
		ret = writev(fd, iov, 2);
		break;
	case 5:
		/* Ends where memory ends, or begins there. */
		len = odd_size(64);
		ret = write(fd, edge_page() + getpagesize() - rnd(3), len);
		break;
	}
	if (ret < 0 && !refusal(errno))
		fail("write to %s: %s", path, strerror(errno));
	if (ret > (ssize_t)len)
		fail("write of %zu bytes to %s returned %zd", len, path, ret);
	close(fd);
	if (!knob_in_range(knob))
		fail("%s is out of range after a write", path);
}

/* A file of ours to read */
static void odd_file(char *buf, size_t size)
{
	pid_t tid;

	switch (rnd(4)) {
	case 0:
		snprintf(buf, size, SCHED_DEBUGFS "/llc_state");
		break;
	case 1:
		snprintf(buf, size, SCHED_DEBUGFS "/llc_stats");
		break;
	case 2:
		knob_path(buf, size, &knobs[rnd(NR_KNOBS)], rnd(2));
		break;
	case 3:
		tid = victim();
		snprintf(buf, size, "/proc/%d/sched", tid ? tid : getpid());
		break;
	}
}

static void fuzz_read(void)
{
	static char buf[70000];
	char path[256];
	int fd, i;

	odd_file(path, sizeof(path));
	fd = open(path, (rnd(4) ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	/* A task may be gone, a kernel may have no such file. */
	if (fd < 0)
		return;
	for (i = 1 + rnd(6); i > 0; i--) {
		size_t len = odd_size(sizeof(buf) - 1);
		ssize_t ret = 0;

		buf[len] = 0x5a;
		switch (rnd(6)) {
		case 0 ... 1:
			ret = read(fd, buf, len);
			break;
		case 2:
			ret = pread(fd, buf, len, odd_offset());
			break;
		case 3:
			lseek(fd, odd_offset(), rnd(5));
			break;
		case 4:
			ret = read(fd, edge_page() + getpagesize() - rnd(3), odd_size(64));
			break;
		case 5:
			ioctl(fd, rnd(UINT32_MAX), buf);
			buf[len] = 0x5a;
			/* /proc/PID/sched takes any write: it resets the task's statistics. */
			if (strstr(path, "/proc/"))
				ret = write(fd, "0", 1);
			break;
		}
		if (ret > (ssize_t)sizeof(buf) || buf[len] != 0x5a)
			fail("read of %s goes beyond the buffer", path);
		if (ret < 0 && !refusal(errno) && errno != ESRCH)
			fail("read of %s: %s", path, strerror(errno));
	}
	close(fd);
}

void fuzz_work(void)
{
	int i;

	for (i = 0; i < 20 && !stopping(); i++) {
		if (rnd(2))
			fuzz_write(&knobs[rnd(NR_KNOBS)]);
		else
			fuzz_read();
	}
	nap_us(rnd(500));
}

#define NR_MODES (PR_SCHED_CACHE_ALWAYS + 1)

const char *prctl_setup(void)
{
	if (prctl(PR_SCHED_CACHE, PR_SCHED_CACHE_GET, 0, 0, 0) >= 0)
		return NULL;
	return errno == EINVAL ? "this kernel has no PR_SCHED_CACHE" : strerror(errno);
}

static unsigned long odd_arg(unsigned long sensible)
{
	switch (rnd(8)) {
	case 0:
		return ~0UL;
	case 1:
		return 1UL << rnd(64);
	case 2:
		return (1UL << 32) + sensible;
	case 3:
		return rnd(8);
	default:
		return sensible;
	}
}

void prctl_work(void)
{
	unsigned long op = rnd(2), pid = rnd(4) ? victim() : 0, zero = 0;
	unsigned long mode = op == PR_SCHED_CACHE_SET ? rnd(NR_MODES) : 0;
	bool odd = chance(30);
	int ret;

	if (odd) {
		op = odd_arg(op);
		pid = odd_arg(pid);
		mode = odd_arg(mode);
		zero = odd_arg(0);
	}
	/* A stray number must not hit somebody else's process. */
	if (op == PR_SCHED_CACHE_SET && pid && pid <= INT32_MAX && !is_ours(pid))
		pid = 0;
	ret = prctl(PR_SCHED_CACHE, op, pid, mode, zero);
	if (ret >= NR_MODES)
		fail("prctl(PR_SCHED_CACHE, %lu, %lu, %lu, %lu) returned %d", op, pid, mode, zero,
		     ret);
	if (ret < 0 && errno != EINVAL && errno != ESRCH && errno != EPERM)
		fail("prctl(PR_SCHED_CACHE, %lu, %lu, %lu, %lu): %s", op, pid, mode, zero,
		     strerror(errno));
	if (ret >= 0 && (op > PR_SCHED_CACHE_SET || zero || pid > INT32_MAX || mode >= NR_MODES))
		fail("prctl(PR_SCHED_CACHE, %lu, %lu, %lu, %lu) was not refused", op, pid, mode,
		     zero);
	if (alone && !odd && !pid && op == PR_SCHED_CACHE_SET &&
	    prctl(PR_SCHED_CACHE, PR_SCHED_CACHE_GET, 0, 0, 0) != (int)mode)
		fail("the mode that was set, %lu, is not what is read", mode);
	nap_us(rnd(200));
}
