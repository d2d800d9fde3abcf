// SPDX-License-Identifier: GPL-2.0
// Links, added and deleted as `rdma link add` and `rdma link delete` do it.
#include "call.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "outcome.h"

namespace vt {
namespace {

constexpr char kName[] = "faulty0";

// A request to RDMA's netlink, and its reply.
class Request {
public:
	explicit Request(uint16_t command) : command_(command) {}

	void add(uint16_t type, const void *value, size_t bytes)
	{
		nlattr head = {static_cast<uint16_t>(sizeof(head) + bytes), type};
		append(&head, sizeof(head));
		append(value, bytes);
	}
	void add(uint16_t type, const std::string &text)
	{
		add(type, text.c_str(), text.size() + 1);
	}

	// 0 or errno. The kernel handles the request within send().
	int send(int socket)
	{
		nlmsghdr head = {};
		head.nlmsg_len = static_cast<uint32_t>(sizeof(head) + body_.size());
		head.nlmsg_type = static_cast<uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command_));
		head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
		std::string all(reinterpret_cast<const char *>(&head), sizeof(head));
		all += body_;
		if (::send(socket, all.data(), all.size(), 0) < 0)
			return errno;
		struct {
			nlmsghdr head;
			nlmsgerr error;
			char rest[4096];
		} answer;
		ssize_t got = recv(socket, &answer, sizeof(answer), MSG_DONTWAIT);
		// The kernel may have had no memory for the acknowledgement.
		if (got < 0)
			return errno == EAGAIN ? ENOBUFS : errno;
		require(answer.head.nlmsg_type == NLMSG_ERROR, "netlink answers with type %d",
			answer.head.nlmsg_type);
		return -answer.error.error;
	}

private:
	void append(const void *what, size_t bytes)
	{
		body_.append(static_cast<const char *>(what), bytes);
		body_.resize(NLMSG_ALIGN(body_.size()));
	}

	uint16_t command_;
	std::string body_;
};

class Socket {
public:
	Socket() : fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA))
	{
		require(fd_ >= 0, "a socket of NETLINK_RDMA: %m");
	}
	~Socket() { close(fd_); }
	Socket(const Socket &) = delete;
	Socket &operator=(const Socket &) = delete;
	int fd() const { return fd_; }

private:
	int fd_;
};

class AddLink : public Try {
public:
	AddLink(const std::string &type, const std::string &netdev)
		: request_(RDMA_NLDEV_CMD_NEWLINK)
	{
		request_.add(RDMA_NLDEV_ATTR_DEV_NAME, std::string(kName));
		request_.add(RDMA_NLDEV_ATTR_LINK_TYPE, type);
		request_.add(RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	}
	~AddLink() override
	{
		uint32_t index = find();
		if (index == kNone)
			return;
		Request request(RDMA_NLDEV_CMD_DELLINK);
		request.add(RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
		int error = request.send(socket_.fd());
		if (error)
			note_teardown_failure("deleting a link", error);
	}
	int call() override { return request_.send(socket_.fd()); }
	void judge(int error) override
	{
		bool there = find() != kNone;
		// Without memory for the reply the request has still been executed.
		require(error == ENOBUFS || there == !error, "error %d, and the link is %s", error,
			there ? "there" : "not there");
	}

protected:
	static constexpr uint32_t kNone = ~0u;

	// The link's index among all devices: libibverbs does not list a device without uverbs.
	uint32_t find()
	{
		nlmsghdr ask = {};
		ask.nlmsg_len = sizeof(ask);
		ask.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
		ask.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		require(::send(socket_.fd(), &ask, sizeof(ask), 0) > 0, "asking for devices: %m");
		uint32_t found = kNone;
		alignas(nlmsghdr) char answer[16384];
		for (bool more = true; more;) {
			ssize_t got = recv(socket_.fd(), answer, sizeof(answer), 0);
			require(got > 0, "a list of devices: %m");
			more = take_devices(answer, static_cast<size_t>(got), &found);
		}
		return found;
	}

	// False: there are no more.
	static bool take_devices(char *answer, size_t bytes, uint32_t *found)
	{
		auto *one = reinterpret_cast<nlmsghdr *>(answer);
		for (; NLMSG_OK(one, bytes); one = NLMSG_NEXT(one, bytes)) {
			if (one->nlmsg_type == NLMSG_DONE || one->nlmsg_type == NLMSG_ERROR)
				return false;
			uint32_t index = kNone;
			bool ours = false;
			const char *at = static_cast<char *>(NLMSG_DATA(one));
			const char *end = reinterpret_cast<char *>(one) + one->nlmsg_len;
			for (nlattr head; at + sizeof(head) <= end; at += NLA_ALIGN(head.nla_len)) {
				memcpy(&head, at, sizeof(head));
				require(head.nla_len >= sizeof(head),
					"an attribute without length");
				if (head.nla_type == RDMA_NLDEV_ATTR_DEV_INDEX)
					memcpy(&index, at + NLA_HDRLEN, sizeof(index));
				else if (head.nla_type == RDMA_NLDEV_ATTR_DEV_NAME)
					ours = !strcmp(at + NLA_HDRLEN, kName);
			}
			if (ours)
				*found = index;
		}
		return true;
	}

	Socket socket_;

private:
	Request request_;
};

class DeleteLink : public AddLink {
public:
	DeleteLink(const std::string &type, const std::string &netdev) : AddLink(type, netdev)
	{
		int error = AddLink::call();
		require(!error, "a link to delete: %s", strerror(error));
		index_ = find();
		require(index_ != kNone, "the link to delete is not there");
	}
	int call() override
	{
		Request request(RDMA_NLDEV_CMD_DELLINK);
		request.add(RDMA_NLDEV_ATTR_DEV_INDEX, &index_, sizeof(index_));
		return request.send(socket_.fd());
	}
	void judge(int error) override
	{
		require(find() == kNone || error, "the link is deleted, and is there");
	}

private:
	uint32_t index_;
};

} // namespace

std::vector<Call> link_calls(const std::string &type, const std::string &netdev)
{
	std::vector<Call> calls = {
		{"add-link", [=] { return std::make_unique<AddLink>(type, netdev); }},
		{"delete-link", [=] { return std::make_unique<DeleteLink>(type, netdev); }},
	};
	// Most of thousands of allocations are sysfs', alike for each file: a prime step hits
	// different ones.
	calls.front().stride = 37;
	return calls;
}

} // namespace vt
