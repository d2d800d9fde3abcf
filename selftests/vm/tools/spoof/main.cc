// SPDX-License-Identifier: GPL-2.0
// vspoof: a QP claims to be the peer of a QP that is connected to another one. It uses the right
// addresses (the host's), QP number and PSNs. On the local path its messages are not accepted.
#include <cstring>

#include "alone.h"
#include "cq.h"
#include "link.h"
#include "post.h"

namespace {

constexpr uint32_t kPsn = 0x4711;
constexpr uint32_t kBytes = 64;

vt::LinkOptions options(ibv_qp_type type)
{
	vt::LinkOptions o;
	o.type = type;
	o.psn = kPsn;
	o.timeout = 8;
	o.retries = 1;
	return o;
}

vt::Work work(ibv_wr_opcode opcode, uint64_t id, const vt::Arena &from, const vt::Arena &to)
{
	return {.opcode = opcode,
		.id = id,
		.sges = {from.sge(0, kBytes)},
		.remote_va = to.va(kBytes),
		.rkey = to.mr()->rkey};
}

// a and b are connected to each other. c claims to be b's peer, with a's PSN.
void try_spoofing(const vt::Device &device, ibv_qp_type type, ibv_wr_opcode opcode)
{
	vt::Pd pd = vt::make_pd(device.context());
	vt::Cq sends(device, {}), receives(device, {});
	vt::Arena ours(pd.get(), 4096), theirs(pd.get(), 4096), target(pd.get(), 4096);
	vt::Link a(device, pd.get(), sends.get(), sends.get(), options(type));
	vt::Link b(device, pd.get(), sends.get(), receives.get(), options(type));
	vt::Link c(device, pd.get(), sends.get(), sends.get(), options(type));

	memset(ours.at(0), 1, kBytes);
	memset(theirs.at(0), 2, kBytes);
	memset(target.at(0), 0, 2 * kBytes);
	for (vt::Link *link : {&a, &b, &c})
		link->to_init();
	a.to_rtr(b.address());
	b.to_rtr(a.address());
	c.to_rtr(b.address());
	for (vt::Link *link : {&a, &b, &c})
		link->to_rts();
	vt::post_recv(b, 7, {target.sge(0, kBytes)});

	// An unreliable request completes when it is sent.
	vt::post(c, work(opcode, 1, theirs, target));
	sends.expect(type == IBV_QPT_RC ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS, 1);
	vt::require(!*target.at(0) && !*target.at(kBytes), "the spoofing QP has written");

	vt::post(a, work(IBV_WR_SEND, 2, ours, target));
	receives.expect(IBV_WC_SUCCESS, 7);
	vt::require(*target.at(0) == 1, "the spoofing QP's message came instead of the peer's");
	sends.expect(IBV_WC_SUCCESS, 2);
	vt::require(!*target.at(kBytes), "the spoofing QP has written later");
}

void try_all(const vt::Device &device)
{
	for (ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE}) {
		try_spoofing(device, IBV_QPT_RC, opcode);
		try_spoofing(device, IBV_QPT_UC, opcode);
	}
}

} // namespace

int main(int argc, char **argv)
{
	return vt::check_alone(argc, argv, "vspoof", try_all);
}
