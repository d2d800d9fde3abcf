/* SPDX-License-Identifier: GPL-2.0 */
// The server of all connections: echoes each connection's message, then drops it.
#ifndef TERN_VM_STORM_SERVER_H
#define TERN_VM_STORM_SERVER_H

#include <map>
#include <string>

#include "echo.h"

namespace vt {

class Server {
public:
	explicit Server(const std::string &port);
	// Runs until SIGTERM or SIGINT.
	void serve();

private:
	struct Connection {
		CmId id;
		std::unique_ptr<Echo> echo;
		~Connection();
	};

	void open_device(ibv_context *context);
	void take_event();
	void take_completions();
	void accept(CmId id);

	CmChannel cm_;
	CmId listener_;
	Pd pd_;
	Channel completions_;
	CqOwner cq_;
	std::map<rdma_cm_id *, Connection> connections_;
	std::map<uint32_t, Echo *> of_qp_;
};

} // namespace vt

#endif
