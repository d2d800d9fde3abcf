// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// XRC: domains, SRQs, initiators, targets, and the SRQ number in work requests.
#include "verbs_test.h"

#include <fcntl.h>

namespace {

class Xrc : public VerbsTest {
protected:
	ibv_xrcd *open_domain(int fd = -1, int oflags = O_CREAT)
	{
		ibv_xrcd_init_attr attr = {};

		attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
		attr.fd = fd;
		attr.oflags = oflags;
		return ibv_open_xrcd(ctx, &attr);
	}
	static ibv_srq_init_attr_ex srq_attr(ibv_pd *pd, ibv_xrcd *domain, ibv_cq *cq)
	{
		ibv_srq_init_attr_ex attr = {};

		attr.attr = {3, 1, 0};
		attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
				 IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attr.srq_type = IBV_SRQT_XRC;
		attr.pd = pd;
		attr.xrcd = domain;
		attr.cq = cq;
		return attr;
	}
	static ibv_qp_init_attr_ex target_attr(ibv_xrcd *domain)
	{
		ibv_qp_init_attr_ex attr = {};

		attr.qp_type = IBV_QPT_XRC_RECV;
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = domain;
		return attr;
	}
	static ibv_qp_open_attr open_attr(ibv_xrcd *domain, uint32_t number)
	{
		ibv_qp_open_attr attr = {};

		attr.comp_mask =
			IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
		attr.qp_num = number;
		attr.xrcd = domain;
		attr.qp_type = IBV_QPT_XRC_RECV;
		return attr;
	}
	tern_send_wqe *wqe(ibv_qp *qp, uint32_t index) { return sq(qp).slot<tern_send_wqe>(index); }
};

TEST_F(Xrc, DomainIsOfAFileOrOfNone)
{
	ibv_xrcd *domain = open_domain(7, O_CREAT | O_EXCL);

	ASSERT_NE(domain, nullptr);
	EXPECT_EQ(domain->context, ctx);
	EXPECT_EQ(kernel.last_xrcd_fd, 7);
	EXPECT_EQ(kernel.last_xrcd_oflags, O_CREAT | O_EXCL);
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
	domain = open_domain(-1);
	ASSERT_NE(domain, nullptr);
	EXPECT_EQ(kernel.last_xrcd_fd, -1);
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

TEST_F(Xrc, DomainNeedsBothOfItsAttributesAndNoOther)
{
	ibv_xrcd_init_attr attr = {};

	attr.fd = -1;
	for (uint32_t mask = 0; mask < 8; mask++) {
		attr.comp_mask = mask;
		if (mask == 3)
			continue;
		errno = 0;
		EXPECT_EQ(ibv_open_xrcd(ctx, &attr), nullptr);
		EXPECT_EQ(errno, mask & 4 ? EOPNOTSUPP : EINVAL);
	}
	kernel.fail_command = IB_USER_VERBS_CMD_OPEN_XRCD;
	kernel.fail_errno = EAGAIN;
	EXPECT_EQ(open_domain(), nullptr);
	EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Xrc, DomainInUseStays)
{
	ibv_xrcd *domain = open_domain();

	kernel.fail_command = IB_USER_VERBS_CMD_CLOSE_XRCD;
	kernel.fail_errno = EBUSY;
	EXPECT_EQ(ibv_close_xrcd(domain), EBUSY);
	kernel.fail_command = -1;
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

TEST_F(Xrc, SharedQueueHasANumberAndTakesReceives)
{
	ibv_xrcd *domain = open_domain();
	ibv_sge sge = {0x1000, 8, 1};
	ibv_recv_wr wr = {5, nullptr, &sge, 1}, *bad;
	uint32_t number = 0;
	Queues q;

	make(&q);
	ibv_srq_init_attr_ex attr = srq_attr(q.pd, domain, q.rcq);
	ibv_srq *srq = ibv_create_srq_ex(ctx, &attr);
	ASSERT_NE(srq, nullptr);
	EXPECT_EQ(ibv_get_srq_num(srq, &number), 0);
	EXPECT_EQ(number, 99u);
	EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
	EXPECT_EQ(ring(srq).prod(), 1u);
	EXPECT_EQ(ibv_destroy_srq(srq), 0);
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

TEST_F(Xrc, SharedQueueNeedsADomainAndACq)
{
	ibv_xrcd *domain = open_domain();
	Queues q;

	make(&q);
	const auto refused = [&](auto change) {
		ibv_srq_init_attr_ex attr = srq_attr(q.pd, domain, q.rcq);

		change(&attr);
		errno = 0;
		EXPECT_EQ(ibv_create_srq_ex(ctx, &attr), nullptr);
		EXPECT_EQ(errno, EINVAL);
	};
	refused([](auto *a) { a->xrcd = nullptr; });
	refused([](auto *a) { a->cq = nullptr; });
	refused([](auto *a) { a->pd = nullptr; });
	refused([](auto *a) { a->comp_mask &= ~uint32_t{IBV_SRQ_INIT_ATTR_XRCD}; });
	refused([](auto *a) { a->comp_mask &= ~uint32_t{IBV_SRQ_INIT_ATTR_CQ}; });
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

TEST_F(Xrc, InitiatorHasNoReceiveQueue)
{
	ibv_sge sge = {0x1000, 8, 1};
	ibv_recv_wr wr = {5, nullptr, &sge, 1}, *bad;
	Queues q;

	make(&q, IBV_QPT_XRC_SEND);
	EXPECT_EQ(q.qp->pd, q.pd);
	EXPECT_EQ(q.qp->send_cq, q.scq);
	EXPECT_EQ(q.qp->recv_cq, nullptr);
	EXPECT_EQ(ibv_post_recv(q.qp, &wr, &bad), EINVAL);
	EXPECT_EQ(bad, &wr);
	set_state(q.qp, IBV_QPS_RESET); /* looks for CQEs in the CQ that it has */
}

TEST_F(Xrc, PlainCreateMakesAnInitiator)
{
	ibv_qp_init_attr attr = {};
	Queues q;

	q.pd = ibv_alloc_pd(ctx);
	q.scq = ibv_create_cq(ctx, 8, nullptr, nullptr, 0);
	attr.send_cq = q.scq;
	attr.cap = {4, 4, 2, 2, 32};
	attr.qp_type = IBV_QPT_XRC_SEND;
	q.qp = ibv_create_qp(q.pd, &attr);
	ASSERT_NE(q.qp, nullptr);
	EXPECT_EQ(attr.cap.max_recv_wr, 0u);
	attr.send_cq = nullptr;
	EXPECT_EQ(ibv_create_qp(q.pd, &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

TEST_F(Xrc, PostedRequestNamesTheSrq)
{
	ibv_sge sge = {0x1000, 8, 1};
	ibv_send_wr wr = {}, *bad;
	Queues q;

	make(&q, IBV_QPT_XRC_SEND);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.qp_type.xrc.remote_srqn = 0xabcdef;
	ASSERT_EQ(ibv_post_send(q.qp, &wr, &bad), 0);
	EXPECT_EQ(wqe(q.qp, 0)->srqn, 0xabcdefu);
	wr.qp_type.xrc.remote_srqn = 1 << 24;
	EXPECT_EQ(ibv_post_send(q.qp, &wr, &bad), EINVAL);
	/* A local request goes to nobody. */
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.num_sge = 0;
	ASSERT_EQ(ibv_post_send(q.qp, &wr, &bad), 0);
	EXPECT_EQ(wqe(q.qp, 1)->srqn, 0u);
}

TEST_F(Xrc, OtherServicesNameNone)
{
	ibv_sge sge = {0x1000, 8, 1};
	ibv_send_wr wr = {}, *bad;
	Queues q;

	make(&q);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.qp_type.xrc.remote_srqn = 0xffffffff;
	ASSERT_EQ(ibv_post_send(q.qp, &wr, &bad), 0);
	EXPECT_EQ(wqe(q.qp, 0)->srqn, 0u);
	EXPECT_EQ(ibv_qp_to_qp_ex(q.qp)->wr_set_xrc_srqn, nullptr);
}

TEST_F(Xrc, BuiltRequestNeedsTheSrq)
{
	Queues q;

	make(&q, IBV_QPT_XRC_SEND);
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(q.qp);
	ASSERT_NE(ex, nullptr);

	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, 1, 2);
	ibv_wr_set_xrc_srqn(ex, 0x123);
	ibv_wr_set_sge(ex, 1, 0x1000, 8);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 1, 0x1000, 8);
	ibv_wr_set_xrc_srqn(ex, 0x456);
	ibv_wr_local_inv(ex, 9);
	EXPECT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(sq(q.qp).prod(), 3u);
	EXPECT_EQ(wqe(q.qp, 0)->srqn, 0x123u);
	EXPECT_EQ(wqe(q.qp, 1)->srqn, 0x456u);
	EXPECT_EQ(wqe(q.qp, 2)->srqn, 0u);

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 1, 0x1000, 8);
	EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, 1 << 24);
	EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
	EXPECT_EQ(sq(q.qp).prod(), 3u);
}

TEST_F(Xrc, TargetHasNoQueues)
{
	ibv_xrcd *domain = open_domain();
	ibv_qp_init_attr_ex attr = target_attr(domain);
	ibv_sge sge = {0x1000, 8, 1};
	ibv_recv_wr recv = {5, nullptr, &sge, 1}, *bad_recv;
	ibv_send_wr send = {}, *bad_send;
	ibv_qp *target = ibv_create_qp_ex(ctx, &attr);

	ASSERT_NE(target, nullptr);
	EXPECT_EQ(target->context, ctx);
	EXPECT_EQ(target->pd, nullptr);
	EXPECT_EQ(target->send_cq, nullptr);
	EXPECT_EQ(target->recv_cq, nullptr);
	EXPECT_EQ(attr.cap.max_send_wr, 0u);
	set_state(target, IBV_QPS_RTS);
	send.opcode = IBV_WR_SEND;
	EXPECT_EQ(ibv_post_send(target, &send, &bad_send), EINVAL);
	EXPECT_EQ(ibv_post_recv(target, &recv, &bad_recv), EINVAL);
	EXPECT_EQ(ibv_qp_to_qp_ex(target), nullptr);
	set_state(target, IBV_QPS_RESET);
	EXPECT_EQ(ibv_destroy_qp(target), 0);
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

/* librdmacm names a PD, takes it from the QP again, and may leave pointers to queues. */
TEST_F(Xrc, WhatATargetDoesNotHaveIsIgnored)
{
	ibv_xrcd *domain = open_domain();
	Queues q;

	make(&q);
	ibv_qp_init_attr_ex attr = qp_attr(q, IBV_QPT_XRC_RECV);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = domain;
	ibv_qp *target = ibv_create_qp_ex(ctx, &attr);
	ASSERT_NE(target, nullptr);
	EXPECT_EQ(target->pd, q.pd);
	EXPECT_EQ(target->send_cq, nullptr);
	EXPECT_EQ(ibv_destroy_qp(target), 0);

	attr.xrcd = nullptr;
	EXPECT_EQ(ibv_create_qp_ex(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	attr.xrcd = domain;
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	EXPECT_EQ(ibv_create_qp_ex(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

TEST_F(Xrc, TargetOfAnotherProgramIsOpened)
{
	ibv_xrcd *domain = open_domain();
	ibv_qp_open_attr attr = open_attr(domain, 1234);
	int mine = 0;

	attr.comp_mask |= IBV_QP_OPEN_ATTR_CONTEXT;
	attr.qp_context = &mine;
	ibv_qp *target = ibv_open_qp(ctx, &attr);
	ASSERT_NE(target, nullptr);
	EXPECT_EQ(target->qp_num, 1234u);
	EXPECT_EQ(target->qp_context, &mine);
	EXPECT_EQ(target->qp_type, IBV_QPT_XRC_RECV);
	EXPECT_EQ(target->state, IBV_QPS_UNKNOWN);
	set_state(target, IBV_QPS_RTS);
	EXPECT_EQ(ibv_destroy_qp(target), 0);

	attr = open_attr(domain, 1234);
	attr.qp_context = &mine; /* not named: ignored */
	target = ibv_open_qp(ctx, &attr);
	ASSERT_NE(target, nullptr);
	EXPECT_EQ(target->qp_context, nullptr);
	EXPECT_EQ(ibv_destroy_qp(target), 0);
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

TEST_F(Xrc, OpenNeedsAllOfItsAttributes)
{
	ibv_xrcd *domain = open_domain();
	const auto refused = [&](int err, auto change) {
		ibv_qp_open_attr attr = open_attr(domain, 1234);

		change(&attr);
		errno = 0;
		EXPECT_EQ(ibv_open_qp(ctx, &attr), nullptr);
		EXPECT_EQ(errno, err);
	};
	for (uint32_t bit : {IBV_QP_OPEN_ATTR_NUM, IBV_QP_OPEN_ATTR_XRCD, IBV_QP_OPEN_ATTR_TYPE})
		refused(EINVAL, [bit](auto *a) { a->comp_mask &= ~bit; });
	refused(EINVAL, [](auto *a) { a->qp_type = IBV_QPT_RC; });
	refused(EOPNOTSUPP, [](auto *a) { a->comp_mask |= 1 << 4; });
	kernel.fail_command = IB_USER_VERBS_CMD_OPEN_QP;
	kernel.fail_errno = EINVAL;
	refused(EINVAL, [](auto *) {});
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

TEST_F(Xrc, IwarpHasNone)
{
	ibv_xrcd *domain = open_domain();
	Queues q;

	make(&q);
	device.device.transport_type = IBV_TRANSPORT_IWARP;
	ibv_qp_init_attr_ex attr = target_attr(domain);
	EXPECT_EQ(ibv_create_qp_ex(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr = qp_attr(q, IBV_QPT_XRC_SEND);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	errno = 0;
	EXPECT_EQ(verbs_get_ctx(ctx)->create_qp_ex(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

} // namespace
