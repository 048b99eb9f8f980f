// SPDX-License-Identifier: GPL-2.0
/*
 * Cache-aware load balancing: how much memory a group works on.
 *
 * What does not fit an LLC gains nothing from being kept in one. The resident
 * set says what a process has, not what it works on: a big heap may be cold. So:
 *
 * - A resident set that is within the limit fits, and nothing more is done.
 *   Most processes cost one read of a counter per scan.
 * - For the others a sample of their pages is taken, evenly over the mappings.
 *   The accessed bit of each is cleared and the TLB flushed once; 2, 4, 8 and 16
 *   epochs later the bits are read. The share of them that is set again, times
 *   the resident set, is the working set of that time, which grows: the first
 *   reading is for a quick decision, the last one for a good one. New samples
 *   are taken at first often and then less so.
 *
 * Overestimates: data that is streamed through once counts like data that is
 * used again, and a huge page as a whole, wherever in it. Sparse mappings, of
 * which the sample hits too few present pages, count with all of the resident
 * set. Underestimates: hugetlb and device mappings are left out.
 */
#include <linux/mm_inline.h>
#include <linux/mmu_context.h>
#include <linux/mmu_notifier.h>
#include <linux/page_idle.h>
#include <linux/pagewalk.h>

#include "sched.h"

#include <asm/tlbflush.h>

#define SAMPLE_PAGES	64	/* pages in a sample */
#define SAMPLE_TRIES	512	/* addresses that are tried to find them */
#define SAMPLE_MIN	16	/* fewer pages than that say nothing */
#define SAMPLE_WINDOW	2	/* epochs between clearing and reading */
#define SAMPLE_LONG	16	/* epochs until the last reading, each twice the one before */
#define SAMPLE_FIRST	4	/* epochs from the first sample to the second */
#define SAMPLE_INTERVAL	64	/* at most: each wait is twice the one before */

/**
 * struct sched_cache_footprint - the sample of a group
 * @bytes: the last result, 0 before the first one
 * @rss: resident set when the sample was taken, bytes
 * @epoch: when the sample was taken
 * @interval: epochs from then to the next sample
 * @read: epochs from then to the next reading
 * @nr: pages in the sample that is waiting to be read, 0 if none is
 * @addr: their addresses
 *
 * Belongs to the scanner; others read @bytes.
 */
struct sched_cache_footprint {
	u64		bytes;
	u64		rss;
	u32		epoch;
	u32		interval;
	u32		read;
	unsigned int	nr;
	unsigned long	addr[SAMPLE_PAGES];
};

/*
 * Is the accessed bit of the page at @addr set? 1, 0, or -1 if no page is there.
 * @clear: and clear it. Only when a sample is taken: a huge page may be in it
 * more than once.
 */
static int page_young(struct vm_area_struct *vma, unsigned long addr, bool clear)
{
	struct folio_walk fw;
	struct folio *folio;
	int young = -1;

	folio = folio_walk_start(&fw, vma, addr, 0);
	if (!folio)
		return -1;
	if (fw.level == FW_LEVEL_PTE)
		young = clear ? !!ptep_clear_young_notify(vma, addr & PAGE_MASK, fw.ptep) :
				!!pte_young(fw.pte);
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	else if (fw.level == FW_LEVEL_PMD)
		young = clear ? !!pmdp_clear_young_notify(vma, addr & HPAGE_PMD_MASK,
							  fw.pmdp) :
				!!pmd_young(fw.pmd);
#endif
	/* What reclaim and idle page tracking would have seen is not lost. */
	if (clear && young > 0)
		folio_set_young(folio);
	folio_walk_end(&fw, vma);
	/* A virtual machine's page tables */
	if (!clear && !young)
		young = !!mmu_notifier_test_young(vma->vm_mm, addr);
	return young;
}

static bool worth_sampling(struct vm_area_struct *vma)
{
	return vma_is_accessible(vma) && !is_vm_hugetlb_page(vma) &&
	       !(vma->vm_flags & (VM_IO | VM_PFNMAP));
}

/* Take a new sample: every step-th page of what is mapped, if it is there. */
static void sample_take(struct sched_cache_footprint *fp, struct mm_struct *mm,
			u32 epoch, u64 rss)
{
	unsigned long pages = 0, next, step;
	struct vm_area_struct *vma;

	VMA_ITERATOR(vmi, mm, 0);

	for_each_vma(vmi, vma)
		if (worth_sampling(vma))
			pages += vma_pages(vma);
	step = max(pages / SAMPLE_TRIES, 1UL);
	next = get_random_u32_below(min_t(unsigned long, step, U32_MAX));

	/* A process that still grows has not come to its real work. */
	if (rss - rss / 8 > fp->rss)
		fp->interval = SAMPLE_FIRST;
	else
		fp->interval = min(fp->interval * 2, SAMPLE_INTERVAL);
	fp->rss = rss;
	fp->nr = 0;
	fp->read = SAMPLE_WINDOW;
	fp->epoch = epoch;
	vma_iter_set(&vmi, 0);
	for_each_vma(vmi, vma) {
		if (!worth_sampling(vma))
			continue;
		for (; next < vma_pages(vma); next += step) {
			unsigned long addr = vma->vm_start + (next << PAGE_SHIFT);

			if (page_young(vma, addr, true) < 0)
				continue;
			/* Any SAMPLE_PAGES of the hits: a reservoir. */
			if (fp->nr < SAMPLE_PAGES) {
				fp->addr[fp->nr] = addr;
			} else {
				u32 i = get_random_u32_below(fp->nr + 1);

				if (i < SAMPLE_PAGES)
					fp->addr[i] = addr;
			}
			fp->nr++;
		}
		next -= vma_pages(vma);
		cond_resched();
	}
	fp->nr = min(fp->nr, SAMPLE_PAGES);

	/* A bit is set again only when the translation is loaded again. */
	flush_tlb_mm(mm);
}

static void sample_read(struct sched_cache_footprint *fp, struct mm_struct *mm,
			u64 rss)
{
	unsigned int i, seen = 0, young = 0;
	u64 bytes;

	for (i = 0; i < fp->nr; i++) {
		struct vm_area_struct *vma = vma_lookup(mm, fp->addr[i]);
		int ret = vma && worth_sampling(vma) ?
			  page_young(vma, fp->addr[i], false) : -1;

		if (ret < 0)
			continue;
		seen++;
		young += ret;
	}
	bytes = seen < SAMPLE_MIN ? rss : div_u64(rss * young, seen);
	bytes = max(bytes, 1ULL);
	fp->read *= 2;
	if (fp->read > min(fp->interval, SAMPLE_LONG))
		fp->nr = 0;
	else
		/* What is to come is more, and what was before is not disproved. */
		bytes = max(bytes, fp->bytes);
	WRITE_ONCE(fp->bytes, bytes);
}

/**
 * sched_cache_footprint - how much memory does a group work on
 * @grp: the group, whose scanner the caller is
 * @mm: current's mm
 * @epoch: the epoch of the scan
 * @limit: bytes up to which the answer does not matter
 * @bytes: the answer
 *
 * Process context; may sleep. Does not wait for the mmap lock: a scan that does
 * not get it leaves the sample to the next one.
 *
 * Return: false as long as nothing is known of a group that may be too big.
 */
bool sched_cache_footprint(struct sched_cache_group *grp, struct mm_struct *mm,
			   u32 epoch, u64 limit, u64 *bytes)
{
	struct sched_cache_footprint *fp = grp->footprint;
	u64 rss = (u64)get_mm_rss(mm) << PAGE_SHIFT;
	u32 age;

	*bytes = rss;
	if (rss <= limit)
		return true;

	if (!fp) {
		fp = kzalloc(sizeof(*fp), GFP_KERNEL | __GFP_NOWARN);
		/* Without memory the resident set has to do. */
		if (!fp)
			return true;
		WRITE_ONCE(grp->footprint, fp);
	}

	age = epoch - fp->epoch;
	if (age >= (fp->nr ? fp->read : fp->interval)) {
		if (!mmap_read_trylock(mm))
			goto out;
		if (fp->nr)
			sample_read(fp, mm, rss);
		else
			sample_take(fp, mm, epoch, rss);
		mmap_read_unlock(mm);
		/* Nothing at all was there to be sampled. */
		if (!fp->nr && !fp->bytes)
			WRITE_ONCE(fp->bytes, rss);
	}
out:
	*bytes = fp->bytes;
	return fp->bytes;
}

/**
 * sched_cache_footprint_bytes - the last result
 * @fp: what a group holds for its footprint
 *
 * Return: the working set, bytes; 0 before the first result.
 */
u64 sched_cache_footprint_bytes(struct sched_cache_footprint *fp)
{
	return READ_ONCE(fp->bytes);
}

/**
 * sched_cache_footprint_free - free what a group holds for its footprint
 * @grp: a group that nobody uses any more
 */
void sched_cache_footprint_free(struct sched_cache_group *grp)
{
	kfree(grp->footprint);
}
