/* SPDX-License-Identifier: GPL-2.0 */
// A QP connected to a QP of the peer (XRC_SEND to XRC_RECV): creation, address exchange, state
// changes.
#ifndef TERN_VM_LINK_H
#define TERN_VM_LINK_H

#include <cstdint>
#include <optional>
#include <vector>

#include "cm.h"
#include "control.h"
#include "cq.h"
#include "device.h"
#include "objects.h"

namespace vt {

struct LinkOptions {
	ibv_qp_type type = IBV_QPT_RC;
	uint32_t send_wr = 64, recv_wr = 64;
	uint32_t sges = 1;
	uint32_t inline_bytes = 0;
	bool modern = false;	// ibv_wr_* instead of ibv_post_send
	bool placement = false; // with modern: also FLUSH and ATOMIC WRITE, as far as possible
	bool all_signalled = false;
	uint32_t create_flags = 0; // IBV_QP_CREATE_*
	ibv_srq *srq = nullptr;	   // XRC_RECV: where its receives are posted
	ibv_xrcd *xrcd = nullptr;  // XRC_RECV
	int access = kAllAccess;
	std::optional<ibv_mtu> mtu;  // default: the smaller of both ports' active MTUs
	std::optional<uint32_t> psn; // default: random
	uint8_t rd_atomic = 16;
	uint8_t timeout = 15, retries = 7, rnr_retries = 7, min_rnr_timer = 12;
	uint32_t qkey = 0x11111111;
};

// A QP's address.
struct QpAddress {
	uint32_t qpn, psn, mtu, qkey;
	ibv_gid gid;
};

class Link {
public:
	Link(const Device &device, ibv_pd *pd, ibv_cq *send_cq, ibv_cq *recv_cq,
	     const LinkOptions &options);
	// A QP that exists.
	Link(const Device &device, QpOwner qp, const LinkOptions &options);

	// Exchanges addresses and goes to RTS. Both sides call it.
	void connect(Control &control) { connect_all({this}, control); }
	// The same for many links. The peer's have the same order.
	static void connect_all(const std::vector<Link *> &links, Control &control);

	// The steps of connect(); each requires success.
	QpAddress address() const;
	void to_init();
	void to_rtr(const QpAddress &peer);
	void to_rts();
	// Any transition, which may fail: 0 or errno.
	int modify(ibv_qp_attr *attr, int mask) { return ibv_modify_qp(qp_.get(), attr, mask); }
	int to_state(ibv_qp_state state);
	// The same, but the case fails if the transition does.
	void move_to(ibv_qp_state state);
	ibv_qp_state state() const;

	ibv_qp *qp() const { return qp_.get(); }
	ibv_qp_ex *ex() const { return ex_; }
	ibv_ah *ah() const { return ah_.get(); }
	const QpAddress &peer() const { return peer_; }
	const LinkOptions &options() const { return options_; }
	uint32_t inline_bytes() const { return inline_bytes_; }
	uint32_t mtu() const;
	void destroy();

private:
	ibv_ah_attr way_to(const QpAddress &peer) const;
	void to_peer(const QpAddress &peer, Control &control);
	void connect_by_cm(Control &control);

	const Device &device_;
	ibv_pd *pd_;
	LinkOptions options_;
	uint32_t psn_;
	uint32_t inline_bytes_ = 0;
	QpAddress peer_ = {};
	Ah ah_;
	std::optional<CmChannel> cm_;
	CmId cm_id_;
	QpOwner qp_;
	ibv_qp_ex *ex_ = nullptr;
};

} // namespace vt

#endif
