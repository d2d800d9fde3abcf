/* SPDX-License-Identifier: GPL-2.0 */
// The TCP connection between the two processes of a test. Both run the same case at the
// same time. An end that leaves a case early tells the other, so neither waits in vain.
#ifndef TERN_VM_CONTROL_H
#define TERN_VM_CONTROL_H

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <sys/socket.h>

namespace vt {

enum class Verdict : uint32_t { kPass, kFail, kSkip };

struct Outcome {
	Verdict verdict = Verdict::kPass;
	std::string why;
};

class Control {
public:
	// Each waits up to limit_s and throws PeerLost.
	static Control accept_one(uint16_t port, double limit_s);
	static Control connect_to(const std::string &host, uint16_t port, double limit_s);
	Control(Control &&other) noexcept;
	Control(const Control &) = delete;
	Control &operator=(const Control &) = delete;
	~Control();

	void begin_case(uint32_t number);
	// Sends how the case ended here; returns how it ended at the peer.
	Outcome end_case(const Outcome &mine);

	// Both sides call it: sends ours, returns the peer's. Fails if the peer has left the case.
	std::vector<char> exchange_bytes(const void *ours, size_t bytes);
	std::string exchange_text(const std::string &ours);
	// One direction each, for the session's own messages.
	std::string receive_text();
	void send_text(const std::string &text);

	template <class T> T exchange(const T &ours)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		std::vector<char> theirs = exchange_bytes(&ours, sizeof(ours));
		T value;
		copy_exact(theirs, &value, sizeof(value));
		return value;
	}

	// A barrier.
	void sync() { exchange(uint32_t{0x73796e63}); }

	void set_limit(double seconds);

	// An address of the connection. IPv4 addresses have the IPv4 form.
	class Address {
	public:
		sockaddr *get() { return reinterpret_cast<sockaddr *>(&storage_); }
		void set_port(uint16_t port_be);

	private:
		friend class Control;
		sockaddr_storage storage_ = {};
	};
	Address local() const;
	Address peer() const;
	// Did this side make the connection?
	bool is_caller() const { return caller_; }

private:
	struct Frame {
		uint32_t kind, number, bytes;
	};
	Control(int fd, bool caller);
	Address end(int (*get)(int, sockaddr *, socklen_t *)) const;
	static void copy_exact(const std::vector<char> &from, void *to, size_t bytes);
	void send_all(uint32_t kind, const void *data, size_t bytes);
	void read_all(void *data, size_t bytes);
	Frame receive(std::vector<char> *payload);

	int fd_;
	bool caller_;
	uint32_t case_ = 0;
	bool peer_ended_ = false;
	Outcome peer_outcome_;
};

} // namespace vt

#endif
