// SPDX-License-Identifier: GPL-2.0
/* Chooses the quickest CRC-32 and the quickest CRC-32C of this machine. */
#include <crypto/hash.h>
#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "best_ns.h"
#include "crc.h"
#include "proto/crc_fold.h"

#define SAMPLE_BYTES	4096	/* a usual payload of a packet or an FPDU */
#define SHORT_BYTES	80	/* of a WRITE of 64 bytes, behind the BTH */
/* Below this, saving the CPU's registers costs more than they gain. */
#define CRYPTO_LEAST	256

/* ---- CRC-32 ---- */

/* The crypto layer's, perhaps by carry-less multiplication; NULL: it has none. */
static struct crypto_shash *crypto_crc32;

/* By the kernel's tables, or by an instruction: some CPUs have one for this polynomial. */
static u32 crc32_by_kernel(u32 crc, const u8 *p, size_t n)
{
	return crc32_le(crc, p, n);
}

static u32 crc32_by_folding(u32 crc, const u8 *p, size_t n)
{
	return crc32_fold(crc, p, n, crc32_slice);
}

/* Its state is the register. */
static u32 crc32_by_crypto(u32 crc, const u8 *p, size_t n)
{
	struct {
		struct shash_desc shash;
		u32 crc;
	} desc = { .shash.tfm = crypto_crc32, .crc = crc };

	BUILD_BUG_ON(offsetof(typeof(desc), crc) != sizeof(desc.shash));
	if (n < CRYPTO_LEAST || crypto_shash_update(&desc.shash, p, n))
		return crc32_by_folding(crc, p, n);
	return desc.crc;
}

DEFINE_STATIC_CALL(tern_crc32_short, crc32_slice);
DEFINE_STATIC_CALL(tern_crc32_quickest, crc32_slice);

static void find_crypto_crc32(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32", 0, 0);

	if (IS_ERR(tfm))
		return;
	if (crypto_shash_descsize(tfm) == sizeof(u32))
		crypto_crc32 = tfm;
	else
		crypto_free_shash(tfm);
}

/* ---- CRC-32C ---- */

u32 tern_crc32c_by_table(u32 crc, const u8 *p, size_t n)
{
	return tern_crc32c_of_library(crc, p, n);
}

static u32 crc32c_by_folding(u32 crc, const u8 *p, size_t n)
{
	return crc32c_fold(crc, p, n, tern_crc32c_by_table);
}

static u32 crc32c_by_cpu(u32 crc, const u8 *p, size_t n)
{
	return crc32c(crc, p, n);
}

DEFINE_STATIC_CALL(tern_crc32c_quickest, tern_crc32c_by_table);

/* ---- choosing ---- */

struct sample {
	crc_fn fn;
	const void *p;
	size_t n;
};

static void crc_of_sample(void *arg)
{
	const struct sample *s = arg;
	u32 crc = s->fn(~0, s->p, s->n);

	/* The compiler may drop a result that is not used. */
	barrier_data(&crc);
}

/* The quickest for that many bytes; of equal ones the first. Some may be NULL, not all. */
static crc_fn quickest_of(const crc_fn *fns, int n, const void *p, size_t bytes)
{
	u64 best = U64_MAX;
	crc_fn quickest = NULL;
	int i;

	for (i = 0; i < n; i++) {
		struct sample s = { .fn = fns[i], .p = p, .n = bytes };
		u64 ns = fns[i] ? tern_best_ns(crc_of_sample, &s) : U64_MAX;

		if (ns < best) {
			best = ns;
			quickest = fns[i];
		}
	}
	return quickest;
}

int tern_crc_init(void)
{
	const crc_fn crc32c_fns[] = { crc32c_by_cpu, tern_crc32c_by_table, crc32c_by_folding };
	const crc_fn short_fns[] = { crc32_slice, crc32_by_kernel };
	crc_fn crc32_fns[] = { crc32_slice, crc32_by_kernel, crc32_by_folding, NULL };
	void *p = kzalloc(SAMPLE_BYTES, GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	find_crypto_crc32();
	if (crypto_crc32)
		crc32_fns[3] = crc32_by_crypto;
	static_call_update(tern_crc32_short,
			   quickest_of(short_fns, ARRAY_SIZE(short_fns), p, SHORT_BYTES));
	static_call_update(tern_crc32_quickest,
			   quickest_of(crc32_fns, ARRAY_SIZE(crc32_fns), p, SAMPLE_BYTES));
	static_call_update(tern_crc32c_quickest,
			   quickest_of(crc32c_fns, ARRAY_SIZE(crc32c_fns), p, SAMPLE_BYTES));
	kfree(p);
	return 0;
}

void tern_crc_exit(void)
{
	if (crypto_crc32)
		crypto_free_shash(crypto_crc32);
	crypto_crc32 = NULL;
}
