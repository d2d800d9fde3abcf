// SPDX-License-Identifier: GPL-2.0
// See player.h. If destroying an object fails with EBUSY, the object stays in the heap.
#include "player.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace vt {
namespace {

constexpr size_t kMemory = 256 * 1024;
constexpr size_t kMost = 12; // objects of a kind

const char *const kActNames[kActs] = {
	"make_pd",  "drop_pd",	 "make_mr",   "drop_mr",     "rereg",	 "make_mw",   "drop_mw",
	"make_cq",  "drop_cq",	 "resize_cq", "moderate_cq", "poll_cq",	 "make_srq",  "drop_srq",
	"post_srq", "make_qp",	 "drop_qp",   "modify_qp",   "connect",	 "post_recv", "post_send",
	"make_ah",  "drop_ah",	 "mcast",     "reopen",	     "make_odp", "remap",     "call",
	"hang_up",  "drop_call", "listen"};

bool has(const Device &device, Act act, bool on_demand)
{
	switch (act) {
	case kConnect:
	case kMakeAh:
	case kDropAh:
	case kMcast:
		return !device.is_iwarp();
	case kMakeOdp:
	case kRemap:
		return on_demand && device.attr_ex().odp_caps.general_caps & IBV_ODP_SUPPORT;
	case kCall:
	case kHangUp:
	case kDropCall:
	case kListen:
		return device.is_iwarp();
	default:
		return true;
	}
}

// Empties a random place, if an object is there and its verb succeeds: the fewer objects
// there are, the longer they live.
template <class T, class F> bool drop(std::vector<T *> *heap, uint64_t choice, F destroy)
{
	size_t i = choice % kMost;
	if (i >= heap->size())
		return true;
	if (destroy((*heap)[i]))
		return false;
	(*heap)[i] = heap->back();
	heap->pop_back();
	return true;
}

// All players run the same program, so they share the domain of its file.
Xrcd open_shared_domain(ibv_context *context)
{
	int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	require(fd >= 0, "/proc/self/exe: %m");
	Xrcd domain = try_open_domain(context, fd, O_CREAT);
	int error = errno;
	close(fd);
	require(domain != nullptr, "ibv_open_xrcd: %s", strerror(error));
	return domain;
}

bool sends_requests(const ibv_qp *qp)
{
	return qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND;
}

bool answers_requests(const ibv_qp *qp)
{
	return qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV;
}

template <class T> bool keep(std::vector<T *> *heap, T *object)
{
	if (object)
		heap->push_back(object);
	return object;
}

} // namespace

unsigned Score::acts() const
{
	unsigned sum = 0;
	for (int i = 0; i < kActs; i++)
		sum += __atomic_load_n(&done[i], __ATOMIC_RELAXED) +
		       __atomic_load_n(&refused[i], __ATOMIC_RELAXED);
	return sum;
}

// No QP was connected, or no message arrived.
bool Score::is_idle() const
{
	return !__atomic_load_n(&done[kConnect], __ATOMIC_RELAXED) ||
	       !__atomic_load_n(&good, __ATOMIC_RELAXED);
}

void Score::print() const
{
	for (int i = 0; i < kActs; i++)
		printf("# %-10s %7u done %6u refused\n", kActNames[i], done[i], refused[i]);
}

Player::Player(const DeviceChoice &choice, uint64_t seed, Score *score, bool hostile,
	       bool on_demand)
	: choice_(choice), random_(seed), score_(score), hostile_(hostile), on_demand_(on_demand),
	  memory_(kMemory)
{
	open();
	for (int i = 0; i < kActs; i++)
		if (has(*device_, static_cast<Act>(i), on_demand_))
			acts_.push_back(static_cast<Act>(i));
}

Player::~Player()
{
	clear();
}

void Player::play()
{
	while (!__atomic_load_n(&score_->over, __ATOMIC_RELAXED)) {
		act(acts_[below(acts_.size())]);
		if (calls_)
			take_call_events();
	}
}

bool Player::note(Act what, bool ok)
{
	__atomic_add_fetch(ok ? &score_->done[what] : &score_->refused[what], 1, __ATOMIC_RELAXED);
	return ok;
}

void Player::open()
{
	device_ = std::make_unique<Device>(choice_);
	if (device_->is_iwarp())
		calls_ = std::make_unique<Calls>(choice_.netdev, random_(),
						 [this] { return qp_to_connect(); });
	if (device_->can(IBV_DEVICE_XRC))
		domain_ = open_shared_domain(device_->context());
	if (hostile_)
		scribbler_ = std::make_unique<Scribbler>(device_->context()->cmd_fd, random_(),
							 &score_->stores);
}

// Objects go before those they use. The kernel clears what cannot be destroyed.
void Player::clear()
{
	for (ibv_qp *qp : qps_)
		ibv_destroy_qp(qp);
	// A waiting call ends with its QP.
	calls_.reset();
	for (ibv_ah *ah : ahs_)
		ibv_destroy_ah(ah);
	for (ibv_mw *mw : mws_)
		ibv_dealloc_mw(mw);
	for (ibv_mr *mr : mrs_)
		ibv_dereg_mr(mr);
	for (ibv_srq *srq : srqs_)
		ibv_destroy_srq(srq);
	domain_.reset();
	for (ibv_cq *cq : cqs_)
		ibv_destroy_cq(cq);
	for (ibv_pd *pd : pds_)
		ibv_dealloc_pd(pd);
	qps_.clear(), ahs_.clear(), mws_.clear(), mrs_.clear(), srqs_.clear(), cqs_.clear();
	pds_.clear();
}

// Basic, or of XRC, whose targets find it as long as it is there.
void Player::make_srq(ibv_pd *pd)
{
	if (domain_ && !cqs_.empty() && below(2)) {
		Srq srq = try_make_xrc_srq(pd, domain_.get(), random_of(cqs_), 1 + below(200));
		note(kMakeSrq, keep(&srqs_, srq.release()));
		return;
	}
	ibv_srq_init_attr attr = {};
	attr.attr = {1 + below(200), 1 + below(4), 0};
	note(kMakeSrq, keep(&srqs_, ibv_create_srq(pd, &attr)));
}

// A new one, or one of our QPs once more, if that is a target.
ibv_qp *Player::make_target()
{
	if (!qps_.empty() && below(2))
		return try_open_target(device_->context(), domain_.get(), random_of(qps_)->qp_num)
			.release();
	return try_make_target(device_->context(), domain_.get()).release();
}

void Player::make_qp()
{
	if (pds_.empty() || cqs_.empty() || qps_.size() >= kMost)
		return;
	const ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC,	   IBV_QPT_UC,
				     IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV};
	ibv_qp_type type = types[below(device_->is_iwarp() ? 1 : domain_ ? std::size(types) : 4)];
	if (type == IBV_QPT_XRC_RECV) {
		note(kMakeQp, keep(&qps_, make_target()));
		return;
	}
	ibv_qp_init_attr attr = {};
	attr.send_cq = cqs_[below(cqs_.size())];
	attr.recv_cq = cqs_[below(cqs_.size())];
	attr.srq = srqs_.empty() || below(3) ? nullptr : srqs_[below(srqs_.size())];
	attr.cap = {1 + below(100), 1 + below(100), 1 + below(8), 1 + below(8), below(200)};
	attr.qp_type = type;
	ibv_qp *qp = ibv_create_qp(pds_[below(pds_.size())], &attr);
	note(kMakeQp, keep(&qps_, qp));
}

// Connects two of our own QPs, or one to itself: post_send() then moves data.
void Player::connect_two()
{
	if (qps_.empty())
		return;
	ibv_qp *ends[2] = {qps_[below(qps_.size())], qps_[below(qps_.size())]};
	for (int i = 0; i < 2; i++) {
		ibv_qp *qp = ends[i], *other = ends[!i];
		bool ud = qp->qp_type == IBV_QPT_UD;
		ibv_qp_attr a = {};
		a.qp_state = IBV_QPS_INIT;
		a.port_num = 1;
		a.qkey = 0x11;
		a.qp_access_flags = static_cast<unsigned>(kAllAccess);
		ibv_modify_qp(qp, &a,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
		a.qp_state = IBV_QPS_RTR;
		a.path_mtu = device_->port().active_mtu;
		a.dest_qp_num = other->qp_num;
		a.max_dest_rd_atomic = 4;
		a.ah_attr.is_global = 1;
		a.ah_attr.port_num = 1;
		a.ah_attr.grh.dgid = device_->gid();
		a.ah_attr.grh.sgid_index = static_cast<uint8_t>(device_->gid_index());
		a.ah_attr.grh.hop_limit = 1;
		ibv_modify_qp(qp, &a,
			      IBV_QP_STATE |
				      (ud ? 0 :
					    IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						       IBV_QP_RQ_PSN) |
				      (answers_requests(qp) ?
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER :
					       0));
		a.qp_state = IBV_QPS_RTS;
		a.timeout = 8;
		a.retry_cnt = 2;
		a.rnr_retry = 1;
		a.max_rd_atomic = 4;
		int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
		if (sends_requests(qp) || answers_requests(qp))
			mask |= IBV_QP_TIMEOUT;
		if (sends_requests(qp))
			mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
		int error = ibv_modify_qp(qp, &a, mask);
		note(kConnect, !error);
	}
}

// A QP that was never connected, if there is one: others cannot go to INIT.
uint32_t Player::qp_to_connect()
{
	if (qps_.empty())
		return 0;
	std::rotate(qps_.begin(), qps_.begin() + below(qps_.size()), qps_.end());
	for (ibv_qp *qp : qps_) {
		ibv_qp_attr attr = {};
		attr.qp_state = IBV_QPS_INIT;
		attr.qp_access_flags = static_cast<unsigned>(kAllAccess);
		if (!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS))
			return qp->qp_num;
	}
	return qps_[0]->qp_num;
}

// Mostly a region of that PD.
ibv_mr *Player::mr_for(const ibv_pd *pd)
{
	ibv_mr *mr = mrs_[below(mrs_.size())];
	for (int i = 0; i < 8 && mr->pd != pd; i++)
		mr = mrs_[below(mrs_.size())];
	return mr;
}

// What a region's requests may name. An implicit one is all of our memory.
Memory Player::memory_of(const ibv_mr *mr) const
{
	if (mr->length == SIZE_MAX)
		return wild_.all();
	return {reinterpret_cast<uint64_t>(mr->addr), mr->length};
}

void Player::post_recv(ibv_qp *qp, ibv_srq *srq)
{
	if (mrs_.empty())
		return;
	ibv_mr *mr = mr_for(srq ? srq->pd : qp->pd);
	Memory memory = memory_of(mr);
	ibv_sge sge = {memory.at, below(memory.bytes + 1), mr->lkey};
	ibv_recv_wr wr = {0, nullptr, &sge, 1}, *bad;
	if (srq)
		note(kPostSrq, !ibv_post_srq_recv(srq, &wr, &bad));
	else
		note(kPostRecv, !ibv_post_recv(qp, &wr, &bad));
}

// Of an SRQ of ours, mostly; else perhaps of another player's. It need not be of XRC.
uint32_t Player::some_srq_number()
{
	uint32_t number = 0;
	if (!srqs_.empty())
		ibv_get_srq_num(random_of(srqs_), &number);
	return number + (below(4) ? 0 : below(16));
}

void Player::post_send(ibv_qp *qp)
{
	if (mrs_.empty())
		return;
	ibv_mr *mr = mr_for(qp->pd), *target = mrs_[below(mrs_.size())];
	const ibv_wr_opcode opcodes[] = {IBV_WR_SEND,
					 IBV_WR_RDMA_WRITE,
					 IBV_WR_RDMA_READ,
					 device_->send_with_imm(),
					 IBV_WR_ATOMIC_FETCH_AND_ADD,
					 IBV_WR_RDMA_WRITE_WITH_IMM};
	// Short messages fit into the receives.
	Memory memory = memory_of(mr);
	uint64_t to = memory_of(target).at;
	ibv_sge sge = {memory.at, below(1 + below(memory.bytes + 9)), mr->lkey};
	ibv_send_wr wr = {}, *bad;
	wr.opcode = opcodes[below(sends_requests(qp) ? 6 : 1)];
	wr.qp_type.xrc.remote_srqn = some_srq_number();
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = below(2) ? unsigned{IBV_SEND_SIGNALED} : 0;
	if (qp->qp_type == IBV_QPT_UD) {
		if (ahs_.empty())
			return;
		sge.length %= 1024;
		wr.wr.ud = {ahs_[below(ahs_.size())], qps_[below(qps_.size())]->qp_num, 0x11};
	} else if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic = {(to + 7) & ~7ull, 1, 0, target->rkey};
	} else {
		wr.wr.rdma = {to, target->rkey};
	}
	note(kPostSend, !ibv_post_send(qp, &wr, &bad));
}

void Player::poll(ibv_cq *cq)
{
	ibv_wc wc[8];
	int n = ibv_poll_cq(cq, 8, wc);
	note(kPollCq, n >= 0);
	for (int i = 0; i < n; i++)
		if (wc[i].status == IBV_WC_SUCCESS)
			__atomic_add_fetch(&score_->good, 1, __ATOMIC_RELAXED);
}

void Player::wild_act(Act what, ibv_pd *pd)
{
	if (what == kRemap) {
		note(what, wild_.change(&random_));
		return;
	}
	if (!pd || mrs_.size() >= kMost)
		return;
	constexpr unsigned kAccess =
		unsigned{kAllAccess} | IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND;
	Memory part = wild_.part(&random_);
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	void *at = reinterpret_cast<void *>(part.at);
	note(what, keep(&mrs_, below(2) ? ibv_reg_mr(pd, nullptr, SIZE_MAX, kAccess) :
					  ibv_reg_mr(pd, at, part.bytes, kAccess)));
}

void Player::call_act(Act what, uint64_t dice)
{
	switch (what) {
	case kCall:
		// A QP can be connected only once: make two new ones, if there is room.
		make_qp();
		make_qp();
		note(what, calls_->begin());
		break;
	case kHangUp:
		note(what, calls_->hang_up());
		break;
	case kDropCall:
		calls_->drop();
		note(what, true);
		break;
	default:
		if (dice % 8 == 0) {
			calls_->listen();
			note(what, true);
		}
		break;
	}
}

// Use a new connection at once: it does not live long.
void Player::take_call_events()
{
	for (uint32_t qpn : calls_->take_events()) {
		note(kConnect, true);
		auto found = std::find_if(qps_.begin(), qps_.end(),
					  [qpn](const ibv_qp *qp) { return qp->qp_num == qpn; });
		for (int i = 0; i < 5 && found != qps_.end(); i++) {
			if (!(*found)->srq)
				post_recv(*found, nullptr);
			post_send(*found);
		}
	}
}

void Player::act(Act what)
{
	ibv_context *context = device_->context();
	ibv_pd *pd = random_of(pds_);
	ibv_qp *qp = random_of(qps_);
	uint64_t dice = random_();
	switch (what) {
	case kMakePd:
		if (pds_.size() < 4)
			note(what, keep(&pds_, ibv_alloc_pd(context)));
		break;
	case kDropPd:
		note(what, drop(&pds_, dice, ibv_dealloc_pd));
		break;
	case kMakeMr:
		if (pd && mrs_.size() < kMost) {
			size_t from = below(kMemory / 2), bytes = 1 + below(kMemory / 2);
			note(what, keep(&mrs_, ibv_reg_mr(pd, memory_.data() + from, bytes,
							  static_cast<unsigned>(kAllAccess) |
								  IBV_ACCESS_MW_BIND)));
		}
		break;
	case kDropMr:
		note(what, drop(&mrs_, dice, ibv_dereg_mr));
		break;
	case kRereg:
		if (pd && !mrs_.empty())
			note(what, !ibv_rereg_mr(mrs_[below(mrs_.size())],
						 IBV_REREG_MR_CHANGE_TRANSLATION |
							 IBV_REREG_MR_CHANGE_ACCESS |
							 (dice & 1 ? IBV_REREG_MR_CHANGE_PD : 0),
						 pd, memory_.data() + below(4096),
						 1 + below(kMemory / 2), kAllAccess));
		break;
	case kMakeMw:
		if (pd && mws_.size() < kMost)
			note(what, keep(&mws_, ibv_alloc_mw(pd, dice & 1 ? IBV_MW_TYPE_1 :
									   IBV_MW_TYPE_2)));
		break;
	case kDropMw:
		note(what, drop(&mws_, dice, ibv_dealloc_mw));
		break;
	case kMakeCq:
		if (cqs_.size() < kMost)
			note(what,
			     keep(&cqs_, ibv_create_cq(context, 1 + static_cast<int>(below(500)),
						       nullptr, nullptr, 0)));
		break;
	case kDropCq:
		note(what, drop(&cqs_, dice, ibv_destroy_cq));
		break;
	case kResizeCq:
		if (!cqs_.empty())
			note(what, !ibv_resize_cq(cqs_[below(cqs_.size())],
						  1 + static_cast<int>(below(600))));
		break;
	case kModerateCq:
		if (!cqs_.empty()) {
			ibv_cq *cq = cqs_[below(cqs_.size())];
			ibv_modify_cq_attr attr = {IBV_CQ_ATTR_MODERATE,
						   {static_cast<uint16_t>(below(8)),
						    static_cast<uint16_t>(below(500))}};
			note(what, !ibv_modify_cq(cq, &attr) && !ibv_req_notify_cq(cq, 0));
		}
		break;
	case kPollCq:
		for (ibv_cq *cq : cqs_)
			poll(cq);
		break;
	case kMakeSrq:
		if (pd && srqs_.size() < 4)
			make_srq(pd);
		break;
	case kDropSrq:
		note(what, drop(&srqs_, dice, ibv_destroy_srq));
		break;
	case kPostSrq:
		if (!srqs_.empty())
			post_recv(nullptr, srqs_[below(srqs_.size())]);
		break;
	case kPostRecv:
		if (qp && !qp->srq)
			post_recv(qp, nullptr);
		break;
	case kMakeQp:
		make_qp();
		break;
	case kDropQp:
		note(what, drop(&qps_, dice, ibv_destroy_qp));
		break;
	case kModifyQp:
		if (qp) {
			ibv_qp_attr attr = {};
			attr.qp_state = static_cast<ibv_qp_state>(below(IBV_QPS_ERR + 1));
			note(what, !ibv_modify_qp(qp, &attr, IBV_QP_STATE));
		}
		break;
	case kConnect:
		connect_two();
		break;
	case kPostSend:
		for (int i = 0; i < 5 && qp; i++)
			post_send(random_of(qps_));
		break;
	case kMakeAh:
		if (pd && ahs_.size() < kMost) {
			ibv_ah_attr attr = {};
			attr.is_global = 1;
			attr.port_num = 1;
			attr.grh.dgid = device_->gid();
			attr.grh.sgid_index = static_cast<uint8_t>(device_->gid_index());
			note(what, keep(&ahs_, ibv_create_ah(pd, &attr)));
		}
		break;
	case kDropAh:
		note(what, drop(&ahs_, dice, ibv_destroy_ah));
		break;
	case kMcast:
		// No group takes an XRC target. ib_core locks a mutex for that which it has not
		// made for a target that was opened, and a debug kernel then has no lockdep any
		// more.
		if (qp && qp->qp_type != IBV_QPT_XRC_RECV) {
			ibv_gid group = {};
			const uint8_t mapped[16] = {
				0xff, 0x0e, 0,	  0,	0,   0,	 0, 0,
				0,    0,    0xff, 0xff, 239, 77, 0, static_cast<uint8_t>(dice % 4)};
			memcpy(group.raw, mapped, 16);
			note(what, !(dice & 1 ? ibv_attach_mcast(qp, &group, 0) :
						ibv_detach_mcast(qp, &group, 0)));
		}
		break;
	case kReopen:
		if (dice % 20 == 0) {
			clear();
			if (scribbler_)
				scribbler_->forget_context();
			// Objects that could not be destroyed end with the context.
			device_.reset();
			open();
			note(what, true);
		}
		break;
	case kMakeOdp:
	case kRemap:
		wild_act(what, pd);
		break;
	default:
		call_act(what, dice);
		break;
	}
}

} // namespace vt
