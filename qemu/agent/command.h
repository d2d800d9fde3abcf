/* SPDX-License-Identifier: GPL-2.0 */
// Runs one command for the host: its streams, its time limit, its end.

#ifndef TERN_QEMU_AGENT_COMMAND_H
#define TERN_QEMU_AGENT_COMMAND_H

#include <string>

#include "port.h"

namespace rig {

enum class After {
	kIdle,	 // the command ended and the host knows
	kHungUp, // the host went away; the command's process group was killed
	kHello,	 // a new host came (`*left` is its hello); the process group was killed
};

// Runs the kExec frame's command until it ends. Children that outlive the command's own
// process keep running, unless the time limit expired or the host went away.
After run_command(Port *port, const std::string &exec, Frame *left);

} // namespace rig

#endif
