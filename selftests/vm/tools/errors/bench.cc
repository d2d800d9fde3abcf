// SPDX-License-Identifier: GPL-2.0
// See bench.h.
#include "bench.h"

#include <string>

#include <unistd.h>

namespace vt {

void need_tern(Env &env, const char *what)
{
	// The node description may be the administrator's. This attribute is tern's own.
	std::string setting =
		std::string(env.device.context()->device->ibdev_path) + "/peer_timeout";
	env.both_need(!access(setting.c_str(), F_OK), what);
}

} // namespace vt
