/* SPDX-License-Identifier: GPL-2.0 */
// Two QPs of this process that are connected to each other, with memory, CQs and what an XRC pair
// needs besides: `near` requests, `far` answers.
#ifndef TERN_VM_CONFORMANCE_PAIR_H
#define TERN_VM_CONFORMANCE_PAIR_H

#include <optional>

#include "conform.h"
#include "event.h"
#include "link.h"
#include "post.h"

namespace vt {

// Connects RoCE QPs by their addresses, iWARP QPs by rdma_cm, with this host's own address.
class Connection {
public:
	Connection() = default;
	Connection(Bed &bed, Link &near, Link &far);

private:
	std::optional<CmChannel> near_cm_, far_cm_;
	CmId near_id_, far_id_;
};

// Errors come soon: short timeouts, few retries.
LinkOptions impatient_link(ibv_qp_type type = IBV_QPT_RC);

struct Pair {
	// far_access: of far's region. XRC_SEND makes an XRC pair.
	explicit Pair(Bed &bed, LinkOptions options = impatient_link(), int far_access = kAllAccess,
		      const CqOptions &far_cq = {});

	// A request of near: 64 bytes of its memory, or the opcode's size, from or to far's.
	Work work(ibv_wr_opcode opcode, uint64_t id = 1) const;
	// Posted by near, it ends with that status.
	void ends(const Work &w, ibv_wc_status status);
	// near has ended: it flushes what is posted.
	void expect_ended();
	// A receive of far: all of its memory, unless named.
	void receive(uint64_t id = 7) { post_recv(far, id, {far_mem.sge(0, kBytes)}); }
	void receive(uint64_t id, const std::vector<ibv_sge> &sges) { post_recv(far, id, sges); }
	// The bytes at both ends are the same from there on; a datagram has 40 more at far.
	void expect_same(uint32_t bytes, uint32_t near_offset = 0, uint32_t far_offset = 0) const;

	static constexpr uint32_t kBytes = 16384;

	Bed &bed;
	Cq near_cq, far_cq;
	Arena near_mem, far_mem;
	Xrcd xrcd;
	Srq srq; // far's, of XRC
	Link near, far;
	Connection connection;
};

} // namespace vt

#endif
