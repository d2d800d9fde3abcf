/* SPDX-License-Identifier: GPL-2.0 */
// Owners of verbs objects, and memory with its registration. A failed destroy is
// noted (outcome.h) and fails the case.
#ifndef TERN_VM_OBJECTS_H
#define TERN_VM_OBJECTS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <infiniband/verbs.h>

#include "control.h"
#include "dma_buf.h"
#include "outcome.h"

namespace vt {

template <auto Destroy> struct Destroyer {
	template <class T> void operator()(T *object) const
	{
		int error = Destroy(object);
		if (error)
			note_teardown_failure("destroying a verbs object", error);
	}
};

// ibv_close_xrcd(), which is an inline function.
int close_domain(ibv_xrcd *domain);

using Pd = std::unique_ptr<ibv_pd, Destroyer<ibv_dealloc_pd>>;
using Mr = std::unique_ptr<ibv_mr, Destroyer<ibv_dereg_mr>>;
// Not inline, as ibv_free_dm() is: Dm is known to several files.
int free_dm(ibv_dm *dm);
using Dm = std::unique_ptr<ibv_dm, Destroyer<free_dm>>;
using Mw = std::unique_ptr<ibv_mw, Destroyer<ibv_dealloc_mw>>;
using Ah = std::unique_ptr<ibv_ah, Destroyer<ibv_destroy_ah>>;
using Xrcd = std::unique_ptr<ibv_xrcd, Destroyer<close_domain>>;
using Srq = std::unique_ptr<ibv_srq, Destroyer<ibv_destroy_srq>>;
using QpOwner = std::unique_ptr<ibv_qp, Destroyer<ibv_destroy_qp>>;
using Channel = std::unique_ptr<ibv_comp_channel, Destroyer<ibv_destroy_comp_channel>>;

constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

Pd make_pd(ibv_context *context);
// Skip if the device has none.
Dm make_dm(ibv_context *context, size_t bytes);

// Where a buffer's pages come from. Shared ones stay as they are if the process loses them.
enum class Pages { kAnonymous, kHuge, kShared };

// Page-aligned memory, or the beginning of a dma-buf. Skip if the system has no huge pages.
class Buffer {
public:
	explicit Buffer(size_t bytes, Pages pages = Pages::kAnonymous);
	Buffer(size_t bytes, const DmaBuf &dma_buf, bool writable = true);
	~Buffer();
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;
	char *data() const { return data_; }
	size_t size() const { return bytes_; }

private:
	char *data_ = nullptr;
	size_t bytes_, mapped_;
};

// What a peer needs to access our memory.
struct Remote {
	uint64_t va;
	uint64_t bytes;
	uint32_t rkey, reserved;
};

enum class MrKind {
	kPlain,
	kIova,
	kZeroBased,
	kHuge,
	kRelaxed,
	kDmaBuf,
	kMovingDmaBuf,
	kUdmabuf,
	kHeap,
	kOnDemand, // shared pages
	kImplicit  // the same, by a region of all the address space
};

Mr reg_dma_buf(ibv_pd *pd, const DmaBuf &dma_buf, uint64_t offset, size_t bytes, uint64_t iova,
	       int access = kAllAccess);

// A buffer and its memory region. at() is a byte's CPU address, va() its address in a WR.
class Arena {
public:
	Arena(ibv_pd *pd, size_t bytes, int access = kAllAccess, MrKind kind = MrKind::kPlain);
	char *at(uint64_t offset) const { return buffer_.data() + offset; }
	uint64_t va(uint64_t offset) const { return base_ + offset; }
	size_t size() const { return buffer_.size(); }
	ibv_mr *mr() const { return mr_.get(); }
	uint32_t lkey() const { return mr_->lkey; }
	ibv_sge sge(uint64_t offset, uint32_t length) const { return {va(offset), length, lkey()}; }
	Remote remote() const { return {base_, size(), mr_->rkey, 0}; }
	// Deregisters before the buffer is freed, for tests of a dead key.
	void deregister() { mr_.reset(); }

	// Fills with the canary; the first differing byte of [offset, +bytes), or `bytes`.
	void fill_canary() const;
	size_t check_canary(uint64_t offset, size_t bytes) const;

private:
	std::optional<DmaBuf> dma_buf_;
	Buffer buffer_;
	uint64_t base_;
	Mr mr_;
};

} // namespace vt

#endif
