/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's side of uverbs and of tern's rings, played in this process: the
 * program's ioctl() and mmap() end here for the command file, its ioctl() and
 * close() for the doorbell file as well. It checks the form of every command
 * and gives the test the kernel's end of each ring. Command handling is
 * serialised; the rings and the doorbell file are not.
 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "tern-abi.h"

/* The command file that verbs_open_device() uses for a device without sysfs. */
inline constexpr int kCommandFd = -1;

/* One ring, as the kernel sees it. */
class FakeRing {
public:
	FakeRing(uint32_t slots, uint32_t stride);
	~FakeRing();
	FakeRing(const FakeRing &) = delete;
	FakeRing &operator=(const FakeRing &) = delete;

	tern_ring_hdr *hdr = nullptr;
	uint32_t slots;
	uint32_t stride;
	uint32_t bytes;
	int memfd;

	template <typename T> T *slot(uint32_t index)
	{
		return reinterpret_cast<T *>(reinterpret_cast<char *>(hdr) + TERN_RING_HDR_BYTES +
					     (index & (slots - 1)) * stride);
	}
	uint32_t prod() { return __atomic_load_n(&hdr->prod, __ATOMIC_ACQUIRE); }
	uint32_t cons() { return __atomic_load_n(&hdr->cons, __ATOMIC_ACQUIRE); }
	void set_prod(uint32_t v) { __atomic_store_n(&hdr->prod, v, __ATOMIC_RELEASE); }
	void set_cons(uint32_t v) { __atomic_store_n(&hdr->cons, v, __ATOMIC_RELEASE); }
	void set_flags(uint32_t v) { __atomic_store_n(&hdr->flags, v, __ATOMIC_SEQ_CST); }

	/* CQ: append; false if full. */
	bool complete(const tern_cqe &cqe);
};

struct FakeObject {
	std::string kind;
	uint64_t user_handle = 0;
	uint32_t state = 0;		/* QP */
	uint32_t flags = 0;		/* CQ, QP: of the kernel's attribute */
	uint32_t max_burst_bytes = 0;	/* QP */
	std::shared_ptr<FakeRing> ring; /* CQ, SRQ; SQ of a QP; device memory */
	std::shared_ptr<FakeRing> rq;
	std::vector<unsigned char> request; /* as it came in, the last one */
};

/* The last device memory that was to be registered. */
struct FakeDm {
	uint32_t pd, dm;
	uint64_t offset, length;
	uint32_t access;
};

/* The last dma-buf that was to be registered. */
struct FakeDmabuf {
	uint32_t pd;
	uint64_t offset, length, iova;
	uint32_t fd, access;
};

class FakeKernel {
public:
	static constexpr uint64_t kAllFeatures =
		TERN_FEATURE_NO_SYSCALL_ARM | TERN_FEATURE_ELISION | TERN_FEATURE_DOORBELL_FILE |
		TERN_FEATURE_NULL_MR | TERN_FEATURE_DEVICE_MEMORY | TERN_FEATURE_CQ_OPTIONS |
		TERN_FEATURE_ATOMIC_WRITE | TERN_FEATURE_FLUSH | TERN_FEATURE_RATE_LIMIT;

	static FakeKernel &get();
	/* Fresh state. No object or mapping of an earlier test may be in use. */
	void reset();

	int ioctl(void *arg);
	void *mmap(size_t bytes, uint64_t offset);
	/* Of the last context; a number that was closed is no longer it. */
	bool is_doorbell_file(int fd) const { return fd >= 0 && fd == doorbell_fd && !closes; }
	int doorbell(unsigned long qp_num);

	FakeObject &object(uint32_t handle) { return objects.at(handle); }
	size_t count(const std::string &kind);

	std::map<uint32_t, FakeObject> objects;
	FakeDmabuf dmabuf = {};
	FakeDm dm = {};
	std::atomic<int> ioctls{0};
	std::atomic<int> doorbells{0}; /* on the doorbell file */
	std::atomic<int> doorbell_commands{0};
	unsigned long last_doorbell = 0; /* QP number */
	int doorbell_fd = -1;
	int closes = 0; /* of that number, since the file was handed out */
	uint64_t features = kAllFeatures;
	uint32_t events_reported = 0; /* by every destroy */
	int doorbell_errno = 0;
	int context_errno = 0;
	int dmabuf_errno = 0;
	int dm_errno = 0;
	int fail_command = -1; /* number of the write command that fails... */
	int fail_errno = 0;    /* ...like this */
	bool fail_mmap = false;
	int async_fd = -1; /* for events; -1: the library gets none */
	uint32_t next_qpn = 17;
	int last_xrcd_fd = 0, last_xrcd_oflags = 0; /* of OPEN_XRCD */
	std::string complaint;			    /* what was malformed, the first time */

private:
	struct Args;
	int invoke(uint32_t command, Args &args);
	int get_context(Args &args);
	int query_context(Args &args);
	int create_cq(Args &args);
	int create_srq(Args &args);
	int create_qp(Args &args);
	int reg_dmabuf_mr(Args &args);
	int alloc_dm(Args &args);
	int query_dm(Args &args);
	int reg_dm_mr(Args &args);
	int device_memory(uint16_t method, Args &args);
	int create_target(Args &args, uint64_t user_handle);
	bool is_a(const std::string &kind, uint32_t handle) const;
	/* errno, or 0. */
	int failing(uint32_t command) const;
	bool is_ours(const Args &args, uint16_t event_fd);
	uint32_t add(const std::string &kind, uint64_t user_handle);
	tern_mmap describe(const std::shared_ptr<FakeRing> &ring);
	int destroy(uint32_t handle, const std::string &kind);
	int bad(const std::string &what);

	std::mutex mutex_;
	std::map<uint64_t, std::shared_ptr<FakeRing>> offsets_;
	uint32_t next_handle_ = 1;
	uint64_t next_offset_ = 0;
};

#endif
