// SPDX-License-Identifier: GPL-2.0
// See port.h. A port whose host end is closed reads as end of file and polls as POLLHUP.

#include "port.h"

#include <cstring>
#include <unistd.h>

namespace rig {

Port::Read Port::fill()
{
	char chunk[16 * 1024];
	Read got = kNothing;
	// Bounded, so that a flood from the host cannot delay the command's output.
	for (int i = 0; i < 8; i++) {
		ssize_t n = read(fd_, chunk, sizeof(chunk));
		if (n == 0 && got == kNothing)
			return kHungUp;
		if (n <= 0)
			return got;
		in_.append(chunk, static_cast<size_t>(n));
		got = kMore;
	}
	return got;
}

void Port::flush()
{
	while (out_done_ < out_.size()) {
		ssize_t n = write(fd_, out_.data() + out_done_, out_.size() - out_done_);
		if (n <= 0)
			break;
		out_done_ += static_cast<size_t>(n);
	}
	if (out_done_ == out_.size()) {
		out_.clear();
		out_done_ = 0;
	} else if (out_done_ > (64u << 10)) {
		out_.erase(0, out_done_);
		out_done_ = 0;
	}
}

bool Port::next(Frame *frame)
{
	bool found = false;
	while (in_done_ < in_.size()) {
		if (in_[in_done_] == 0) {
			in_done_++;
			continue;
		}
		if (in_.size() - in_done_ < sizeof(Header))
			break;
		Header header;
		memcpy(&header, in_.data() + in_done_, sizeof(header));
		if (header.magic != kMagic || header.zero || header.length > kMaxPayload) {
			in_done_++;
			continue;
		}
		if (in_.size() - in_done_ < sizeof(header) + header.length)
			break;
		frame->type = header.type;
		frame->payload.assign(in_, in_done_ + sizeof(header), header.length);
		in_done_ += sizeof(header) + header.length;
		found = true;
		break;
	}
	if (in_done_ == in_.size()) {
		in_.clear();
		in_done_ = 0;
	} else if (in_done_ > (64u << 10)) {
		in_.erase(0, in_done_);
		in_done_ = 0;
	}
	return found;
}

void Port::send(uint8_t type, const void *data, size_t length)
{
	Header header = {kMagic, type, 0, static_cast<uint32_t>(length)};
	out_.append(reinterpret_cast<const char *>(&header), sizeof(header));
	out_.append(static_cast<const char *>(data), length);
}

void Port::drop_output()
{
	out_.clear();
	out_done_ = 0;
}

} // namespace rig
