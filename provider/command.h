/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * uverbs commands: one ioctl each, built from typed parts. They use only the
 * stable kernel ABI of <rdma/ib_user_verbs.h> and <rdma/ib_user_ioctl_cmds.h>,
 * so no command of libibverbs' private interface is needed.
 *
 * All functions return 0 or a positive errno, may be called from any thread,
 * and may sleep.
 */
#ifndef TERN_PROVIDER_COMMAND_H
#define TERN_PROVIDER_COMMAND_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

namespace tern {

/* One call of a uverbs method. The arguments must outlive run(). */
class Command {
public:
	Command(uint16_t object, uint16_t method);

	/* Input of any size. Up to 8 bytes are copied at once. */
	template <typename T> Command &in(uint16_t id, const T &value)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		add_in(id, &value, sizeof(value));
		return *this;
	}
	/* n elements, more than 8 bytes and less than 64 KiB in all. */
	template <typename T> Command &in_array(uint16_t id, const T *values, size_t n)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		add_in(id, values, n * sizeof(*values));
		return *this;
	}
	template <typename T> Command &out(uint16_t id, T *value)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		add(id, sizeof(*value), reinterpret_cast<uintptr_t>(value));
		return *this;
	}
	/* Adds nothing if fd is below 0. */
	Command &fd(uint16_t id, int fd);
	Command &handle(uint16_t id, uint32_t handle);
	/* The object to create: after run(), new_handle() is its handle. One per command. */
	Command &create(uint16_t id);

	int run(int cmd_fd);
	uint32_t new_handle() { return static_cast<uint32_t>(hdr()->attrs[created_].data); }

private:
	/* SRQ_CREATE for XRC has the most. */
	static constexpr size_t kMaxAttrs = 14;

	void add(uint16_t id, size_t bytes, uint64_t data);
	void add_in(uint16_t id, const void *data, size_t bytes);
	ib_uverbs_ioctl_hdr *hdr() { return reinterpret_cast<ib_uverbs_ioctl_hdr *>(buf_); }

	alignas(ib_uverbs_ioctl_hdr) unsigned char buf_[sizeof(ib_uverbs_ioctl_hdr) +
							kMaxAttrs * sizeof(ib_uverbs_attr)] = {};
	uint16_t created_ = 0; /* the attribute of create() */
};

/*
 * A command of ib_user_verbs.h (enum ib_uverbs_write_cmds, extended ones or'ed
 * with IB_USER_VERBS_CMD_FLAG_EXTENDED). The kernel ignores members named response.
 */
class WriteCommand {
public:
	template <typename Req>
	WriteCommand(uint32_t number, const Req &req)
		: cmd_(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
	{
		cmd_.in<uint64_t>(UVERBS_ATTR_WRITE_CMD, number);
		cmd_.in(UVERBS_ATTR_CORE_IN, req);
	}
	template <typename Resp> WriteCommand &resp(Resp *resp)
	{
		cmd_.out(UVERBS_ATTR_CORE_OUT, resp);
		return *this;
	}
	/* tern's own parts of the request and of the response, from tern-abi.h. */
	template <typename Req> WriteCommand &driver_req(const Req &req)
	{
		cmd_.in(UVERBS_ATTR_UHW_IN, req);
		return *this;
	}
	template <typename Resp> WriteCommand &driver_resp(Resp *resp)
	{
		cmd_.out(UVERBS_ATTR_UHW_OUT, resp);
		return *this;
	}
	int run(int cmd_fd) { return cmd_.run(cmd_fd); }

private:
	Command cmd_;
};

constexpr uint32_t extended(uint32_t number)
{
	return number | IB_USER_VERBS_CMD_FLAG_EXTENDED;
}

/* The command that destroys a PD, MR, MW, AH or XRCD: its request is the handle alone. */
inline int command_destroy(int cmd_fd, uint32_t number, uint32_t handle)
{
	return WriteCommand(number, handle).run(cmd_fd);
}
static_assert(sizeof(ib_uverbs_dealloc_pd) == sizeof(uint32_t));
static_assert(sizeof(ib_uverbs_dereg_mr) == sizeof(uint32_t));
static_assert(sizeof(ib_uverbs_dealloc_mw) == sizeof(uint32_t));
static_assert(sizeof(ib_uverbs_destroy_ah) == sizeof(uint32_t));
static_assert(sizeof(ib_uverbs_close_xrcd) == sizeof(uint32_t));

/* The same for a CQ, QP or SRQ: one request for all three; resp counts the object's events. */
template <typename Resp>
int command_destroy(int cmd_fd, uint32_t number, uint32_t handle, Resp *resp)
{
	const ib_uverbs_destroy_cq req = {0, handle, 0};

	return WriteCommand(number, req).resp(resp).run(cmd_fd);
}
static_assert(sizeof(ib_uverbs_destroy_qp) == sizeof(ib_uverbs_destroy_cq));
static_assert(sizeof(ib_uverbs_destroy_srq) == sizeof(ib_uverbs_destroy_cq));
static_assert(offsetof(ib_uverbs_destroy_qp, qp_handle) ==
	      offsetof(ib_uverbs_destroy_cq, cq_handle));
static_assert(offsetof(ib_uverbs_destroy_srq, srq_handle) ==
	      offsetof(ib_uverbs_destroy_cq, cq_handle));

} // namespace tern

#endif
