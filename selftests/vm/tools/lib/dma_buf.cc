// SPDX-License-Identifier: GPL-2.0
// See dma_buf.h.
#include "dma_buf.h"

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "outcome.h"

namespace vt {
namespace {

constexpr size_t kPage = 4096;

size_t whole_pages(size_t bytes)
{
	return (bytes + kPage - 1) / kPage * kPage;
}

// A device that makes dma-bufs, open for one request.
class Maker {
public:
	explicit Maker(const char *path) : fd_(open(path, O_RDWR | O_CLOEXEC))
	{
		if (fd_ < 0)
			skip("%s: not on this machine: %m", path);
	}
	~Maker() { ::close(fd_); }
	Maker(const Maker &) = delete;
	Maker &operator=(const Maker &) = delete;

	template <class T> int request(unsigned long number, T argument) const
	{
		return ioctl(fd_, number, argument);
	}

private:
	int fd_;
};

} // namespace

DmaBuf DmaBuf::exported(size_t bytes, uint32_t flags)
{
	Maker maker(EXPORTER_DEVICE);
	exporter_create create = {whole_pages(bytes), flags, -1};

	require(!maker.request(EXPORTER_CREATE, &create), "a dma-buf of %zu bytes: %m", bytes);
	return {create.fd, create.bytes};
}

DmaBuf DmaBuf::of_udmabuf(size_t bytes)
{
	Maker maker("/dev/udmabuf");
	udmabuf_create create = {};
	int memory = memfd_create("vverify", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	require(memory >= 0 && !ftruncate(memory, static_cast<off_t>(whole_pages(bytes))) &&
			!fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK),
		"a memory file of %zu bytes: %m", bytes);
	create.memfd = static_cast<uint32_t>(memory);
	create.flags = UDMABUF_FLAGS_CLOEXEC;
	create.size = whole_pages(bytes);
	int fd = maker.request(UDMABUF_CREATE, &create);
	::close(memory);
	require(fd >= 0, "a udmabuf of %zu bytes: %m", bytes);
	return {fd, create.size};
}

DmaBuf DmaBuf::of_heap(size_t bytes)
{
	Maker maker("/dev/dma_heap/system");
	dma_heap_allocation_data create = {};

	create.len = whole_pages(bytes);
	create.fd_flags = O_RDWR | O_CLOEXEC;
	require(!maker.request(DMA_HEAP_IOCTL_ALLOC, &create), "%zu bytes of the heap: %m", bytes);
	return {static_cast<int>(create.fd), create.len};
}

DmaBuf::DmaBuf(DmaBuf &&other) noexcept : fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_) {}

DmaBuf::~DmaBuf()
{
	close();
}

void DmaBuf::close()
{
	if (fd_ >= 0)
		::close(fd_);
	fd_ = -1;
}

exporter_state DmaBuf::state() const
{
	Maker maker(EXPORTER_DEVICE);
	exporter_state state = {};

	state.fd = fd_;
	require(!maker.request(EXPORTER_STATE, &state), "the state of a dma-buf: %m");
	return state;
}

void DmaBuf::revoke() const
{
	Maker maker(EXPORTER_DEVICE);

	require(!maker.request(EXPORTER_REVOKE, fd_), "revoking a dma-buf: %m");
}

void DmaBuf::require_unused() const
{
	exporter_state now = state();

	require(!now.attached && !now.pinned && !now.mapped && !now.accessed,
		"a dma-buf is still attached %u, pinned %u, mapped %u, accessed %u times",
		now.attached, now.pinned, now.mapped, now.accessed);
}

} // namespace vt
