// SPDX-License-Identifier: GPL-2.0
// See xrc.h.
#include "xrc.h"

#include <fcntl.h>

namespace vt {

Xrcd try_open_domain(ibv_context *context, int fd, int oflags)
{
	ibv_xrcd_init_attr attr = {};

	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	attr.fd = fd;
	attr.oflags = oflags;
	return Xrcd(ibv_open_xrcd(context, &attr));
}

Xrcd open_domain(ibv_context *context, int fd)
{
	Xrcd domain = try_open_domain(context, fd, O_CREAT);

	require(domain != nullptr, "ibv_open_xrcd: %m");
	return domain;
}

Srq try_make_xrc_srq(ibv_pd *pd, ibv_xrcd *domain, ibv_cq *cq, uint32_t wrs)
{
	ibv_srq_init_attr_ex attr = {};

	attr.attr.max_wr = wrs;
	attr.attr.max_sge = 2;
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			 IBV_SRQ_INIT_ATTR_CQ;
	attr.srq_type = IBV_SRQT_XRC;
	attr.pd = pd;
	attr.xrcd = domain;
	attr.cq = cq;
	return Srq(ibv_create_srq_ex(pd->context, &attr));
}

Srq make_xrc_srq(ibv_pd *pd, ibv_xrcd *domain, ibv_cq *cq, uint32_t wrs)
{
	Srq srq = try_make_xrc_srq(pd, domain, cq, wrs);

	require(srq != nullptr, "ibv_create_srq_ex: %m");
	return srq;
}

uint32_t number_of(ibv_srq *srq)
{
	uint32_t number = 0;
	int error = ibv_get_srq_num(srq, &number);

	require(!error && number && !(number >> 24), "ibv_get_srq_num: %d, number %#x", error,
		number);
	return number;
}

QpOwner try_make_target(ibv_context *context, ibv_xrcd *domain)
{
	ibv_qp_init_attr_ex attr = {};

	attr.qp_type = IBV_QPT_XRC_RECV;
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = domain;
	return QpOwner(ibv_create_qp_ex(context, &attr));
}

QpOwner make_target(ibv_context *context, ibv_xrcd *domain)
{
	QpOwner target = try_make_target(context, domain);

	require(target != nullptr, "ibv_create_qp_ex: %m");
	return target;
}

QpOwner try_open_target(ibv_context *context, ibv_xrcd *domain, uint32_t number)
{
	ibv_qp_open_attr attr = {};

	attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	attr.qp_num = number;
	attr.xrcd = domain;
	attr.qp_type = IBV_QPT_XRC_RECV;
	return QpOwner(ibv_open_qp(context, &attr));
}

} // namespace vt
