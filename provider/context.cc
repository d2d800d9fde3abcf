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
#define TERN_OP(since, ret, name, args) .name = name,
#define TERN_OP_UNUSED(since, name)
#include "abi/ops.inc"
#undef TERN_OP
#undef TERN_OP_UNUSED
};

bool env_is_set(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] && !(value[0] == '0' && !value[1]);
}

constexpr uint64_t kFeatures = TERN_FEATURE_DOORBELL_FILE | TERN_FEATURE_NULL_MR |
			       TERN_FEATURE_DEVICE_MEMORY | TERN_FEATURE_CQ_OPTIONS |
			       TERN_FEATURE_IN_ORDER | TERN_FEATURE_ATOMIC_WRITE |
			       TERN_FEATURE_FLUSH | TERN_FEATURE_RATE_LIMIT;

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

/* Of the ibv_wr_* operations that came after the first ones. */
uint64_t absent_ops(uint64_t features)
{
	uint64_t absent = 0;

	if (!(features & TERN_FEATURE_ATOMIC_WRITE) || !abi::has_wr_op(abi::kWrAtomicWriteAt))
		absent |= abi::kWithAtomicWrite;
	if (!(features & TERN_FEATURE_FLUSH) || !abi::has_wr_op(abi::kWrFlushAt))
		absent |= abi::kWithFlush;
	return absent;
}

void take_answer(Context *ctx, const Answer &answer)
{
	ctx->base.num_comp_vectors = static_cast<int>(answer.num_comp_vectors);
	reinterpret_cast<verbs_device *>(ctx->base.device)->core_support = answer.core_support;
	if (answer.driver.features & TERN_FEATURE_DOORBELL_FILE)
		ctx->doorbell_fd = answer.driver.doorbell_fd;
	ctx->features = answer.driver.features;
	ctx->in_order = answer.driver.features & TERN_FEATURE_IN_ORDER;
	ctx->rate_limits =
		answer.driver.features & TERN_FEATURE_RATE_LIMIT && !is_iwarp(&ctx->base);
	ctx->cq_options = answer.driver.features & TERN_FEATURE_CQ_OPTIONS;
	ctx->absent_ops = absent_ops(answer.driver.features);
	ctx->single_threaded = env_is_set("TERN_SINGLE_THREADED");
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
