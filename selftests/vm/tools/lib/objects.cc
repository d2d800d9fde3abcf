// SPDX-License-Identifier: GPL-2.0
// See objects.h.
#include "objects.h"

#include <cerrno>
#include <sys/mman.h>

#include "pattern.h"

namespace vt {
namespace {

constexpr uint64_t kCanary = 0x63616e617279;
constexpr size_t kHugePage = 2 << 20;
// Not the buffer's address, but with the same offset in its page.
constexpr uint64_t kOddIova = 0x123456789000;

std::optional<DmaBuf> dma_buf_for(MrKind kind, size_t bytes)
{
	switch (kind) {
	case MrKind::kDmaBuf:
		return DmaBuf::exported(bytes);
	case MrKind::kMovingDmaBuf:
		return DmaBuf::exported(bytes, EXPORTER_MOVES);
	case MrKind::kUdmabuf:
		return DmaBuf::of_udmabuf(bytes);
	case MrKind::kHeap:
		return DmaBuf::of_heap(bytes);
	default:
		return std::nullopt;
	}
}

} // namespace

int close_domain(ibv_xrcd *domain)
{
	return ibv_close_xrcd(domain);
}

Pd make_pd(ibv_context *context)
{
	Pd pd(ibv_alloc_pd(context));
	require(pd != nullptr, "ibv_alloc_pd: %m");
	return pd;
}

int free_dm(ibv_dm *dm)
{
	return ibv_free_dm(dm);
}

Dm make_dm(ibv_context *context, size_t bytes)
{
	ibv_alloc_dm_attr attr = {bytes, 0, 0};
	Dm dm(ibv_alloc_dm(context, &attr));
	if (!dm)
		refuse("ibv_alloc_dm", errno);
	return dm;
}

Buffer::Buffer(size_t bytes, Pages pages) : bytes_(bytes)
{
	bool huge = pages == Pages::kHuge;
	size_t unit = huge ? kHugePage : 4096;
	mapped_ = (bytes + unit - 1) / unit * unit;
	if (!mapped_)
		mapped_ = unit;
	int flags = MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0) |
		    (pages == Pages::kShared ? MAP_SHARED : MAP_PRIVATE | MAP_POPULATE);
	void *p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (p == MAP_FAILED && huge)
		skip("no huge pages: %m");
	require(p != MAP_FAILED, "mmap of %zu bytes: %m", mapped_);
	data_ = static_cast<char *>(p);
}

Buffer::Buffer(size_t bytes, const DmaBuf &dma_buf, bool writable)
	: bytes_(bytes), mapped_(dma_buf.size())
{
	void *p = mmap(nullptr, mapped_, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED,
		       dma_buf.fd(), 0);
	require(p != MAP_FAILED, "mmap of a dma-buf of %zu bytes: %m", mapped_);
	data_ = static_cast<char *>(p);
}

Buffer::~Buffer()
{
	munmap(data_, mapped_);
}

namespace {

Pages pages_of(MrKind kind)
{
	switch (kind) {
	case MrKind::kHuge:
		return Pages::kHuge;
	case MrKind::kOnDemand:
	case MrKind::kImplicit:
		return Pages::kShared;
	default:
		return Pages::kAnonymous;
	}
}

} // namespace

Mr reg_dma_buf(ibv_pd *pd, const DmaBuf &dma_buf, uint64_t offset, size_t bytes, uint64_t iova,
	       int access)
{
	return Mr(ibv_reg_dmabuf_mr(pd, offset, bytes, iova, dma_buf.fd(), access));
}

Arena::Arena(ibv_pd *pd, size_t bytes, int access, MrKind kind)
	: dma_buf_(dma_buf_for(kind, bytes)),
	  buffer_(dma_buf_ ? Buffer(bytes, *dma_buf_) : Buffer(bytes, pages_of(kind)))
{
	base_ = reinterpret_cast<uint64_t>(buffer_.data());
	switch (kind) {
	case MrKind::kPlain:
	case MrKind::kHuge:
		mr_.reset(ibv_reg_mr(pd, buffer_.data(), bytes, static_cast<unsigned>(access)));
		break;
	case MrKind::kIova:
		base_ = kOddIova;
		mr_.reset(ibv_reg_mr_iova(pd, buffer_.data(), bytes, base_,
					  static_cast<unsigned>(access)));
		break;
	case MrKind::kZeroBased:
		base_ = 0;
		mr_.reset(ibv_reg_mr_iova(pd, buffer_.data(), bytes, 0,
					  static_cast<unsigned>(access)));
		break;
	case MrKind::kOnDemand:
		mr_.reset(ibv_reg_mr(pd, buffer_.data(), bytes,
				     static_cast<unsigned>(access) | IBV_ACCESS_ON_DEMAND));
		break;
	case MrKind::kImplicit:
		mr_.reset(ibv_reg_mr(pd, nullptr, SIZE_MAX,
				     static_cast<unsigned>(access) | IBV_ACCESS_ON_DEMAND));
		break;
	case MrKind::kRelaxed:
		mr_.reset(ibv_reg_mr(pd, buffer_.data(), bytes,
				     static_cast<unsigned>(access) | IBV_ACCESS_RELAXED_ORDERING));
		break;
	case MrKind::kDmaBuf:
	case MrKind::kMovingDmaBuf:
	case MrKind::kUdmabuf:
	case MrKind::kHeap:
		base_ = kOddIova;
		mr_ = reg_dma_buf(pd, *dma_buf_, 0, bytes, base_, access);
		break;
	}
	if (!mr_)
		refuse("registering memory", errno);
}

void Arena::fill_canary() const
{
	pattern_fill(buffer_.data(), buffer_.size(), kCanary);
}

size_t Arena::check_canary(uint64_t offset, size_t bytes) const
{
	return pattern_check(at(offset), bytes, kCanary, offset);
}

} // namespace vt
