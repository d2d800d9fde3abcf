// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Plays the kernel; see fake_kernel.h.
//
// Addresses come out of commands and system calls as integers. NOLINTBEGIN(performance-no-int-to-ptr)
#include "fake_kernel.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstring>

namespace {

void *real_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return reinterpret_cast<void *>(syscall(SYS_mmap, addr, bytes, prot, flags, fd, offset));
}

} // namespace

extern "C" {

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);

	if (request == RDMA_VERBS_IOCTL && fd == kCommandFd)
		return FakeKernel::get().ioctl(arg);
	if (request == TERN_IOCTL_DOORBELL && FakeKernel::get().is_doorbell_file(fd))
		return FakeKernel::get().doorbell(reinterpret_cast<unsigned long>(arg));
	return static_cast<int>(syscall(SYS_ioctl, fd, request, arg));
}

int close(int fd)
{
	FakeKernel &kernel = FakeKernel::get();

	kernel.closes += fd >= 0 && fd == kernel.doorbell_fd;
	return static_cast<int>(syscall(SYS_close, fd));
}

void *mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset) noexcept
{
	if (fd == kCommandFd && (flags & MAP_SHARED) && !(flags & MAP_ANONYMOUS))
		return FakeKernel::get().mmap(bytes, static_cast<uint64_t>(offset));
	return real_mmap(addr, bytes, prot, flags, fd, offset);
}

} // extern "C"

FakeRing::FakeRing(uint32_t slots_, uint32_t stride_)
	: slots(std::bit_ceil(slots_)), stride(stride_),
	  bytes((TERN_RING_HDR_BYTES + slots * stride + 4095) & ~4095u),
	  memfd(memfd_create("ring", MFD_CLOEXEC))
{
	if (memfd < 0 || ftruncate(memfd, bytes))
		abort();
	hdr = static_cast<tern_ring_hdr *>(
		real_mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0));
}

FakeRing::~FakeRing()
{
	munmap(hdr, bytes);
	close(memfd);
}

bool FakeRing::complete(const tern_cqe &cqe)
{
	uint32_t p = hdr->prod;

	if (p - cons() >= slots)
		return false;
	*slot<tern_cqe>(p) = cqe;
	set_prod(p + 1);
	return true;
}

/* Attributes of one ioctl, by id. */
struct FakeKernel::Args {
	std::map<uint16_t, ib_uverbs_attr *> attrs;

	bool has(uint16_t id) const { return attrs.count(id) != 0; }
	size_t bytes(uint16_t id) const { return has(id) ? attrs.at(id)->len : 0; }
	const unsigned char *in(uint16_t id) const
	{
		const ib_uverbs_attr *a = attrs.at(id);

		return a->len <= 8 ? reinterpret_cast<const unsigned char *>(&a->data) :
				     reinterpret_cast<const unsigned char *>(a->data);
	}
	/* Request, if it is exactly as long as the kernel's structure. */
	template <typename T> bool core(T *req) const
	{
		if (bytes(UVERBS_ATTR_CORE_IN) != sizeof(T))
			return false;
		memcpy(static_cast<void *>(req), in(UVERBS_ATTR_CORE_IN), sizeof(T));
		return true;
	}
	/* Input of just that type. */
	template <typename T> bool get(uint16_t id, T *value) const
	{
		if (bytes(id) != sizeof(T))
			return false;
		memcpy(static_cast<void *>(value), in(id), sizeof(T));
		return true;
	}
	/* Of an object or a file; 0: none. */
	uint32_t handle(uint16_t id) const
	{
		return has(id) && !attrs.at(id)->len ? static_cast<uint32_t>(attrs.at(id)->data) :
						       0;
	}
	template <typename T> bool put(uint16_t id, const T &value) const
	{
		if (bytes(id) < sizeof(T))
			return false;
		memcpy(reinterpret_cast<void *>(attrs.at(id)->data), &value, sizeof(T));
		return true;
	}
};

FakeKernel &FakeKernel::get()
{
	static FakeKernel kernel;

	return kernel;
}

void FakeKernel::reset()
{
	std::lock_guard<std::mutex> guard(mutex_);

	objects.clear();
	offsets_.clear();
	ioctls = 0;
	doorbells = 0;
	doorbell_commands = 0;
	last_doorbell = 0;
	doorbell_fd = -1;
	closes = 0;
	features = kAllFeatures;
	events_reported = 0;
	doorbell_errno = 0;
	context_errno = 0;
	dmabuf_errno = 0;
	dm_errno = 0;
	fail_command = -1;
	fail_errno = 0;
	fail_mmap = false;
	async_fd = -1;
	complaint.clear();
}

size_t FakeKernel::count(const std::string &kind)
{
	return static_cast<size_t>(std::count_if(objects.begin(), objects.end(),
						 [&](auto &o) { return o.second.kind == kind; }));
}

int FakeKernel::bad(const std::string &what)
{
	if (complaint.empty())
		complaint = what;
	return EINVAL;
}

int FakeKernel::ioctl(void *arg)
{
	std::lock_guard<std::mutex> guard(mutex_);
	auto *hdr = static_cast<ib_uverbs_ioctl_hdr *>(arg);
	Args args;
	int err;

	ioctls++;
	for (int i = 0; i < hdr->num_attrs; i++)
		args.attrs[hdr->attrs[i].attr_id] = &hdr->attrs[i];

	if (hdr->length != sizeof(*hdr) + hdr->num_attrs * sizeof(hdr->attrs[0])) {
		err = bad("ioctl length");
	} else if (hdr->reserved1 || hdr->reserved2) {
		err = bad("ioctl reserved");
	} else if (hdr->object_id == UVERBS_OBJECT_ASYNC_EVENT) {
		args.attrs.at(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)->data_s64 = async_fd;
		err = async_fd < 0 ? EOPNOTSUPP : 0;
	} else if (hdr->object_id == UVERBS_OBJECT_CQ) {
		err = failing(IB_USER_VERBS_CMD_CREATE_CQ) ?: create_cq(args);
	} else if (hdr->object_id == UVERBS_OBJECT_SRQ) {
		err = failing(IB_USER_VERBS_CMD_CREATE_SRQ) ?: create_srq(args);
	} else if (hdr->object_id == UVERBS_OBJECT_QP) {
		err = failing(IB_USER_VERBS_CMD_CREATE_QP) ?: create_qp(args);
	} else if (hdr->object_id == UVERBS_OBJECT_MR &&
		   hdr->method_id == UVERBS_METHOD_REG_DMABUF_MR) {
		err = dmabuf_errno ?: reg_dmabuf_mr(args);
	} else if (hdr->object_id == UVERBS_OBJECT_MR &&
		   hdr->method_id == UVERBS_METHOD_DM_MR_REG) {
		err = dm_errno ?: reg_dm_mr(args);
	} else if (hdr->object_id == UVERBS_OBJECT_DM) {
		err = dm_errno ?: device_memory(hdr->method_id, args);
	} else if (hdr->object_id != UVERBS_OBJECT_DEVICE) {
		err = EOPNOTSUPP;
	} else if (hdr->method_id == UVERBS_METHOD_GET_CONTEXT) {
		err = hdr->driver_id == TERN_DRIVER_ID ? get_context(args) : bad("driver id");
	} else if (hdr->method_id == UVERBS_METHOD_QUERY_CONTEXT) {
		err = query_context(args);
	} else if (hdr->method_id == UVERBS_METHOD_INVOKE_WRITE &&
		   args.bytes(UVERBS_ATTR_WRITE_CMD) == 8) {
		uint64_t command;

		memcpy(&command, args.in(UVERBS_ATTR_WRITE_CMD), sizeof(command));
		err = invoke(static_cast<uint32_t>(command), args);
	} else {
		err = bad("method");
	}
	if (!err)
		return 0;
	errno = err;
	return -1;
}

int FakeKernel::get_context(Args &args)
{
	tern_alloc_ucontext_resp resp = {0, TERN_MAX_INLINE, TERN_MAX_SGE, 0, 0};
	tern_alloc_ucontext_req req;

	if (context_errno)
		return context_errno;
	if (args.bytes(UVERBS_ATTR_UHW_IN) != sizeof(req))
		return bad("get_context");
	memcpy(&req, args.in(UVERBS_ATTR_UHW_IN), sizeof(req));
	resp.features = req.features & features;
	if (resp.features & TERN_FEATURE_DOORBELL_FILE) {
		doorbell_fd = eventfd(0, EFD_CLOEXEC);
		closes = 0;
		resp.doorbell_fd = doorbell_fd;
	}
	args.put(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, uint32_t{3});
	args.put(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, uint64_t{1});
	return args.put(UVERBS_ATTR_UHW_OUT, resp) ? 0 : bad("get_context UHW");
}

/* Without a driver's part it is what the library asks before it takes a context over. */
int FakeKernel::query_context(Args &args)
{
	tern_alloc_ucontext_resp resp = {features, TERN_MAX_INLINE, TERN_MAX_SGE, -1, 0};

	if (context_errno)
		return context_errno;
	if (features & TERN_FEATURE_DOORBELL_FILE) {
		doorbell_fd = eventfd(0, EFD_CLOEXEC);
		closes = 0;
		resp.doorbell_fd = doorbell_fd;
	}
	args.put(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, uint32_t{3});
	args.put(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, uint64_t{1});
	return args.put(TERN_ATTR_QUERY_CONTEXT_RESP, resp) ? 0 : bad("query_context");
}

int FakeKernel::failing(uint32_t command) const
{
	return static_cast<int>(command) == fail_command ? fail_errno : 0;
}

/* Events go where the context that made it looks. */
bool FakeKernel::is_ours(const Args &args, uint16_t event_fd)
{
	return async_fd < 0 ? !args.has(event_fd) :
			      static_cast<int>(args.handle(event_fd)) == async_fd;
}

int FakeKernel::create_cq(Args &args)
{
	tern_create_cq_resp driver = {};
	tern_create_cq_req req;
	uint64_t user_handle;
	uint32_t cqe, vector, flags;

	if (!args.get(UVERBS_ATTR_CREATE_CQ_CQE, &cqe) ||
	    !args.get(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user_handle) ||
	    !args.get(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector) ||
	    !args.get(UVERBS_ATTR_CREATE_CQ_FLAGS, &flags) || !args.get(UVERBS_ATTR_UHW_IN, &req) ||
	    !is_ours(args, UVERBS_ATTR_CREATE_CQ_EVENT_FD))
		return bad("create_cq");
	/* As an older module, which knows neither. */
	if (!(features & TERN_FEATURE_CQ_OPTIONS) && (flags || req.flags || req.reserved))
		return EINVAL;
	const uint32_t handle = add("cq", user_handle);

	objects[handle].flags = flags;
	objects[handle].request.assign(args.in(UVERBS_ATTR_UHW_IN),
				       args.in(UVERBS_ATTR_UHW_IN) + sizeof(req));
	objects[handle].ring = std::make_shared<FakeRing>(cqe, TERN_CQE_BYTES);
	driver.ring = describe(objects[handle].ring);
	args.attrs.at(UVERBS_ATTR_CREATE_CQ_HANDLE)->data = handle;
	return args.put(UVERBS_ATTR_CREATE_CQ_RESP_CQE, objects[handle].ring->slots) &&
			       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
		       0 :
		       bad("create_cq");
}

int FakeKernel::create_srq(Args &args)
{
	tern_create_srq_resp driver = {};
	uint64_t user_handle, type;
	uint32_t max_wr, max_sge, limit;

	if (!args.get(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &user_handle) ||
	    !args.get(UVERBS_ATTR_CREATE_SRQ_MAX_WR, &max_wr) ||
	    !args.get(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &max_sge) ||
	    !args.get(UVERBS_ATTR_CREATE_SRQ_LIMIT, &limit) ||
	    !args.get(UVERBS_ATTR_CREATE_SRQ_TYPE, &type) ||
	    (type != IB_UVERBS_SRQT_BASIC && type != IB_UVERBS_SRQT_XRC) ||
	    !is_ours(args, UVERBS_ATTR_CREATE_SRQ_EVENT_FD))
		return bad("create_srq");
	/* The kernel wants the last of them, too. */
	for (auto id : {UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE,
			UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM})
		if (args.has(id) != (type == IB_UVERBS_SRQT_XRC))
			return bad("create_srq for XRC");
	if (type == IB_UVERBS_SRQT_XRC &&
	    (!is_a("xrcd", args.handle(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE)) ||
	     !is_a("cq", args.handle(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE)) ||
	     !args.put(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, uint32_t{99})))
		return ENOENT;
	const uint32_t handle = add("srq", user_handle);

	objects[handle].ring =
		std::make_shared<FakeRing>(max_wr, TERN_RECV_WQE_BYTES + 16 * max_sge);
	driver.ring = describe(objects[handle].ring);
	driver.srq_num = 99;
	args.attrs.at(UVERBS_ATTR_CREATE_SRQ_HANDLE)->data = handle;
	return args.put(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, objects[handle].ring->slots) &&
			       args.put(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, max_sge) &&
			       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
		       0 :
		       bad("create_srq");
}

int FakeKernel::create_qp(Args &args)
{
	const uint32_t pd = args.handle(UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	ib_uverbs_qp_cap cap;
	tern_create_qp_resp driver = {};
	uint64_t user_handle, type;
	uint32_t flags;

	if (!args.get(UVERBS_ATTR_CREATE_QP_USER_HANDLE, &user_handle) ||
	    !args.get(UVERBS_ATTR_CREATE_QP_CAP, &cap) ||
	    !args.get(UVERBS_ATTR_CREATE_QP_TYPE, &type) ||
	    !args.get(UVERBS_ATTR_CREATE_QP_FLAGS, &flags) ||
	    flags & ~uint32_t{IB_UVERBS_QP_CREATE_SQ_SIG_ALL |
			      IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK} ||
	    !is_ours(args, UVERBS_ATTR_CREATE_QP_EVENT_FD))
		return bad("create_qp");
	if (type == IB_UVERBS_QPT_XRC_TGT)
		return create_target(args, user_handle);
	if (!is_a("pd", pd) || !is_a("cq", args.handle(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE)))
		return ENOENT;
	if (type == IB_UVERBS_QPT_XRC_INI) {
		if (args.has(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) ||
		    args.has(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE))
			return bad("create_qp of an XRC initiator");
	} else if (!is_a("cq", args.handle(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE))) {
		return ENOENT;
	}
	const uint32_t handle = add("qp", user_handle);
	FakeObject &qp = objects[handle];
	const uint32_t tail = std::max(cap.max_send_sge * 16, cap.max_inline_data);

	qp.ring =
		std::make_shared<FakeRing>(std::max(cap.max_send_wr, 1u), (64 + tail + 63) & ~63u);
	driver.sq = describe(qp.ring);
	if (!args.has(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) && type != IB_UVERBS_QPT_XRC_INI) {
		qp.rq = std::make_shared<FakeRing>(std::max(cap.max_recv_wr, 1u),
						   16 + 16 * cap.max_recv_sge);
		driver.rq = describe(qp.rq);
	}
	driver.max_inline = qp.ring->stride - 64;
	qp.flags = flags;
	cap.max_send_wr = qp.ring->slots;
	cap.max_recv_wr = qp.rq ? qp.rq->slots : 0;
	args.attrs.at(UVERBS_ATTR_CREATE_QP_HANDLE)->data = handle;
	return args.put(UVERBS_ATTR_CREATE_QP_RESP_CAP, cap) &&
			       args.put(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, next_qpn++) &&
			       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
		       0 :
		       bad("create_qp");
}

int FakeKernel::reg_dmabuf_mr(Args &args)
{
	if (!args.get(UVERBS_ATTR_REG_DMABUF_MR_FD, &dmabuf.fd) ||
	    !args.get(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &dmabuf.offset) ||
	    !args.get(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &dmabuf.length) ||
	    !args.get(UVERBS_ATTR_REG_DMABUF_MR_IOVA, &dmabuf.iova) ||
	    !args.get(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &dmabuf.access))
		return bad("reg_dmabuf_mr");
	dmabuf.pd = args.handle(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE);
	args.attrs.at(UVERBS_ATTR_REG_DMABUF_MR_HANDLE)->data = add("mr", 0);
	return args.put(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, uint32_t{0x300}) &&
			       args.put(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, uint32_t{0x301}) ?
		       0 :
		       bad("reg_dmabuf_mr");
}

int FakeKernel::device_memory(uint16_t method, Args &args)
{
	switch (method) {
	case UVERBS_METHOD_DM_ALLOC:
		return alloc_dm(args);
	case UVERBS_METHOD_DM_FREE:
		return destroy(args.handle(UVERBS_ATTR_FREE_DM_HANDLE), "dm");
	case TERN_METHOD_QUERY_DM:
		return query_dm(args);
	default:
		return bad("dm method");
	}
}

int FakeKernel::alloc_dm(Args &args)
{
	tern_dm_resp resp = {};
	uint32_t align;

	if (!args.get(UVERBS_ATTR_ALLOC_DM_LENGTH, &resp.length) ||
	    !args.get(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &align))
		return bad("alloc_dm");
	const uint32_t handle = add("dm", 0);

	objects[handle].ring =
		std::make_shared<FakeRing>(static_cast<uint32_t>(resp.length / 64 + 1), 64);
	resp.offset = describe(objects[handle].ring).offset;
	resp.bytes = objects[handle].ring->bytes;
	args.attrs.at(UVERBS_ATTR_ALLOC_DM_HANDLE)->data = handle;
	return args.put(TERN_ATTR_ALLOC_DM_RESP, resp) ? 0 : bad("alloc_dm");
}

/* It is as long as its mapping. */
int FakeKernel::query_dm(Args &args)
{
	const uint32_t handle = args.handle(TERN_ATTR_QUERY_DM_HANDLE);
	tern_dm_resp resp = {};

	if (!objects.count(handle) || object(handle).kind != "dm")
		return ENOENT;
	resp.offset = describe(object(handle).ring).offset;
	resp.bytes = resp.length = object(handle).ring->bytes;
	return args.put(TERN_ATTR_QUERY_DM_RESP, resp) ? 0 : bad("query_dm");
}

int FakeKernel::reg_dm_mr(Args &args)
{
	if (!args.get(UVERBS_ATTR_REG_DM_MR_OFFSET, &dm.offset) ||
	    !args.get(UVERBS_ATTR_REG_DM_MR_LENGTH, &dm.length) ||
	    !args.get(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, &dm.access))
		return bad("reg_dm_mr");
	dm.pd = args.handle(UVERBS_ATTR_REG_DM_MR_PD_HANDLE);
	dm.dm = args.handle(UVERBS_ATTR_REG_DM_MR_DM_HANDLE);
	args.attrs.at(UVERBS_ATTR_REG_DM_MR_HANDLE)->data = add("mr", 0);
	return args.put(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, uint32_t{0x400}) &&
			       args.put(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, uint32_t{0x401}) ?
		       0 :
		       bad("reg_dm_mr");
}

/* The driver is not told of the program: it answers nothing. */
int FakeKernel::create_target(Args &args, uint64_t user_handle)
{
	if (args.has(UVERBS_ATTR_CREATE_QP_PD_HANDLE) ||
	    args.has(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE) ||
	    args.has(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE) ||
	    args.has(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE))
		return bad("create_qp of an XRC target");
	if (!is_a("xrcd", args.handle(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE)))
		return ENOENT;
	args.attrs.at(UVERBS_ATTR_CREATE_QP_HANDLE)->data = add("qp", user_handle);
	return args.put(UVERBS_ATTR_CREATE_QP_RESP_CAP, ib_uverbs_qp_cap{}) &&
			       args.put(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, next_qpn++) ?
		       0 :
		       bad("create_qp of an XRC target");
}

bool FakeKernel::is_a(const std::string &kind, uint32_t handle) const
{
	auto it = objects.find(handle);

	return it != objects.end() && it->second.kind == kind;
}

uint32_t FakeKernel::add(const std::string &kind, uint64_t user_handle)
{
	FakeObject object;

	object.kind = kind;
	object.user_handle = user_handle;
	objects[next_handle_] = object;
	return next_handle_++;
}

tern_mmap FakeKernel::describe(const std::shared_ptr<FakeRing> &ring)
{
	tern_mmap m = {};

	next_offset_ += 1 << 20;
	offsets_[next_offset_] = ring;
	m.offset = next_offset_;
	m.bytes = ring->bytes;
	m.slots = ring->slots;
	m.stride = ring->stride;
	return m;
}

int FakeKernel::destroy(uint32_t handle, const std::string &kind)
{
	auto it = objects.find(handle);

	if (it == objects.end() || it->second.kind != kind)
		return ENOENT;
	objects.erase(it);
	return 0;
}

int FakeKernel::invoke(uint32_t command, Args &args)
{
	constexpr uint32_t kEx = IB_USER_VERBS_CMD_FLAG_EXTENDED;
	const size_t core_bytes = args.bytes(UVERBS_ATTR_CORE_IN);

	if (failing(command & ~kEx))
		return fail_errno;

	switch (command) {
	case IB_USER_VERBS_CMD_QUERY_DEVICE:
		/* libibverbs asks like this whether the kernel knows the ioctl. */
		return core_bytes ? bad("query_device") : ENOSPC;
	case kEx | IB_USER_VERBS_EX_CMD_QUERY_DEVICE: {
		ib_uverbs_ex_query_device_resp resp = {};

		resp.base.fw_ver = 0x0001000200030000ull >> 16;
		resp.base.max_qp = 1000;
		resp.base.phys_port_cnt = 1;
		resp.max_dm_size = 1 << 20;
		resp.cq_moderation_caps = {300, 400, 0};
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("query_device");
	}
	case IB_USER_VERBS_CMD_QUERY_PORT: {
		ib_uverbs_query_port_resp resp = {};

		if (core_bytes != sizeof(ib_uverbs_query_port) ||
		    args.in(UVERBS_ATTR_CORE_IN)[8] != 1)
			return bad("query_port");
		resp.state = 4;
		resp.gid_tbl_len = 32;
		resp.link_layer = 2;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("query_port");
	}
	case IB_USER_VERBS_CMD_ALLOC_PD:
		return args.put(UVERBS_ATTR_CORE_OUT, add("pd", 0)) ? 0 : bad("alloc_pd");
	case IB_USER_VERBS_CMD_DEALLOC_PD: {
		ib_uverbs_dealloc_pd req;

		return args.core(&req) ? destroy(req.pd_handle, "pd") : bad("dealloc_pd");
	}
	case IB_USER_VERBS_CMD_OPEN_XRCD: {
		ib_uverbs_open_xrcd req;

		if (!args.core(&req))
			return bad("open_xrcd");
		last_xrcd_fd = static_cast<int>(req.fd);
		last_xrcd_oflags = static_cast<int>(req.oflags);
		return args.put(UVERBS_ATTR_CORE_OUT, add("xrcd", 0)) ? 0 : bad("open_xrcd");
	}
	case IB_USER_VERBS_CMD_CLOSE_XRCD: {
		ib_uverbs_close_xrcd req;

		return args.core(&req) ? destroy(req.xrcd_handle, "xrcd") : bad("close_xrcd");
	}
	case IB_USER_VERBS_CMD_OPEN_QP: {
		ib_uverbs_open_qp req;
		ib_uverbs_create_qp_resp resp = {};

		if (!args.core(&req) || req.qp_type != IB_UVERBS_QPT_XRC_TGT)
			return bad("open_qp");
		if (!is_a("xrcd", req.pd_handle))
			return ENOENT;
		resp.qp_handle = add("qp", req.user_handle);
		resp.qpn = req.qpn;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("open_qp");
	}
	case IB_USER_VERBS_CMD_REG_MR: {
		struct {
			uint32_t handle, lkey, rkey;
		} resp = {add("mr", 0), 0x100, 0x101};

		if (core_bytes != sizeof(ib_uverbs_reg_mr))
			return bad("reg_mr");
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("reg_mr");
	}
	case IB_USER_VERBS_CMD_REREG_MR: {
		struct {
			uint32_t lkey, rkey;
		} resp = {0x200, 0x201};

		if (core_bytes != sizeof(ib_uverbs_rereg_mr))
			return bad("rereg_mr");
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("rereg_mr");
	}
	case IB_USER_VERBS_CMD_DEREG_MR: {
		ib_uverbs_dereg_mr req;

		return args.core(&req) ? destroy(req.mr_handle, "mr") : bad("dereg_mr");
	}
	case IB_USER_VERBS_CMD_ALLOC_MW: {
		struct {
			uint32_t handle, rkey;
		} resp = {add("mw", 0), 0xabcdfe};

		if (core_bytes != sizeof(ib_uverbs_alloc_mw))
			return bad("alloc_mw");
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("alloc_mw");
	}
	case IB_USER_VERBS_CMD_DEALLOC_MW: {
		ib_uverbs_dealloc_mw req;

		return args.core(&req) ? destroy(req.mw_handle, "mw") : bad("dealloc_mw");
	}
	case IB_USER_VERBS_CMD_CREATE_AH: {
		uint32_t handle = add("ah", 0);
		tern_create_ah_resp driver = {handle + 1000, 0};

		if (core_bytes != sizeof(ib_uverbs_create_ah))
			return bad("create_ah");
		objects[handle].request.assign(args.in(UVERBS_ATTR_CORE_IN),
					       args.in(UVERBS_ATTR_CORE_IN) + core_bytes);
		return args.put(UVERBS_ATTR_CORE_OUT, handle) &&
				       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
			       0 :
			       bad("create_ah");
	}
	case IB_USER_VERBS_CMD_DESTROY_AH: {
		ib_uverbs_destroy_ah req;

		return args.core(&req) ? destroy(req.ah_handle, "ah") : bad("destroy_ah");
	}
	case IB_USER_VERBS_CMD_RESIZE_CQ: {
		struct {
			uint64_t response;
			uint32_t cq_handle, cqe;
		} req;
		struct {
			uint32_t cqe, reserved;
		} resp = {};
		tern_resize_cq_resp driver = {};

		if (!args.core(&req))
			return bad("resize_cq");
		auto old = object(req.cq_handle).ring;
		auto ring = std::make_shared<FakeRing>(req.cqe, TERN_CQE_BYTES);
		if (old->prod() - old->cons() > ring->slots)
			return EINVAL;
		for (uint32_t i = old->cons(); i != old->prod(); i++)
			*ring->slot<tern_cqe>(i) = *old->slot<tern_cqe>(i);
		ring->set_prod(old->prod());
		ring->set_cons(old->cons());
		ring->hdr->arm = old->hdr->arm;
		object(req.cq_handle).ring = ring;
		driver.ring = describe(ring);
		resp.cqe = ring->slots;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) &&
				       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
			       0 :
			       bad("resize_cq");
	}
	case kEx | IB_USER_VERBS_EX_CMD_MODIFY_CQ: {
		ib_uverbs_ex_modify_cq req;

		if (!args.core(&req) || req.reserved)
			return bad("modify_cq");
		object(req.cq_handle)
			.request.assign(args.in(UVERBS_ATTR_CORE_IN),
					args.in(UVERBS_ATTR_CORE_IN) + core_bytes);
		return 0;
	}
	case IB_USER_VERBS_CMD_DESTROY_CQ: {
		ib_uverbs_destroy_cq req;
		ib_uverbs_destroy_cq_resp resp = {events_reported, 0};

		if (!args.core(&req) || !args.put(UVERBS_ATTR_CORE_OUT, resp))
			return bad("destroy_cq");
		return destroy(req.cq_handle, "cq");
	}
	case IB_USER_VERBS_CMD_MODIFY_SRQ: {
		struct {
			uint32_t handle, mask, max_wr, limit;
		} req;
		tern_modify_srq_resp driver = {};

		if (!args.core(&req))
			return bad("modify_srq");
		if (req.mask & 1) {
			auto old = object(req.handle).ring;
			auto ring = std::make_shared<FakeRing>(req.max_wr, old->stride);

			for (uint32_t i = old->cons(); i != old->prod(); i++)
				memcpy(ring->slot<char>(i), old->slot<char>(i), old->stride);
			ring->set_prod(old->prod());
			ring->set_cons(old->cons());
			object(req.handle).ring = ring;
			driver.ring = describe(ring);
		}
		return args.put(UVERBS_ATTR_UHW_OUT, driver) ? 0 : bad("modify_srq UHW");
	}
	case IB_USER_VERBS_CMD_QUERY_SRQ: {
		ib_uverbs_query_srq_resp resp = {8, 2, 1, 0};

		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("query_srq");
	}
	case IB_USER_VERBS_CMD_DESTROY_SRQ: {
		ib_uverbs_destroy_srq req;
		ib_uverbs_destroy_srq_resp resp = {events_reported};

		if (!args.core(&req) || !args.put(UVERBS_ATTR_CORE_OUT, resp))
			return bad("destroy_srq");
		return destroy(req.srq_handle, "srq");
	}
	case IB_USER_VERBS_CMD_MODIFY_QP: {
		ib_uverbs_modify_qp req;

		if (!args.core(&req))
			return bad("modify_qp");
		if (req.attr_mask & 1)
			object(req.qp_handle).state = req.qp_state;
		object(req.qp_handle)
			.request.assign(args.in(UVERBS_ATTR_CORE_IN),
					args.in(UVERBS_ATTR_CORE_IN) + core_bytes);
		return 0;
	}
	case IB_USER_VERBS_EX_CMD_MODIFY_QP | IB_USER_VERBS_CMD_FLAG_EXTENDED: {
		ib_uverbs_ex_modify_qp req;
		ib_uverbs_ex_modify_qp_resp resp = {};
		tern_modify_qp_req driver;

		if (!args.core(&req) || !args.get(UVERBS_ATTR_UHW_IN, &driver) || driver.reserved)
			return bad("ex_modify_qp");
		FakeObject &qp = object(req.base.qp_handle);
		qp.request.assign(args.in(UVERBS_ATTR_CORE_IN),
				  args.in(UVERBS_ATTR_CORE_IN) + core_bytes);
		qp.max_burst_bytes = driver.max_burst_bytes;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("ex_modify_qp");
	}
	case IB_USER_VERBS_CMD_QUERY_QP: {
		struct {
			uint64_t response;
			uint32_t handle, mask;
		} req;
		ib_uverbs_query_qp_resp resp = {};

		if (!args.core(&req))
			return bad("query_qp");
		resp.qp_state = static_cast<uint8_t>(object(req.handle).state);
		resp.dest_qp_num = 0x4242;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("query_qp");
	}
	case IB_USER_VERBS_CMD_DESTROY_QP: {
		ib_uverbs_destroy_qp req;
		ib_uverbs_destroy_qp_resp resp = {events_reported};

		if (!args.core(&req) || !args.put(UVERBS_ATTR_CORE_OUT, resp))
			return bad("destroy_qp");
		return destroy(req.qp_handle, "qp");
	}
	case IB_USER_VERBS_CMD_ATTACH_MCAST:
	case IB_USER_VERBS_CMD_DETACH_MCAST:
		return core_bytes == sizeof(ib_uverbs_attach_mcast) ? 0 : bad("mcast");
	case IB_USER_VERBS_CMD_POST_SEND: {
		struct {
			uint64_t response;
			uint32_t qp_handle, wr_count, sge_count, wqe_size;
		} req;

		if (!args.core(&req) || req.wr_count || req.sge_count ||
		    req.wqe_size != sizeof(ib_uverbs_send_wr) ||
		    args.bytes(UVERBS_ATTR_CORE_OUT) != sizeof(ib_uverbs_post_send_resp))
			return bad("post_send");
		if (!objects.count(req.qp_handle) || object(req.qp_handle).kind != "qp")
			return EINVAL;
		doorbell_commands++;
		return 0;
	}
	default:
		return bad("command " + std::to_string(command));
	}
}

/* Not serialised: many QPs ring at once. */
int FakeKernel::doorbell(unsigned long qp_num)
{
	doorbells++;
	if (doorbell_errno) {
		errno = doorbell_errno;
		return -1;
	}
	last_doorbell = qp_num;
	return 0;
}

void *FakeKernel::mmap(size_t bytes, uint64_t offset)
{
	std::lock_guard<std::mutex> guard(mutex_);
	auto it = offsets_.find(offset);

	if (fail_mmap || it == offsets_.end() || it->second->bytes != bytes) {
		errno = fail_mmap ? ENOMEM : bad("mmap");
		return MAP_FAILED;
	}
	return real_mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, it->second->memfd, 0);
}

// NOLINTEND(performance-no-int-to-ptr)
