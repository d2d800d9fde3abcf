// SPDX-License-Identifier: GPL-2.0
// rdma_cm's calls between two ends in this process.
#include "call.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>

#include "cm.h"
#include "outcome.h"

namespace vt {
namespace {

sockaddr_in address_of(const std::string &text)
{
	sockaddr_in address = {};
	address.sin_family = AF_INET;
	require(inet_pton(AF_INET, text.c_str(), &address.sin_addr) == 1, "'%s' is no address",
		text.c_str());
	return address;
}

ibv_qp_init_attr small_qp()
{
	ibv_qp_init_attr attr = {};
	attr.cap = {4, 4, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	return attr;
}

int result(int ret)
{
	return ret ? errno : 0;
}

class Listen : public Try {
public:
	explicit Listen(const std::string &address)
		: address_(address_of(address)), id_(channel_.make_id())
	{
		require(!rdma_bind_addr(id_.get(), reinterpret_cast<sockaddr *>(&address_)),
			"rdma_bind_addr: %m");
	}
	int call() override { return result(rdma_listen(id_.get(), 4)); }

private:
	sockaddr_in address_;
	CmChannel channel_;
	CmId id_;
};

// A client with a QP and a resolved route to a listening server.
class Ends : public Try {
public:
	explicit Ends(const std::string &address) : to_(address_of(address))
	{
		listener_ = channel_.listen(reinterpret_cast<sockaddr *>(&to_), 4);
		to_.sin_port = rdma_get_src_port(listener_.get());
		client_ = channel_.resolve(reinterpret_cast<sockaddr *>(&to_));
		make_qp(client_.get());
	}
	~Ends() override
	{
		for (CmId *id : {&client_, &server_})
			if (*id && (*id)->qp)
				rdma_destroy_qp(id->get());
	}

protected:
	static void make_qp(rdma_cm_id *id)
	{
		ibv_qp_init_attr attr = small_qp();
		require(!rdma_create_qp(id, nullptr, &attr), "rdma_create_qp: %m");
	}
	void ask()
	{
		int error = CmChannel::ask(client_.get(), {});
		require(!error, "rdma_connect: %s", strerror(error));
	}
	void take_request()
	{
		server_ = std::move(channel_.expect(RDMA_CM_EVENT_CONNECT_REQUEST).request);
		make_qp(server_.get());
	}
	int accept()
	{
		rdma_conn_param param = CmOffer{}.param();
		return result(rdma_accept(server_.get(), &param));
	}

	sockaddr_in to_;
	CmChannel channel_;
	CmId listener_, client_, server_;
};

class Connect : public Ends {
public:
	using Ends::Ends;
	int call() override { return CmChannel::ask(client_.get(), {}); }
	void judge(int error) override
	{
		if (!error)
			take_request();
	}
};

class Accept : public Ends {
public:
	explicit Accept(const std::string &address) : Ends(address)
	{
		ask();
		take_request();
	}
	int call() override { return accept(); }
	void judge(int error) override
	{
		for (int ends = 0; !error && ends < 2; ends++)
			channel_.expect(RDMA_CM_EVENT_ESTABLISHED);
	}
};

class Disconnect : public Ends {
public:
	explicit Disconnect(const std::string &address) : Ends(address)
	{
		ask();
		take_request();
		int error = accept();
		require(!error, "rdma_accept: %s", strerror(error));
		for (int ends = 0; ends < 2; ends++)
			channel_.expect(RDMA_CM_EVENT_ESTABLISHED);
	}
	// Do not wait for an event: rdma_cm reports no DREQ that failed for lack of memory.
	int call() override { return result(rdma_disconnect(client_.get())); }
};

} // namespace

std::vector<Call> cm_calls(const std::string &address)
{
	std::vector<Call> calls = {
		{"listen", [=] { return std::make_unique<Listen>(address); }},
		{"connect", [=] { return std::make_unique<Connect>(address); }},
		{"accept", [=] { return std::make_unique<Accept>(address); }},
		{"disconnect", [=] { return std::make_unique<Disconnect>(address); }},
	};
	// TCP returns this when it has no memory for a port.
	calls.front().other_error = EADDRINUSE;
	return calls;
}

} // namespace vt
