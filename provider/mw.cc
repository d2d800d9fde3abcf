// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory windows: allocation. Binding is a work request: see post.cc and wr.cc. */
#include "command.h"
#include "objects.h"
#include "verbs.h"

namespace tern {

ibv_mw *alloc_mw(ibv_pd *pd, ibv_mw_type type)
{
	const ib_uverbs_alloc_mw req = {.response = 0,
					.pd_handle = pd->handle,
					.mw_type = static_cast<uint8_t>(type),
					.reserved = {}};
	ib_uverbs_alloc_mw_resp resp{};
	auto *mw = alloc_object<ibv_mw>();
	int err;

	if (!mw)
		return nullptr;
	err = WriteCommand(IB_USER_VERBS_CMD_ALLOC_MW, req).resp(&resp).run(pd->context->cmd_fd);
	if (err)
		return create_failed(mw, err);
	mw->context = pd->context;
	mw->pd = pd;
	mw->rkey = resp.rkey;
	mw->handle = resp.mw_handle;
	mw->type = type;
	return mw;
}

int dealloc_mw(ibv_mw *mw)
{
	return destroy_object(mw->context, IB_USER_VERBS_CMD_DEALLOC_MW, mw->handle, mw);
}

} // namespace tern
