/* SPDX-License-Identifier: GPL-2.0 */
// Starts a command in a session of its own, on pipes or on a terminal.

#ifndef TERN_QEMU_AGENT_SPAWN_H
#define TERN_QEMU_AGENT_SPAWN_H

#include <string>
#include <sys/types.h>

namespace rig {

struct Child {
	pid_t pid = -1; // also its process group and its session
	int pidfd = -1;
	int in = -1;
	int out = -1;
	int err = -1; // -1 on a terminal, which has one stream
};

// Starts the command of a kExec payload. On failure returns false, with the reason in `*error`.
// The caller closes the descriptors with close_all() and reaps the process.
bool spawn(const std::string &exec, Child *child, std::string *error);
void close_all(Child *child);
void close_fd(int *fd);

} // namespace rig

#endif
