// SPDX-License-Identifier: GPL-2.0
// See echo.h.
#include "echo.h"

#include <cstring>

namespace vt {

Echo::Echo(rdma_cm_id *id, ibv_pd *pd, ibv_cq *cq) : memory_(pd, 4096, IBV_ACCESS_LOCAL_WRITE)
{
	ibv_qp_init_attr attr = {};
	attr.send_cq = attr.recv_cq = cq;
	attr.cap = {2, 2, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	require(!rdma_create_qp(id, pd, &attr), "rdma_create_qp: %m");
	qp_.reset(id->qp);
	ibv_sge sge = memory_.sge(kEchoBytes, kEchoBytes);
	ibv_recv_wr wr = {}, *bad;
	wr.wr_id = qp_->qp_num;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	int error = ibv_post_recv(qp_.get(), &wr, &bad);
	require(!error, "ibv_post_recv: %s", strerror(error));
}

void Echo::send()
{
	ibv_sge sge = memory_.sge(0, kEchoBytes);
	ibv_send_wr wr = {}, *bad;
	wr.wr_id = qp_->qp_num;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	int error = ibv_post_send(qp_.get(), &wr, &bad);
	require(!error, "ibv_post_send: %s", strerror(error));
}

} // namespace vt
