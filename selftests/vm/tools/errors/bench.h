/* SPDX-License-Identifier: GPL-2.0 */
// What the error cases share: a fresh connected QP pair with a target region on the
// server, one work request that must fail, and which end is tern.
#ifndef TERN_VM_ERRORS_BENCH_H
#define TERN_VM_ERRORS_BENCH_H

#include <cstring>

#include <infiniband/verbs.h>

#include "event.h"
#include "post.h"
#include "ring_map.h"
#include "transfer.h"

namespace vt {

constexpr uint32_t kTargetBytes = 16384;

// Errors should come soon: short timeouts, few retries.
inline LinkOptions impatient()
{
	LinkOptions options;
	options.timeout = 12;
	options.retries = 5;
	return options;
}

struct ErrorBench {
	explicit ErrorBench(Env &e, const LinkOptions &options = impatient(),
			    int target_access = kAllAccess, const CqOptions &cq = {})
		: env(e), bench(e, options, 65536, cq),
		  target(bench.pd.get(), kTargetBytes, target_access)
	{
		target.fill_canary();
		there = e.control.exchange(target.remote());
	}

	// Client: a work request of `opcode` on the peer's target, which the case may change.
	Work to_target(ibv_wr_opcode opcode, uint64_t id = 1, uint32_t bytes = 64) const
	{
		Work w{.opcode = opcode, .id = id, .sges = {bench.arena.sge(0, bytes)}};
		w.remote_va = there.va;
		w.rkey = there.rkey;
		return w;
	}

	// Client: post it and expect its status. Both sides then check that no memory has changed.
	void fails(const Work &w, ibv_wc_status status)
	{
		if (env.client) {
			post(bench.link, w);
			bench.cq.expect(status, w.id, env.limit_s);
			if (status != IBV_WC_SUCCESS)
				require(bench.link.state() == IBV_QPS_ERR,
					"the QP is in state %d, not ERR", bench.link.state());
		}
		env.control.sync();
		require(target.check_canary(0, kTargetBytes) == kTargetBytes,
			"the target was changed");
		env.control.sync();
	}

	// Both ends are on one host, with one address.
	bool peer_is_here() const
	{
		return !memcmp(&env.device.gid(), &bench.link.peer().gid, sizeof(ibv_gid));
	}

	Env &env;
	Bench bench;
	Arena target;
	Remote there;
};

// Call it on both sides. Unless both devices are tern's, the case is skipped: it needs `what`.
void need_tern(Env &env, const char *what);

} // namespace vt

#endif
