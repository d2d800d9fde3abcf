// SPDX-License-Identifier: GPL-2.0
// See region.h.
#include "region.h"

#include <cstring>

namespace vt {
namespace {

constexpr char kFilling = static_cast<char>(0xc5);
constexpr size_t kBufferBytes = 192 << 10;
// Between any two extents, so that regions begin and end in pages they share.
constexpr size_t kGuardBytes = 1032;
constexpr size_t kOpenBytes = 65536;
constexpr size_t kOtherBytes = 4000;

constexpr int kAccess[kRegions] = {
	kAllAccess,
	IBV_ACCESS_REMOTE_READ,
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	IBV_ACCESS_LOCAL_WRITE,
	kAllAccess,
	kAllAccess,
};

Mr make_mr(ibv_pd *pd, char *at, size_t bytes, int access)
{
	Mr mr(ibv_reg_mr(pd, at, bytes, static_cast<unsigned>(access)));
	require(mr != nullptr, "ibv_reg_mr: %m");
	return mr;
}

} // namespace

Memory::Memory(ibv_context *context)
	: pd_(make_pd(context)), alien_pd_(make_pd(context)), buffer_(kBufferBytes)
{
	memset(buffer_.data(), kFilling, buffer_.size());
	for (int i = 0; i < kRegions; i++) {
		Extent &e = regions_[i];
		e.bytes = i == kOpen ? kOpenBytes : kOtherBytes;
		e.at = place(e.bytes);
		Mr mr = make_mr(i == kAlien ? alien_pd_.get() : pd_.get(), buffer_.data() + e.at,
				e.bytes, kAccess[i]);
		keys_[i] = mr->rkey;
		if (i != kDead)
			mrs_.push_back(std::move(mr));
	}
	changeable_ = {regions_[kOpen], regions_[kWrite]};

	// One key for memory that only local requests use: they choose the extents.
	for (Extent &e : receives_) {
		e = {place(kReceiveBytes), kReceiveBytes};
		changeable_.push_back(e);
	}
	sink_ = {place(kSinkBytes), kSinkBytes};
	changeable_.push_back(sink_);
	size_t local = receives_[0].at;
	mrs_.push_back(
		make_mr(pd_.get(), buffer_.data() + local, end_ - local, IBV_ACCESS_LOCAL_WRITE));
}

size_t Memory::place(size_t bytes)
{
	size_t at = end_ + kGuardBytes;
	end_ = (at + bytes + 7) & ~size_t{7};
	require(end_ + kGuardBytes <= buffer_.size(), "the buffer is too small");
	return at;
}

Remote Memory::remote(Region region) const
{
	const Extent &e = regions_[region];
	return {reinterpret_cast<uint64_t>(buffer_.data()) + e.at, e.bytes, keys_[region], 0};
}

ibv_sge Memory::receive(uint32_t number) const
{
	const Extent &e = receives_[number];
	return {reinterpret_cast<uint64_t>(buffer_.data()) + e.at, kReceiveBytes,
		mrs_.back()->lkey};
}

ibv_sge Memory::sink() const
{
	return {reinterpret_cast<uint64_t>(buffer_.data()) + sink_.at, kSinkBytes,
		mrs_.back()->lkey};
}

bool Memory::may_change(size_t at) const
{
	for (const Extent &e : changeable_)
		if (at - e.at < e.bytes)
			return true;
	return false;
}

Changes Memory::check()
{
	Changes found;
	for (size_t at = 0; at < buffer_.size(); at++) {
		if (buffer_.data()[at] == kFilling)
			continue;
		if (may_change(at))
			found.inside++;
		else if (!found.outside++)
			found.first = at;
	}
	memset(buffer_.data(), kFilling, buffer_.size());
	return found;
}

} // namespace vt
