/* SPDX-License-Identifier: GPL-2.0 */
// One virtio-serial port as a stream of frames: reassembles input, queues output,
// never blocks. Single-threaded. command.cc and agent.cc interpret the frames.

#ifndef TERN_QEMU_AGENT_PORT_H
#define TERN_QEMU_AGENT_PORT_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "wire.h"

namespace rig {

struct Frame {
	uint8_t type = 0;
	std::string payload;
};

class Port {
public:
	explicit Port(int fd) : fd_(fd) {}

	int fd() const { return fd_; }
	// Output that the host has not read yet. Callers stop producing if it is large.
	size_t backlog() const { return out_.size() - out_done_; }

	// Reads what is there. kHungUp: nothing, and the host's end is closed.
	enum Read { kMore, kNothing, kHungUp };
	Read fill();
	// Writes as much as the host takes now.
	void flush();
	// Takes the next complete frame out of the input.
	bool next(Frame *frame);
	void send(uint8_t type, const void *data, size_t length);
	// Drops the output for a host that is gone. The input is the next host's, or zeros and
	// the rest of a frame, which a hello ends.
	void drop_output();

private:
	int fd_;
	std::string in_;
	size_t in_done_ = 0;
	std::string out_;
	size_t out_done_ = 0;
};

} // namespace rig

#endif
