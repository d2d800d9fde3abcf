/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Input and answers of providers (udata). All verbs handle it in one order:
 * lengths, unknown input zero, then act. If a later step fails, all of it is
 * undone.
 */
#ifndef TERN_VERBS_UDATA_H
#define TERN_VERBS_UDATA_H

#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/uverbs_ioctl.h>

/*
 * For a command with input that older providers do not have, or have less of: what is missing is 0,
 * and what is unknown must be. NULL: kernel consumer.
 */
static inline int tern_udata_read(struct ib_udata *udata, void *req, size_t req_bytes,
				  size_t resp_bytes)
{
	memset(req, 0, req_bytes);
	if (!udata)
		return 0;
	if (udata->outlen < resp_bytes)
		return -EINVAL;
	if (udata->inlen > req_bytes &&
	    !ib_is_udata_cleared(udata, req_bytes, udata->inlen - req_bytes))
		return -EINVAL;
	return ib_copy_from_udata(req, udata, min(udata->inlen, req_bytes));
}

/* For a command without input, with an answer of resp_bytes. NULL: kernel consumer. */
static inline int tern_udata_check(struct ib_udata *udata, size_t resp_bytes)
{
	if (!udata)
		return 0;
	if (udata->outlen < resp_bytes)
		return -EINVAL;
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	return 0;
}

#endif
