// SPDX-License-Identifier: GPL-2.0
// See control.h. A frame has kind, case number, length, payload. Frames of an earlier case,
// which ended early, are dropped.
#include "control.h"

#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "outcome.h"

namespace vt {
namespace {

constexpr uint32_t kData = 1, kEnd = 2;
constexpr uint32_t kMaxPayload = 1 << 20;

} // namespace

Control::Control(int fd, bool caller) : fd_(fd), caller_(caller)
{
	int one = 1;
	setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	set_limit(90 * slow());
}

Control::Control(Control &&other) noexcept
	: fd_(other.fd_), caller_(other.caller_), case_(other.case_),
	  peer_ended_(other.peer_ended_), peer_outcome_(std::move(other.peer_outcome_))
{
	other.fd_ = -1;
}

Control::~Control()
{
	if (fd_ >= 0)
		close(fd_);
}

void Control::set_limit(double seconds)
{
	timeval limit = {static_cast<time_t>(seconds), 0};
	setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

Control Control::accept_one(uint16_t port, double limit_s)
{
	int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1, zero = 0;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	sockaddr_in6 any = {};
	any.sin6_family = AF_INET6;
	any.sin6_port = htons(port);
	if (bind(listener, reinterpret_cast<sockaddr *>(&any), sizeof(any)) ||
	    listen(listener, 1)) {
		int error = errno;
		close(listener);
		throw PeerLost(std::string("cannot listen: ") + strerror(error));
	}
	pollfd p = {listener, POLLIN, 0};
	if (poll(&p, 1, static_cast<int>(limit_s * 1000)) <= 0) {
		close(listener);
		throw PeerLost("no client came");
	}
	int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
	close(listener);
	if (fd < 0)
		throw PeerLost(std::string("accept: ") + strerror(errno));
	return Control(fd, false);
}

Control Control::connect_to(const std::string &host, uint16_t port, double limit_s)
{
	addrinfo hints = {}, *found = nullptr;
	hints.ai_socktype = SOCK_STREAM;
	std::string service = std::to_string(port);
	if (getaddrinfo(host.c_str(), service.c_str(), &hints, &found))
		throw PeerLost("cannot resolve " + host);
	double deadline = now_s() + limit_s;
	int error = 0;
	do {
		for (addrinfo *a = found; a; a = a->ai_next) {
			int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
			if (fd < 0)
				continue;
			if (!connect(fd, a->ai_addr, a->ai_addrlen)) {
				freeaddrinfo(found);
				return Control(fd, true);
			}
			error = errno;
			close(fd);
		}
		usleep(50000);
	} while (now_s() < deadline);
	freeaddrinfo(found);
	throw PeerLost("cannot connect to " + host + ": " + strerror(error));
}

void Control::Address::set_port(uint16_t port_be)
{
	// Its offset is the same for IPv6.
	reinterpret_cast<sockaddr_in *>(&storage_)->sin_port = port_be;
}

Control::Address Control::end(int (*get)(int, sockaddr *, socklen_t *)) const
{
	Address address;
	socklen_t bytes = sizeof(address.storage_);
	if (get(fd_, address.get(), &bytes))
		throw PeerLost(std::string("the control connection's address: ") + strerror(errno));
	sockaddr_in6 six;
	memcpy(&six, &address.storage_, sizeof(six));
	if (six.sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
		sockaddr_in four = {};
		four.sin_family = AF_INET;
		four.sin_port = six.sin6_port;
		memcpy(&four.sin_addr, &six.sin6_addr.s6_addr[12], sizeof(four.sin_addr));
		address.storage_ = {};
		memcpy(&address.storage_, &four, sizeof(four));
	}
	return address;
}

Control::Address Control::local() const
{
	return end(getsockname);
}

Control::Address Control::peer() const
{
	return end(getpeername);
}

void Control::send_all(uint32_t kind, const void *data, size_t bytes)
{
	Frame frame = {kind, case_, static_cast<uint32_t>(bytes)};
	std::string all(reinterpret_cast<const char *>(&frame), sizeof(frame));
	all.append(static_cast<const char *>(data), bytes);
	for (size_t done = 0; done < all.size();) {
		ssize_t n = send(fd_, all.data() + done, all.size() - done, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			throw PeerLost(std::string("control send: ") + strerror(errno));
		done += static_cast<size_t>(n);
	}
}

void Control::read_all(void *data, size_t bytes)
{
	char *to = static_cast<char *>(data);
	while (bytes) {
		ssize_t n = recv(fd_, to, bytes, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			throw PeerLost("the peer process ended");
		if (n < 0)
			throw PeerLost(std::string("control receive: ") + strerror(errno));
		to += n;
		bytes -= static_cast<size_t>(n);
	}
}

Control::Frame Control::receive(std::vector<char> *payload)
{
	for (;;) {
		Frame frame;
		read_all(&frame, sizeof(frame));
		if (frame.bytes > kMaxPayload)
			throw PeerLost("control frame too long");
		payload->resize(frame.bytes);
		read_all(payload->data(), frame.bytes);
		if (frame.number == case_)
			return frame;
		if (frame.number > case_)
			throw PeerLost("the peer is ahead of us");
	}
}

void Control::begin_case(uint32_t number)
{
	case_ = number;
	peer_ended_ = false;
}

static Outcome unpack_outcome(const std::vector<char> &payload)
{
	Outcome outcome;
	if (payload.size() >= sizeof(uint32_t)) {
		memcpy(&outcome.verdict, payload.data(), sizeof(uint32_t));
		outcome.why.assign(payload.begin() + sizeof(uint32_t), payload.end());
	}
	return outcome;
}

Outcome Control::end_case(const Outcome &mine)
{
	std::vector<char> payload(sizeof(uint32_t) + mine.why.size());
	memcpy(payload.data(), &mine.verdict, sizeof(uint32_t));
	memcpy(payload.data() + sizeof(uint32_t), mine.why.data(), mine.why.size());
	send_all(kEnd, payload.data(), payload.size());
	while (!peer_ended_) {
		if (receive(&payload).kind != kEnd)
			continue;
		peer_ended_ = true;
		peer_outcome_ = unpack_outcome(payload);
	}
	return peer_outcome_;
}

std::vector<char> Control::exchange_bytes(const void *ours, size_t bytes)
{
	std::vector<char> theirs;
	if (!peer_ended_) {
		send_all(kData, ours, bytes);
		if (receive(&theirs).kind == kData)
			return theirs;
		peer_ended_ = true;
		peer_outcome_ = unpack_outcome(theirs);
	}
	if (peer_outcome_.verdict == Verdict::kSkip)
		throw Skip("peer: " + peer_outcome_.why);
	throw Failure("the peer left the case: " + peer_outcome_.why);
}

std::string Control::exchange_text(const std::string &ours)
{
	std::vector<char> theirs = exchange_bytes(ours.data(), ours.size());
	return {theirs.begin(), theirs.end()};
}

std::string Control::receive_text()
{
	std::vector<char> theirs;
	receive(&theirs);
	return {theirs.begin(), theirs.end()};
}

void Control::send_text(const std::string &text)
{
	send_all(kData, text.data(), text.size());
}

void Control::copy_exact(const std::vector<char> &from, void *to, size_t bytes)
{
	require(from.size() == bytes, "peer sent %zu bytes where %zu were due", from.size(), bytes);
	memcpy(to, from.data(), bytes);
}

} // namespace vt
