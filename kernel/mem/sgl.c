// SPDX-License-Identifier: GPL-2.0
/*
 * Gather/scatter lists: maps an offset in a message to an SGE and its span.
 */
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "mem/sgl.h"

void tern_sgl_begin(struct tern_sgl *sgl, const struct tern_mem_ctx *ctx,
		    const struct tern_sge *sge, u32 num_sge, u32 need)
{
	memset(sgl, 0, sizeof(*sgl));
	sgl->ctx = ctx;
	sgl->sge = sge;
	sgl->num_sge = num_sge;
	sgl->need = need;
	sgl->cur = num_sge;
	sgl->until = U64_MAX;
}

static void sgl_drop_span(struct tern_sgl *sgl)
{
	if (sgl->cur < sgl->num_sge)
		tern_span_put(&sgl->span);
	sgl->cur = sgl->num_sge;
}

void tern_sgl_end(struct tern_sgl *sgl)
{
	sgl_drop_span(sgl);
}

/* Makes the SGE with byte off of the message the current one. */
static int sgl_seek(struct tern_sgl *sgl, u64 off)
{
	u64 base = 0;
	u32 i = 0;
	int err;

	if (sgl->cur < sgl->num_sge && off >= sgl->cur_base) {
		if (off - sgl->cur_base < sgl->span.length)
			return 0;
		i = sgl->cur;
		base = sgl->cur_base;
	}
	sgl_drop_span(sgl);

	while (i < sgl->num_sge && off - base >= sgl->sge[i].length)
		base += sgl->sge[i++].length;
	if (i == sgl->num_sge)
		return -ERANGE;

	err = tern_span_get(sgl->ctx, sgl->sge[i].lkey, sgl->sge[i].addr, sgl->sge[i].length,
			    sgl->need, &sgl->span);
	if (err)
		return err;
	sgl->cur = i;
	sgl->cur_base = base;
	return 0;
}

/* Of the current SGE. */
static int sgl_present(const struct tern_sgl *sgl, u64 off, u64 n)
{
	return tern_span_present(sgl->ctx, &sgl->span, off - sgl->cur_base, n,
				 sgl->until - min(sgl->until, off + n), sgl->need);
}

int tern_sgl_write(struct tern_sgl *sgl, u64 off, const void *src, size_t n)
{
	while (n) {
		int err = sgl_seek(sgl, off);
		size_t run;

		if (err)
			return err;
		run = min_t(u64, n, sgl->span.length - (off - sgl->cur_base));
		err = sgl_present(sgl, off, run);
		if (err)
			return err;
		tern_span_write(&sgl->span, off - sgl->cur_base, src, run);
		src += run;
		off += run;
		n -= run;
	}
	return 0;
}

int tern_sgl_read(struct tern_sgl *sgl, u64 off, void *dst, size_t n)
{
	while (n) {
		int err = sgl_seek(sgl, off);
		size_t run;

		if (err)
			return err;
		run = min_t(u64, n, sgl->span.length - (off - sgl->cur_base));
		err = sgl_present(sgl, off, run);
		if (err)
			return err;
		tern_span_read(&sgl->span, off - sgl->cur_base, dst, run);
		dst += run;
		off += run;
		n -= run;
	}
	return 0;
}

int tern_sgl_walk(struct tern_sgl *sgl, u64 off, size_t n, tern_mem_fn fn, void *arg)
{
	while (n) {
		int err = sgl_seek(sgl, off);
		size_t run;

		if (err)
			return err;
		run = min_t(u64, n, sgl->span.length - (off - sgl->cur_base));
		err = sgl_present(sgl, off, run);
		if (err)
			return err;
		if (fn)
			err = tern_span_walk(&sgl->span, off - sgl->cur_base, run, fn, arg);
		if (err)
			return err;
		off += run;
		n -= run;
	}
	return 0;
}

int tern_sges_walk_write(const struct tern_mem_ctx *ctx, const struct tern_sge *sge, u32 num_sge,
			 u64 off, const void *src, size_t n)
{
	struct tern_sgl sgl;
	int err;

	tern_sgl_begin(&sgl, ctx, sge, num_sge, IB_ACCESS_LOCAL_WRITE);
	err = tern_sgl_write(&sgl, off, src, n);
	tern_sgl_end(&sgl);
	return err;
}

int tern_sges_walk_read(const struct tern_mem_ctx *ctx, const struct tern_sge *sge, u32 num_sge,
			u64 off, void *dst, size_t n)
{
	struct tern_sgl sgl;
	int err;

	tern_sgl_begin(&sgl, ctx, sge, num_sge, 0);
	err = tern_sgl_read(&sgl, off, dst, n);
	tern_sgl_end(&sgl);
	return err;
}
