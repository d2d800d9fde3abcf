/* SPDX-License-Identifier: GPL-2.0 */
// What the XRC cases share: a connection from an initiator at the client to a target at the
// server, with a domain and an SRQ there; and messages for a certain SRQ.
#ifndef TERN_VM_VERIFY_XRC_BENCH_H
#define TERN_VM_VERIFY_XRC_BENCH_H

#include "post.h"
#include "transfer.h"
#include "xrc.h"

namespace vt {

// The device that env has, as another process opens it.
DeviceChoice same_device(const Env &env);

// An SRQ with all that it needs, and memory for its receives: kSlots of kSlotBytes.
struct Receiver {
	static constexpr uint32_t kSlots = 256, kSlotBytes = 8192;

	Receiver(const Device &device, ibv_xrcd *domain);
	// Posts receives into the next n slots.
	void post(uint32_t n);
	// The next message has this pattern and length, in the slot whose turn it is.
	Completion expect(uint64_t key, uint32_t bytes, double limit_s);

	Pd pd;
	Cq cq;
	Arena arena;
	Srq srq;
	uint32_t number;

private:
	uint64_t posted_ = 0, taken_ = 0;
};

struct XrcBench {
	explicit XrcBench(Env &env, const LinkOptions &options = {}, const CqOptions &cq = {},
			  int domain_fd = -1, MrKind kind = MrKind::kPlain);

	// Client: a SEND of the pattern to an SRQ.
	void send(uint32_t srqn, uint64_t id, uint32_t bytes, uint64_t key);
	void send(uint32_t srqn, uint64_t id) { send(srqn, id, 64, id); }
	// Client: a WRITE of 64 bytes.
	void write(uint32_t srqn, uint64_t id, const Remote &to);
	// Both: the server's value.
	template <class T> T of_server(const T &ours)
	{
		T theirs = env.control.exchange(ours);
		return env.client ? theirs : ours;
	}
	// Both: from RESET, or new.
	void reconnect();

	Env &env;
	Pd pd;
	Cq cq;
	Arena arena;
	Xrcd domain;	 // server
	Srq srq;	 // server
	uint32_t number; // of the server's SRQ
	Link link;
};

// Requires this event of this QP within the limit. Others before it are ignored.
void expect_qp_event(Env &env, const ibv_qp *qp, ibv_event_type type);

} // namespace vt

#endif
