/* SPDX-License-Identifier: GPL-2.0 */
// dma-bufs: of the test module tern_exporter, of udmabuf and of the system's DMA heap. Without the
// exporter's device a case is skipped.
#ifndef TERN_VM_DMA_BUF_H
#define TERN_VM_DMA_BUF_H

#include <cstddef>
#include <cstdint>

#include "exporter.h"

namespace vt {

// A descriptor, closed at the end.
class DmaBuf {
public:
	// Of the test module; flags: EXPORTER_*.
	static DmaBuf exported(size_t bytes, uint32_t flags = 0);
	// Of a sealed memory file.
	static DmaBuf of_udmabuf(size_t bytes);
	static DmaBuf of_heap(size_t bytes);

	DmaBuf(DmaBuf &&other) noexcept;
	DmaBuf(const DmaBuf &) = delete;
	DmaBuf &operator=(const DmaBuf &) = delete;
	~DmaBuf();

	int fd() const { return fd_; }
	size_t size() const { return bytes_; }
	void close();

	// Of the test module: what importers have, and the memory taken back.
	exporter_state state() const;
	void revoke() const;
	// Fails the case unless no importer has anything of it.
	void require_unused() const;

private:
	DmaBuf(int fd, size_t bytes) : fd_(fd), bytes_(bytes) {}

	int fd_;
	size_t bytes_;
};

} // namespace vt

#endif
