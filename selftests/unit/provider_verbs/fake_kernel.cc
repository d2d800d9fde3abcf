// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Plays the kernel; see fake_kernel.h.
//
// Addresses come out of commands and system calls as integers.
// NOLINTBEGIN(performance-no-int-to-ptr)
#include "fake_args.h"

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
