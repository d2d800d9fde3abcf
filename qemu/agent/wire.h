/* SPDX-License-Identifier: GPL-2.0 */
// The protocol between the host's rig and the agent in a guest, over one virtio-serial port or,
// in User Mode Linux, one serial line, which riglib/keeper.py connects to a socket.
// riglib/wire.py is the other end and must agree. All numbers are little-endian.
//
// A frame is Header, then `length` bytes. Between frames, zero bytes mean nothing: a new
// client first sends kMaxPayload of them, which ends any frame that its predecessor left
// half-sent when it was killed, and then kHello with a nonce that the agent echoes.

#ifndef TERN_QEMU_AGENT_WIRE_H
#define TERN_QEMU_AGENT_WIRE_H

#include <cstdint>

namespace rig {

constexpr uint16_t kMagic = 0x4752; // "RG"
constexpr uint32_t kMaxPayload = 32 * 1024;

struct Header {
	uint16_t magic;
	uint8_t type;
	uint8_t zero;
	uint32_t length;
};
static_assert(sizeof(Header) == 8, "the host unpacks '<HBBI'");

enum Type : uint8_t {
	// from the host
	kHello = 'H',	// 8-byte nonce; ends the command that may still run on this port
	kExec = 'X',	// ExecHeader, then NUL-ended strings: cwd, env..., argv...
	kStdin = 'I',	// bytes for the command's stdin; no bytes = end of file
	kKill = 'K',	// uint32 signal, for the command's whole process group
	kWinsize = 'W', // uint16 rows, uint16 columns
	kHangUp = 'U',	// the host is gone, which a serial line does not show
	// from the agent
	kHelloBack = 'h', // the nonce
	kStdout = 'o',
	kStderr = 'e',
	kBeat = 'b', // every second while a command runs: the guest is alive
	kExit = 'x', // ExitStatus
};

enum ExecFlags : uint32_t {
	kPty = 1, // run on a terminal of its own; stdout and stderr are one stream
};

struct ExecHeader {
	uint32_t limit_ms; // 0 = none
	uint32_t flags;
	uint32_t env_count;
	uint32_t arg_count;
};
static_assert(sizeof(ExecHeader) == 16, "the host packs '<IIII'");

enum ExitKind : uint32_t { kExited = 0, kSignalled = 1, kTimedOut = 2 };

struct ExitStatus {
	uint32_t kind;
	uint32_t value; // exit code, signal number, or 0
};

} // namespace rig

#endif
