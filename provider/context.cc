// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* An open device: the kernel's user context, its features, the operation table. */
#include <unistd.h>

#include "abi/library.h"
#include "command.h"
#include "objects.h"
#include "tern-abi.h"
#include "verbs.h"

namespace tern {
namespace {

const verbs_context_ops context_ops = {
	.alloc_mw = alloc_mw,
	.alloc_parent_domain = alloc_parent_domain,
	.alloc_pd = alloc_pd,
	.alloc_td = alloc_td,
	.attach_mcast = attach_mcast,
	.bind_mw = bind_mw,
	.create_ah = create_ah,
	.create_cq = create_cq,
	.create_cq_ex = create_cq_ex,
	.create_qp = create_qp,
	.create_qp_ex = create_qp_ex,
	.create_srq = create_srq,
	.create_srq_ex = create_srq_ex,
	.dealloc_mw = dealloc_mw,
	.dealloc_pd = dealloc_pd,
	.dealloc_td = dealloc_td,
	.dereg_mr = dereg_mr,
	.destroy_ah = destroy_ah,
	.destroy_cq = destroy_cq,
	.destroy_qp = destroy_qp,
	.destroy_srq = destroy_srq,
	.detach_mcast = detach_mcast,
	.free_context = free_context,
	.get_srq_num = get_srq_num,
	.import_mr = import_mr,
	.import_pd = import_pd,
	.modify_qp = modify_qp,
	.modify_srq = modify_srq,
	.poll_cq = poll_cq,
	.post_recv = post_recv,
	.post_send = post_send,
	.post_srq_recv = post_srq_recv,
	.query_device_ex = query_device_ex,
	.query_port = query_port,
	.query_qp = query_qp,
	.query_rt_values = query_rt_values,
	.query_srq = query_srq,
	.reg_mr = reg_mr,
	.req_notify_cq = req_notify_cq,
	.rereg_mr = rereg_mr,
	.resize_cq = resize_cq,
	.unimport_mr = unimport_mr,
	.unimport_pd = unimport_pd,
};

bool env_is_set(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] && !(value[0] == '0' && !value[1]);
}

constexpr uint64_t kFeatures = TERN_FEATURE_DOORBELL_FILE;

/* What the kernel says about a context. */
struct Answer {
	uint32_t num_comp_vectors;
	uint64_t core_support;
	tern_alloc_ucontext_resp driver;
};

/* Make a user context for the command file. 0 or errno. */
int get_context(int cmd_fd, Answer *answer)
{
	const tern_alloc_ucontext_req req = {kFeatures};

	return Command(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT)
		.out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &answer->num_comp_vectors)
		.out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &answer->core_support)
		.in(UVERBS_ATTR_UHW_IN, req)
		.out(UVERBS_ATTR_UHW_OUT, &answer->driver)
		.run(cmd_fd);
}

/* Ask about the user context that the command file has already. 0 or errno. */
int query_context(int cmd_fd, Answer *answer)
{
	return Command(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT)
		.out(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &answer->num_comp_vectors)
		.out(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &answer->core_support)
		.out(TERN_ATTR_QUERY_CONTEXT_RESP, &answer->driver)
		.run(cmd_fd);
}

void take_answer(Context *ctx, const Answer &answer)
{
	ctx->base.num_comp_vectors = static_cast<int>(answer.num_comp_vectors);
	reinterpret_cast<verbs_device *>(ctx->base.device)->core_support = answer.core_support;
	if (answer.driver.features & TERN_FEATURE_DOORBELL_FILE)
		ctx->doorbell_fd = answer.driver.doorbell_fd;
	ctx->single_threaded = env_is_set("TERN_SINGLE_THREADED");
	ctx->one_cpu = sysconf(_SC_NPROCESSORS_ONLN) == 1;
	ctx->allow_disassoc = getenv("RDMAV_ALLOW_DISASSOC_DESTROY") != nullptr;
}

/* ask is get_context() or query_context(). */
verbs_context *open_context(ibv_device *device, int cmd_fd, int (*ask)(int cmd_fd, Answer *answer))
{
	Answer answer{};
	const char *why;
	Context *ctx;
	int err;

	ctx = static_cast<Context *>(abi::library.init_and_alloc_context(
		device, cmd_fd, sizeof(Context),
		offsetof(Context, base) - abi::library.release->context_offset, TERN_DRIVER_ID));
	if (!ctx)
		return nullptr;

	ctx->doorbell_fd = -1;
	/* First, because it checks that the library's context is laid out as assumed. */
	why = abi::set_ops(&ctx->base, context_ops);
	if (why)
		abi::complain(why);
	err = why ? ENOSYS : ask(ctx->base.cmd_fd, &answer);
	if (err) {
		free_context(&ctx->base);
		errno = err;
		return nullptr;
	}
	take_answer(ctx, answer);
	return abi::context_of(&ctx->base);
}

} // namespace

verbs_context *alloc_context(ibv_device *device, int cmd_fd, void * /*private_data*/)
{
	return open_context(device, cmd_fd, get_context);
}

verbs_context *import_context(ibv_device *device, int cmd_fd)
{
	return open_context(device, cmd_fd, query_context);
}

void free_context(ibv_context *context)
{
	Context *ctx = to_context(context);

	if (ctx->doorbell_fd >= 0)
		close(ctx->doorbell_fd);
	abi::library.uninit_context(abi::context_of(context));
	free(ctx);
}

} // namespace tern
