// SPDX-License-Identifier: GPL-2.0
// See end.h. While other threads destroy objects any status is right, but all requests must end.
#include "end.h"

#include <cstring>
#include <unistd.h>

#include "pattern.h"

namespace vt {
namespace {

constexpr uint32_t kDepth = 32;
constexpr uint64_t kSend = 1, kRecv = 2;

} // namespace

End::End(const Device &device, ibv_pd *pd, ibv_qp_type type, uint64_t seed)
	: device_(device), pd_(pd), type_(type), random_(seed), memory_(kBytes),
	  mr_(ibv_reg_mr(pd, memory_.data(), kBytes, kAllAccess)),
	  cq_(ibv_create_cq(device.context(), 4 * kDepth, nullptr, nullptr, 0))
{
	require(mr_ && cq_, "no region or no CQ");
	lkey_ = mr_->lkey;
	make_qp();
}

void End::make_qp()
{
	ibv_qp_init_attr attr = {};

	qp_.reset();
	attr.send_cq = attr.recv_cq = cq_;
	attr.cap = {kDepth, kDepth, 2, 1, 64};
	attr.qp_type = type_;
	attr.sq_sig_all = 1;
	qp_.reset(ibv_create_qp(pd_, &attr));
	require(qp_ != nullptr, "no QP");
	qpn_ = qp_->qp_num;
}

// Requests of a QP that was reset or destroyed are forgotten with it.
int End::forget()
{
	ibv_wc wc[16];

	while (ibv_poll_cq(cq_, 16, wc) > 0)
		;
	sent_ = 0;
	moved_s_ = now_s();
	return 0;
}

void End::to_rts(const End &peer)
{
	bool rc = type_ == IBV_QPT_RC;
	ibv_qp_attr a = {};

	a.qp_state = IBV_QPS_RESET;
	ibv_modify_qp(qp_.get(), &a, IBV_QP_STATE);
	forget();
	a.qp_state = IBV_QPS_INIT;
	a.port_num = 1;
	a.qp_access_flags = static_cast<unsigned>(kAllAccess);
	int error =
		ibv_modify_qp(qp_.get(), &a,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = device_.port().active_mtu;
	a.dest_qp_num = peer.qpn_;
	a.rq_psn = peer.psn_;
	a.sq_psn = psn_;
	a.max_dest_rd_atomic = a.max_rd_atomic = 4;
	a.min_rnr_timer = 1;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	a.ah_attr.grh.dgid = device_.gid();
	a.ah_attr.grh.sgid_index = static_cast<uint8_t>(device_.gid_index());
	a.ah_attr.grh.hop_limit = 1;
	error = error ?:
			ibv_modify_qp(qp_.get(), &a,
				      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					      IBV_QP_RQ_PSN |
					      (rc ? IBV_QP_MAX_DEST_RD_ATOMIC |
							       IBV_QP_MIN_RNR_TIMER :
						    0));
	a.qp_state = IBV_QPS_RTS;
	// All retries together take two seconds in guests of usual speed.
	a.timeout = slow() > 1 ? 15 : 12;
	a.retry_cnt = 7;
	a.rnr_retry = 7;
	error = error ?:
			ibv_modify_qp(qp_.get(), &a,
				      IBV_QP_STATE | IBV_QP_SQ_PSN |
					      (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
							       IBV_QP_RNR_RETRY |
							       IBV_QP_MAX_QP_RD_ATOMIC :
						    0));
	require(!error, "connecting failed: %s", strerror(error));
	peer_ = &peer;
	for (uint32_t i = 0; i < kDepth; i++)
		post_recv();
}

void End::connect(End &a, End &b)
{
	std::scoped_lock turns(a.turns_);
	std::unique_lock mine(a.lock_);

	// Not the old PSNs: packets of its last connection may still be in flight.
	a.psn_ = a.random_() & 0xffffff;
	if (&a == &b) {
		a.to_rts(a);
		return;
	}
	std::scoped_lock other(b.turns_);
	std::unique_lock theirs(b.lock_);
	b.psn_ = b.random_() & 0xffffff;
	a.to_rts(b);
	b.to_rts(a);
}

void End::post_recv()
{
	ibv_sge sge = {reinterpret_cast<uint64_t>(memory_.data()), kBytes, lkey_};
	ibv_recv_wr wr = {kRecv, nullptr, &sge, 1}, *bad_wr;

	ibv_post_recv(qp_.get(), &wr, &bad_wr);
}

void End::post_send()
{
	const ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
					 IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
	uint64_t dice = random_();
	uint32_t bytes = static_cast<uint32_t>(dice >> 8) % (dice % 8 ? 5000 : kBytes / 2);
	uint32_t cut = bytes / 3;
	// Two SGEs. The second one's region may be gone by now.
	ibv_sge sge[2] = {{reinterpret_cast<uint64_t>(memory_.data()), cut, lkey_},
			  {reinterpret_cast<uint64_t>(memory_.data()) + cut, bytes - cut, lkey_}};
	ibv_send_wr wr = {}, *bad_wr;

	wr.wr_id = kSend;
	wr.opcode = opcodes[(dice >> 40) % (type_ == IBV_QPT_RC ? 5 : 3)];
	wr.sg_list = sge;
	wr.num_sge = 2;
	wr.send_flags = dice >> 63 ? unsigned{IBV_SEND_FENCE} : 0;
	uint64_t target = reinterpret_cast<uint64_t>(peer_->memory_.data()) + kBytes / 2;
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge[0].length = 8;
		wr.num_sge = 1;
		wr.wr.atomic = {target, 1, 0, peer_->lkey_};
	} else {
		wr.wr.rdma = {target, peer_->lkey_};
	}
	if (!ibv_post_send(qp_.get(), &wr, &bad_wr))
		sent_++;
}

void End::reap()
{
	ibv_wc wc[16];
	int n = ibv_poll_cq(cq_, 16, wc);

	for (int i = 0; i < n; i++) {
		(wc[i].status == IBV_WC_SUCCESS ? good : bad)++;
		if (wc[i].status != IBV_WC_SUCCESS && wc[i].status != IBV_WC_WR_FLUSH_ERR)
			why = wc[i].status;
		if (wc[i].qp_num != qp_->qp_num)
			continue;
		if (wc[i].wr_id == kSend)
			sent_--;
		else if (wc[i].status == IBV_WC_SUCCESS)
			post_recv();
	}
	if (n > 0 || !sent_)
		moved_s_ = now_s();
}

void End::turn()
{
	std::scoped_lock turns(turns_);
	std::shared_lock stays(lock_);
	uint32_t n = random_() % 8;

	while (peer_ && n-- && sent_ < kDepth)
		post_send();
	reap();
}

bool End::is_stuck(double limit_s) const
{
	return moved_s_ && now_s() > moved_s_ + limit_s;
}

bool End::is_idle()
{
	std::scoped_lock turns(turns_);

	reap();
	return !sent_;
}

void End::wreck(uint32_t how)
{
	ibv_qp_attr a = {};

	if (how == 0) {
		// While it posts and the peer delivers to it.
		std::shared_lock stays(lock_);
		a.qp_state = IBV_QPS_ERR;
		ibv_modify_qp(qp_.get(), &a, IBV_QP_STATE);
	} else if (how == 1) {
		std::scoped_lock turns(turns_);
		std::unique_lock alone(lock_);
		a.qp_state = IBV_QPS_RESET;
		ibv_modify_qp(qp_.get(), &a, IBV_QP_STATE);
		forget();
		peer_ = nullptr;
	} else if (how == 2) {
		std::scoped_lock turns(turns_);
		std::unique_lock alone(lock_);
		make_qp();
		forget();
		peer_ = nullptr;
	} else {
		// The old one is destroyed while it is read and written.
		Mr fresh(ibv_reg_mr(pd_, memory_.data(), kBytes, kAllAccess));
		std::unique_lock alone(lock_);
		require(fresh != nullptr, "no region");
		std::swap(mr_, fresh);
		lkey_ = mr_->lkey;
		alone.unlock();
		fresh.reset();
	}
}

bool End::one(ibv_wr_opcode opcode, uint64_t from, uint32_t bytes, const End &peer, double limit_s)
{
	ibv_sge sge = {reinterpret_cast<uint64_t>(memory_.data()) + from, bytes, lkey_};
	ibv_send_wr wr = {}, *bad_wr;
	double end = now_s() + limit_s;

	wr.wr_id = kSend;
	wr.opcode = opcode;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma = {reinterpret_cast<uint64_t>(peer.memory_.data()) + kBytes / 2, peer.lkey_};
	if (ibv_post_send(qp_.get(), &wr, &bad_wr))
		return false;
	while (now_s() < end) {
		ibv_wc wc;
		int n = ibv_poll_cq(cq_, 1, &wc);
		if (n > 0 && wc.wr_id == kSend)
			return wc.status == IBV_WC_SUCCESS;
		if (n == 0)
			usleep(100);
	}
	return false;
}

bool End::verify(End &peer, double limit_s)
{
	constexpr uint32_t bytes = 50000;

	pattern_fill(memory_.data(), bytes, random_() >> 1);
	if (!one(IBV_WR_RDMA_WRITE, 0, bytes, peer, limit_s))
		return false;
	// UC has no ACKs, and may lose packets in flight when the path changes: try again then.
	for (double end = now_s() + limit_s, again = now_s() + 1; now_s() < end; usleep(100)) {
		if (!memcmp(memory_.data(), peer.memory_.data() + kBytes / 2, bytes))
			break;
		if (type_ == IBV_QPT_UC && now_s() > again) {
			again = now_s() + 1;
			if (!one(IBV_WR_RDMA_WRITE, 0, bytes, peer, limit_s))
				return false;
		}
	}
	if (memcmp(memory_.data(), peer.memory_.data() + kBytes / 2, bytes))
		return false;
	if (type_ != IBV_QPT_RC)
		return true;
	return one(IBV_WR_RDMA_READ, 100000, 20000, peer, limit_s) &&
	       (&peer == this || !memcmp(memory_.data() + 100000, memory_.data(), 20000));
}

} // namespace vt
