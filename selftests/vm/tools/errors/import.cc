// SPDX-License-Identifier: GPL-2.0
// A context is imported by its command file, as another process would do: its domains,
// regions and queues. Events reach the context of their object.
#include <poll.h>
#include <unistd.h>

#include "bench.h"

namespace vt {
namespace {

struct ContextCloser {
	void operator()(ibv_context *context) const { ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, ContextCloser>;
using CqOwner = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;
using ImportedPd = std::unique_ptr<ibv_pd, CmDestroyer<ibv_unimport_pd>>;
using ImportedMr = std::unique_ptr<ibv_mr, CmDestroyer<ibv_unimport_mr>>;

bool has_event(const ibv_context *context, double limit_s)
{
	pollfd ready = {context->async_fd, POLLIN, 0};

	return poll(&ready, 1, static_cast<int>(limit_s * 1000)) == 1;
}

void import(Env &env)
{
	need_tern(env, "a context of another process");
	Pd pd = make_pd(env.device.context());
	Arena arena(pd.get(), 4096);
	Context other(ibv_import_device(dup(env.device.context()->cmd_fd)));
	require(other != nullptr, "ibv_import_device: %m");
	ImportedPd their_pd(ibv_import_pd(other.get(), pd->handle));
	require(their_pd != nullptr, "ibv_import_pd: %m");
	ImportedMr their_mr(ibv_import_mr(their_pd.get(), arena.mr()->handle));
	require(their_mr != nullptr, "ibv_import_mr: %m");
	require(their_mr->lkey == arena.lkey() && their_mr->rkey == arena.mr()->rkey &&
			their_mr->length == arena.size(),
		"the region has other keys, or another length");
	require(!ibv_import_mr(their_pd.get(), 0x7fffffff), "a region that is not there");

	CqOwner cq(ibv_create_cq(other.get(), 4, nullptr, nullptr, 0));
	require(cq != nullptr, "ibv_create_cq: %m");
	ibv_srq_init_attr srq_attr = {nullptr, {4, 1, 0}};
	Srq srq(ibv_create_srq(their_pd.get(), &srq_attr));
	require(srq != nullptr, "ibv_create_srq: %m");
	ibv_qp_init_attr attr = {};
	attr.send_cq = attr.recv_cq = cq.get();
	attr.srq = srq.get();
	attr.cap = {4, 0, 1, 0, 0};
	attr.qp_type = IBV_QPT_RC;
	QpOwner qp(ibv_create_qp(their_pd.get(), &attr));
	require(qp != nullptr, "ibv_create_qp: %m");

	ibv_qp_attr to = {};
	to.qp_state = IBV_QPS_INIT;
	to.port_num = 1;
	require(!ibv_modify_qp(qp.get(), &to,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS),
		"to INIT");
	to.qp_state = IBV_QPS_ERR;
	require(!ibv_modify_qp(qp.get(), &to, IBV_QP_STATE), "to ERR");
	ibv_async_event event;
	require(has_event(other.get(), env.limit_s) && !ibv_get_async_event(other.get(), &event),
		"no event comes to the QP's own context");
	require(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == qp.get(),
		"event %d", event.event_type);
	ibv_ack_async_event(&event);
	require(!has_event(env.device.context(), 0.1), "it came to the other's context, too");
	env.control.sync();
}

Register cases([](Cases &list) { list.push_back({"context/import", import}); });

} // namespace
} // namespace vt
