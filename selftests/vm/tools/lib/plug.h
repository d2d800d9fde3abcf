/* SPDX-License-Identifier: GPL-2.0 */
// A plug qdisc on a netdev: packets to send stay in its queue. Needs tc and sch_plug.
#ifndef TERN_VM_PLUG_H
#define TERN_VM_PLUG_H

#include <cstdlib>
#include <string>

#include "outcome.h"

namespace vt {

class Plug {
public:
	explicit Plug(const std::string &netdev) : where_(" dev " + netdev + " root ")
	{
		tc("add" + where_ + "plug limit 10000000");
	}
	~Plug() { (void)!system(("tc qdisc del" + where_).c_str()); }
	Plug(const Plug &) = delete;
	Plug &operator=(const Plug &) = delete;

	// Sends the queued packets, and keeps later ones.
	void release_once()
	{
		change("block");
		change("release");
	}
	void release() { change("release_indefinite"); }

private:
	static void tc(const std::string &what)
	{
		std::string command = "tc qdisc " + what;
		require(!system(command.c_str()), "this failed: %s", command.c_str());
	}
	void change(const std::string &how) { tc("change" + where_ + "plug " + how); }

	std::string where_;
};

} // namespace vt

#endif
