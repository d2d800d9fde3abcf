// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* XRC domains. The kernel knows which programs share one, by the file that they name. */
#include "command.h"
#include "objects.h"
#include "verbs.h"

namespace tern {

/* fd -1: a domain that no other program can open. */
ibv_xrcd *open_xrcd(ibv_context *context, ibv_xrcd_init_attr *attr)
{
	constexpr uint32_t kMasks = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	ib_uverbs_open_xrcd req{};
	ib_uverbs_open_xrcd_resp resp{};
	Xrcd *xrcd;
	int err;

	if (attr->comp_mask & ~kMasks) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	if (attr->comp_mask != kMasks) {
		errno = EINVAL;
		return nullptr;
	}
	xrcd = alloc_object<Xrcd>();
	if (!xrcd)
		return nullptr;
	req.fd = static_cast<uint32_t>(attr->fd);
	req.oflags = static_cast<uint32_t>(attr->oflags);
	err = WriteCommand(IB_USER_VERBS_CMD_OPEN_XRCD, req).resp(&resp).run(context->cmd_fd);
	if (err)
		return create_failed(xrcd, err);
	xrcd->base.context = context;
	xrcd->handle = resp.xrcd_handle;
	return &xrcd->base;
}

int close_xrcd(ibv_xrcd *ibxrcd)
{
	Xrcd *xrcd = to_xrcd(ibxrcd);

	return destroy_object(ibxrcd->context, IB_USER_VERBS_CMD_CLOSE_XRCD, xrcd->handle, xrcd);
}

} // namespace tern
