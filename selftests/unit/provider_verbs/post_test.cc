// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Posting: lists, the ibv_wr_* interface, doorbells, full queues, states, threads.
#include "verbs_test.h"

#include <unistd.h>

#include <thread>
#include <vector>

namespace {

class Post : public VerbsTest {
protected:
	/* A list of n sends, wr_id from 1. */
	struct Sends {
		std::vector<ibv_send_wr> wr;
		ibv_sge sge = {0x1000, 16, 7};
		ibv_send_wr *bad = nullptr;

		explicit Sends(size_t n) : wr(n)
		{
			for (size_t i = 0; i < n; i++) {
				wr[i] = {};
				wr[i].wr_id = i + 1;
				wr[i].next = i + 1 < n ? &wr[i + 1] : nullptr;
				wr[i].sg_list = &sge;
				wr[i].num_sge = 1;
				wr[i].opcode = IBV_WR_SEND;
			}
		}
		int post(ibv_qp *qp) { return ibv_post_send(qp, wr.data(), &bad); }
	};
	struct Recvs {
		std::vector<ibv_recv_wr> wr;
		ibv_sge sge = {0x2000, 32, 8};
		ibv_recv_wr *bad = nullptr;

		explicit Recvs(size_t n) : wr(n)
		{
			for (size_t i = 0; i < n; i++)
				wr[i] = {i + 1, i + 1 < n ? &wr[i + 1] : nullptr, &sge, 1};
		}
	};
	tern_send_wqe *wqe(ibv_qp *qp, uint32_t i) { return sq(qp).slot<tern_send_wqe>(i); }
};

TEST_F(Post, OneDoorbellForAWholeList)
{
	Queues q;
	Sends s(3);

	make(&q);
	int before = kernel.ioctls;
	ASSERT_EQ(s.post(q.qp), 0);
	EXPECT_EQ(kernel.doorbells, 1);
	EXPECT_EQ(kernel.last_doorbell, q.qp->qp_num);
	EXPECT_EQ(kernel.ioctls, before);
	EXPECT_EQ(sq(q.qp).prod(), 3u);
	EXPECT_EQ(wqe(q.qp, 2)->wr_id, 3u);
}

TEST_F(Post, NoDoorbellWhileTheKernelDrains)
{
	Queues q;
	Sends s(2);

	make(&q);
	sq(q.qp).set_flags(TERN_RING_F_DRAINING);
	ASSERT_EQ(s.post(q.qp), 0);
	EXPECT_EQ(kernel.doorbells, 0);
	EXPECT_EQ(sq(q.qp).prod(), 2u);
	sq(q.qp).set_flags(0);
	ASSERT_EQ(s.post(q.qp), 0);
	EXPECT_EQ(kernel.doorbells, 1);
}

TEST_F(Post, FullQueueTakesWhatFitsAndNamesTheRest)
{
	Queues q;
	Sends s(6);

	make(&q);
	EXPECT_EQ(s.post(q.qp), ENOMEM);
	EXPECT_EQ(s.bad, &s.wr[4]);
	EXPECT_EQ(sq(q.qp).prod(), 4u);
	EXPECT_EQ(kernel.doorbells, 1);
	EXPECT_EQ(s.post(q.qp), ENOMEM);
	EXPECT_EQ(s.bad, &s.wr[0]);
	EXPECT_EQ(kernel.doorbells, 1);
	sq(q.qp).set_cons(2);
	EXPECT_EQ(s.post(q.qp), ENOMEM);
	EXPECT_EQ(s.bad, &s.wr[2]);
	EXPECT_EQ(sq(q.qp).prod(), 6u);
}

TEST_F(Post, BadRequestInTheMiddleStopsTheList)
{
	Queues q;
	Sends s(3);

	make(&q);
	s.wr[1].num_sge = 3;
	EXPECT_EQ(s.post(q.qp), EINVAL);
	EXPECT_EQ(s.bad, &s.wr[1]);
	EXPECT_EQ(sq(q.qp).prod(), 1u);
	EXPECT_EQ(kernel.doorbells, 1);
}

TEST_F(Post, SendsNeedAStateThatSends)
{
	Queues q;
	Sends s(1);

	make(&q, IBV_QPT_RC, IBV_QPS_RESET);
	EXPECT_EQ(s.post(q.qp), EINVAL);
	EXPECT_EQ(s.bad, &s.wr[0]);
	set_state(q.qp, IBV_QPS_INIT);
	EXPECT_EQ(s.post(q.qp), EINVAL);
	EXPECT_EQ(kernel.doorbells, 0);
	set_state(q.qp, IBV_QPS_RTS);
	EXPECT_EQ(s.post(q.qp), 0);
	set_state(q.qp, IBV_QPS_ERR);
	EXPECT_EQ(s.post(q.qp), 0);
}

TEST_F(Post, IwarpQpThatTheKernelConnectedIsNoticed)
{
	Queues q;
	Sends s(1);

	device.device.transport_type = IBV_TRANSPORT_IWARP;
	make(&q, IBV_QPT_RC, IBV_QPS_INIT);
	EXPECT_EQ(s.post(q.qp), EINVAL);
	kernel.object(q.qp->handle).state = IBV_QPS_RTS;
	EXPECT_EQ(s.post(q.qp), 0);
	int before = kernel.ioctls;
	EXPECT_EQ(s.post(q.qp), 0);
	EXPECT_EQ(kernel.ioctls, before);
}

TEST_F(Post, IwarpQpTakesReceivesAsSoonAsTheKernelSaysSo)
{
	Queues q;
	Recvs r(1);

	device.device.transport_type = IBV_TRANSPORT_IWARP;
	make(&q, IBV_QPT_RC, IBV_QPS_RESET);
	EXPECT_EQ(ibv_post_recv(q.qp, r.wr.data(), &r.bad), EINVAL);
	kernel.object(q.qp->handle).state = IBV_QPS_INIT;
	EXPECT_EQ(ibv_post_recv(q.qp, r.wr.data(), &r.bad), 0);
	EXPECT_EQ(rq(q.qp).prod(), 1u);
}

TEST_F(Post, DoorbellsAreOfTheirQp)
{
	Queues q, other;
	Sends s(1);

	make(&q);
	make(&other);
	ASSERT_NE(q.qp->qp_num, other.qp->qp_num);
	EXPECT_EQ(s.post(q.qp), 0);
	EXPECT_EQ(kernel.last_doorbell, q.qp->qp_num);
	EXPECT_EQ(s.post(other.qp), 0);
	EXPECT_EQ(kernel.last_doorbell, other.qp->qp_num);
	EXPECT_EQ(kernel.doorbells, 2);
	EXPECT_EQ(kernel.doorbell_commands, 0);
}

TEST_F(Post, WithoutADoorbellFileACommandRings)
{
	Sends s(3);

	kernel.features &= ~uint64_t{TERN_FEATURE_DOORBELL_FILE};
	reopen();
	Queues q;
	make(&q);
	EXPECT_EQ(s.post(q.qp), 0);
	EXPECT_EQ(kernel.doorbell_commands, 1);
	EXPECT_EQ(kernel.doorbells, 0);
	EXPECT_EQ(sq(q.qp).prod(), 3u);
}

TEST_F(Post, DoorbellThatFailsIsFollowedByACommandWhoseErrorCounts)
{
	Queues q;
	Sends s(1);
	int commands = 0;

	make(&q);
	errno = 77;
	for (int err : {ENOENT, EBADF}) {
		kernel.doorbell_errno = err;
		EXPECT_EQ(s.post(q.qp), 0);
		EXPECT_EQ(kernel.doorbell_commands, ++commands);
	}
	kernel.fail_command = IB_USER_VERBS_CMD_POST_SEND;
	kernel.fail_errno = EIO;
	EXPECT_EQ(s.post(q.qp), EIO);
	EXPECT_EQ(s.bad, &s.wr[0]);
	EXPECT_EQ(kernel.doorbells, 3);
	EXPECT_EQ(errno, 77);
}

TEST_F(Post, DoorbellFileClosedByTheProgramIsNotMissed)
{
	Queues q;
	Sends s(1);

	make(&q);
	EXPECT_EQ(close(kernel.doorbell_fd), 0);
	errno = 77;
	EXPECT_EQ(s.post(q.qp), 0);
	EXPECT_EQ(kernel.doorbells, 0);
	EXPECT_EQ(kernel.doorbell_commands, 1);
	EXPECT_EQ(errno, 77);
}

TEST_F(Post, ReceivesNeedNoSystemCall)
{
	Queues q;
	Recvs r(6);

	make(&q, IBV_QPT_RC, IBV_QPS_INIT);
	int before = kernel.ioctls;
	EXPECT_EQ(ibv_post_recv(q.qp, r.wr.data(), &r.bad), ENOMEM);
	EXPECT_EQ(r.bad, &r.wr[4]);
	EXPECT_EQ(rq(q.qp).prod(), 4u);
	EXPECT_EQ(rq(q.qp).slot<tern_recv_wqe>(3)->wr_id, 4u);
	rq(q.qp).set_cons(1);
	EXPECT_EQ(ibv_post_recv(q.qp, r.wr.data(), &r.bad), ENOMEM);
	EXPECT_EQ(r.bad, &r.wr[1]);
	EXPECT_EQ(kernel.doorbells, 0);
	EXPECT_EQ(kernel.ioctls, before);
	set_state(q.qp, IBV_QPS_RESET);
	EXPECT_EQ(ibv_post_recv(q.qp, r.wr.data(), &r.bad), EINVAL);
}

TEST_F(Post, ReceivesOfAFailedQpRingWhenAskedTo)
{
	Queues q;
	Recvs r(2);

	make(&q);
	rq(q.qp).set_flags(TERN_RING_F_KICK);
	EXPECT_EQ(ibv_post_recv(q.qp, r.wr.data(), &r.bad), 0);
	EXPECT_EQ(kernel.doorbells, 1);
}

TEST_F(Post, SharedReceivesSurviveAResize)
{
	ibv_pd *pd = ibv_alloc_pd(ctx);
	ibv_srq_init_attr init = {nullptr, {3, 1, 0}};
	ibv_srq_attr attr = {8, 0, 2};
	Recvs r(6);
	uint32_t num = 0;

	ibv_srq *srq = ibv_create_srq(pd, &init);
	ASSERT_NE(srq, nullptr);
	EXPECT_EQ(init.attr.max_wr, 4u);
	EXPECT_EQ(ibv_get_srq_num(srq, &num), 0);
	EXPECT_EQ(num, 99u);
	EXPECT_EQ(ibv_post_srq_recv(srq, r.wr.data(), &r.bad), ENOMEM);
	EXPECT_EQ(r.bad, &r.wr[4]);
	ring(srq).set_cons(1);
	ASSERT_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	EXPECT_EQ(ring(srq).slots, 8u);
	EXPECT_EQ(ring(srq).slot<tern_recv_wqe>(3)->wr_id, 4u);
	EXPECT_EQ(ibv_post_srq_recv(srq, r.wr.data(), &r.bad), ENOMEM);
	EXPECT_EQ(r.bad, &r.wr[5]);
	EXPECT_EQ(ring(srq).prod(), 9u);
	ASSERT_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	ASSERT_EQ(ibv_query_srq(srq, &attr), 0);
	EXPECT_EQ(attr.max_wr, 8u);
	EXPECT_EQ(ibv_destroy_srq(srq), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Post, QpOnASharedQueueHasNoReceivesOfItsOwn)
{
	Queues q;
	ibv_srq_init_attr init = {nullptr, {3, 1, 0}};
	Recvs r(1);

	make(&q);
	ibv_srq *srq = ibv_create_srq(q.pd, &init);
	ibv_qp_init_attr attr = {nullptr, q.scq, q.rcq, srq, {4, 0, 1, 0, 0}, IBV_QPT_RC, 0};
	ibv_qp *qp = ibv_create_qp(q.pd, &attr);
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr);
	set_state(qp, IBV_QPS_RTS);
	EXPECT_EQ(ibv_post_recv(qp, r.wr.data(), &r.bad), EINVAL);
	EXPECT_EQ(ibv_destroy_qp(qp), 0);
	EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(Post, ExtendedSharedQueueIsWhole)
{
	ibv_pd *pd = ibv_alloc_pd(ctx);
	ibv_srq_init_attr_ex attr = {};

	attr.attr = {3, 1, 0};
	attr.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
	attr.srq_type = IBV_SRQT_BASIC;
	attr.pd = pd;
	ibv_srq *srq = verbs_get_ctx(ctx)->create_srq_ex(ctx, &attr);
	ASSERT_NE(srq, nullptr);
	EXPECT_EQ(srq->pd, pd);
	EXPECT_EQ(ibv_destroy_srq(srq), 0);
	attr.srq_type = IBV_SRQT_TM;
	EXPECT_EQ(verbs_get_ctx(ctx)->create_srq_ex(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Post, BatchIsInvisibleUntilComplete)
{
	Queues q;

	make(&q);
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(q.qp);
	ASSERT_NE(ex, nullptr);
	ibv_sge sges[2] = {{0x1000, 8, 1}, {0x2000, 8, 2}};
	char data[] = "hello";

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write_imm(ex, 0x55, 0x9000, 0x1234);
	ibv_wr_set_sge_list(ex, 2, sges);
	ex->wr_id = 2;
	ex->wr_flags = 0;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data, 5);
	ex->wr_id = 3;
	ibv_wr_atomic_cmp_swp(ex, 0x66, 0x8000, 10, 20);
	ibv_wr_set_sge(ex, 3, 0x3000, 8);
	EXPECT_EQ(sq(q.qp).prod(), 0u);
	EXPECT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(sq(q.qp).prod(), 3u);
	EXPECT_EQ(kernel.doorbells, 1);
	EXPECT_EQ(wqe(q.qp, 0)->opcode, TERN_WR_RDMA_WRITE_WITH_IMM);
	EXPECT_EQ(wqe(q.qp, 0)->num_sge, 2);
	EXPECT_EQ(wqe(q.qp, 0)->imm, 0x1234u);
	EXPECT_EQ(wqe(q.qp, 0)->flags, TERN_SEND_SIGNALED);
	EXPECT_EQ(wqe(q.qp, 1)->wr_id, 2u);
	EXPECT_EQ(wqe(q.qp, 1)->inline_bytes, 5u);
	EXPECT_EQ(memcmp(wqe(q.qp, 1) + 1, "hello", 5), 0);
	EXPECT_EQ(wqe(q.qp, 2)->atomic.swap, 20u);
}

TEST_F(Post, AbortedBatchLeavesNoTrace)
{
	Queues q;
	Sends s(1);

	make(&q);
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(q.qp);
	ibv_wr_start(ex);
	ex->wr_id = 77;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 1, 0x1000, 8);
	ibv_wr_local_inv(ex, 5);
	ibv_wr_abort(ex);
	EXPECT_EQ(kernel.doorbells, 0);
	EXPECT_EQ(s.post(q.qp), 0);
	EXPECT_EQ(sq(q.qp).prod(), 1u);
	EXPECT_EQ(wqe(q.qp, 0)->wr_id, 1u);
}

TEST_F(Post, BatchWithAnErrorPublishesNothing)
{
	Queues q;

	make(&q);
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(q.qp);
	auto fails = [&](int err, auto build) {
		ibv_wr_start(ex);
		ex->wr_flags = 0;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, 1, 0x1000, 8);
		build();
		EXPECT_EQ(ibv_wr_complete(ex), err);
		EXPECT_EQ(sq(q.qp).prod(), 0u);
	};
	char big[256] = {};

	fails(EINVAL, [&] {
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, big, sizeof(big));
	});
	fails(EINVAL, [&] {
		ibv_sge sges[3] = {};

		ibv_wr_send(ex);
		ibv_wr_set_sge_list(ex, 3, sges);
	});
	fails(EINVAL, [&] { ibv_wr_atomic_fetch_add(ex, 1, 2, 3); });
	fails(EINVAL, [&] {
		ibv_wr_rdma_read(ex, 1, 2);
		ibv_wr_set_inline_data(ex, big, 4);
	});
	fails(EINVAL, [&] {
		ex->wr_flags = IBV_SEND_IP_CSUM;
		ibv_wr_send(ex);
	});
	fails(ENOMEM, [&] {
		for (int i = 0; i < 5; i++)
			ibv_wr_local_inv(ex, 1);
	});
	EXPECT_EQ(kernel.doorbells, 0);
	set_state(q.qp, IBV_QPS_INIT);
	fails(EINVAL, [] {});
}

TEST_F(Post, DatagramsNeedAnAddress)
{
	Queues q;
	ibv_ah_attr ah_attr = {};

	make(&q, IBV_QPT_UD);
	ibv_ah *ah = ibv_create_ah(q.pd, &ah_attr);
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(q.qp);
	EXPECT_EQ(ex->wr_rdma_write, nullptr);
	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, 9);
	ibv_wr_set_ud_addr(ex, ah, 5, 6);
	ibv_wr_set_sge(ex, 1, 0x1000, 8);
	EXPECT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(wqe(q.qp, 0)->ud.ah, ah->handle + 1000);
	EXPECT_EQ(wqe(q.qp, 0)->ud.remote_qpn, 5u);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 1, 0x1000, 8);
	EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
	EXPECT_EQ(ibv_destroy_ah(ah), 0);
}

TEST_F(Post, WindowTakesItsNewKeyWhenBound)
{
	Queues q;
	static char buf[64];

	make(&q);
	ibv_mr *mr = ibv_reg_mr(q.pd, buf, sizeof(buf), IBV_ACCESS_MW_BIND);
	ibv_mw *mw = ibv_alloc_mw(q.pd, IBV_MW_TYPE_1);
	ibv_mw_bind bind = {};

	bind.wr_id = 5;
	bind.send_flags = IBV_SEND_SIGNALED;
	bind.bind_info = {mr, 0x1000, 64, IBV_ACCESS_REMOTE_READ};
	for (uint32_t key : {0xabcdffu, 0xabcd00u, 0xabcd01u}) {
		uint32_t old = mw->rkey;

		ASSERT_EQ(ibv_bind_mw(q.qp, mw, &bind), 0);
		EXPECT_EQ(mw->rkey, key);
		tern_send_wqe *w = wqe(q.qp, sq(q.qp).prod() - 1);
		EXPECT_EQ(w->opcode, TERN_WR_BIND_MW);
		EXPECT_EQ(w->mw.mw_rkey, old);
		EXPECT_EQ(w->mw.new_rkey, key);
	}
	bind.bind_info = {};
	ASSERT_EQ(ibv_bind_mw(q.qp, mw, &bind), 0);
	// Not posted: the key stays.
	EXPECT_EQ(ibv_bind_mw(q.qp, mw, &bind), ENOMEM);
	EXPECT_EQ(mw->rkey, 0xabcd02u);
	EXPECT_EQ(ibv_dealloc_mw(mw), 0);
	EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

/* Posters against a kernel that drains: nothing is lost or doubled, and elision never sleeps. */
void hammer(ibv_qp *qp, FakeRing &ring, FakeKernel &kernel, int threads)
{
	constexpr uint64_t kEach = 20000;
	std::vector<uint64_t> next(static_cast<size_t>(threads), 0);
	std::vector<std::thread> posters;
	uint64_t taken = 0;

	for (int t = 0; t < threads; t++)
		posters.emplace_back([=] {
			for (uint64_t i = 0; i < kEach;) {
				ibv_send_wr wr = {};
				ibv_send_wr *bad;

				wr.wr_id = static_cast<uint64_t>(t) << 32 | i;
				wr.opcode = IBV_WR_SEND;
				int err = ibv_post_send(qp, &wr, &bad);
				ASSERT_TRUE(err == 0 || err == ENOMEM);
				if (err)
					std::this_thread::yield();
				else
					i++;
			}
		});
	int bells = 0;
	while (taken < kEach * static_cast<uint64_t>(threads)) {
		// Asleep until a doorbell comes; then drain as the kernel does.
		while (kernel.doorbells == bells)
			std::this_thread::yield();
		bells = kernel.doorbells;
		ring.set_flags(TERN_RING_F_DRAINING);
		do {
			while (ring.cons() != ring.prod()) {
				uint64_t id = ring.slot<tern_send_wqe>(ring.cons())->wr_id;

				ASSERT_EQ(id & UINT32_MAX, next[id >> 32]);
				next[id >> 32]++;
				taken++;
				ring.set_cons(ring.cons() + 1);
			}
			ring.set_flags(0);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
		} while (ring.cons() != ring.prod());
	}
	for (auto &p : posters)
		p.join();
}

TEST_F(Post, ManyThreadsLoseNothing)
{
	Queues q;

	make(&q);
	hammer(q.qp, sq(q.qp), kernel, 3);
}

TEST_F(Post, ThreadDomainPostsWithoutLocks)
{
	Queues q;
	ibv_td_init_attr td_attr = {};
	ibv_parent_domain_init_attr pd_attr = {};

	make(&q);
	pd_attr.pd = q.pd;
	pd_attr.td = ibv_alloc_td(ctx, &td_attr);
	ibv_pd *parent = ibv_alloc_parent_domain(ctx, &pd_attr);
	ibv_qp_init_attr_ex attr = qp_attr(q, IBV_QPT_RC);
	attr.pd = parent;
	ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);
	ASSERT_NE(qp, nullptr);
	set_state(qp, IBV_QPS_RTS);
	hammer(qp, sq(qp), kernel, 1);
	// A lock would be held here: nested batches would never end.
	ibv_wr_start(ibv_qp_to_qp_ex(qp));
	ibv_wr_start(ibv_qp_to_qp_ex(qp));
	ibv_wr_abort(ibv_qp_to_qp_ex(qp));
	EXPECT_EQ(ibv_destroy_qp(qp), 0);
	EXPECT_EQ(ibv_dealloc_pd(parent), 0);
	EXPECT_EQ(ibv_dealloc_td(pd_attr.td), 0);
}

} // namespace
