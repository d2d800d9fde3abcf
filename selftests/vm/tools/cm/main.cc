// SPDX-License-Identifier: GPL-2.0
// vcm: one end of an rdma_cm connection in an unusual case. The first argument names the case;
// usage() lists them. Prints the outcome; fails if the case could not be brought about.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "counter.h"
#include "ends.h"
#include "pattern.h"

namespace vt {
namespace {

constexpr char kPort[] = "7490";
constexpr uint32_t kMessages = 32;
// It is unlikely that TCP has room for exactly this much.
constexpr uint32_t kBytes = 30000;
// Outstanding READs that the two ends of a connection offer.
constexpr uint8_t kCallDepth = 3, kAnswerDepth = 5;

using Words = std::vector<std::string>;

uint32_t number(const std::string &word)
{
	return static_cast<uint32_t>(strtoul(word.c_str(), nullptr, 0));
}

void post_sends(const Queues &queues, const ibv_sge &sge, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		ibv_sge one = sge;
		ibv_send_wr wr = {}, *bad;
		wr.sg_list = &one;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_SEND;
		require(!ibv_post_send(queues.qp(), &wr, &bad), "ibv_post_send failed");
	}
}

void establish(Caller &caller)
{
	int error = caller.connect();
	require(!error, "rdma_connect: %s", strerror(error));
	require(caller.outcome().type == RDMA_CM_EVENT_ESTABLISHED, "not connected");
}

// ---- a QP, and another process that tries to connect it ----

int make_qp(const Words &words)
{
	Caller caller(words[0], kPort);

	caller.make_queues(1);
	printf("QP %u\n", caller.queues().qp()->qp_num);
	fflush(stdout);
	pause();
	return 0;
}

int claim_qp(uint32_t qpn, const std::string &host)
{
	Caller caller(host, kPort);
	int error = caller.connect(qpn);

	printf("%s\n", error ? strerror(error) : "allowed");
	return 0;
}

int connect_qp(const Words &words)
{
	return claim_qp(number(words[0]), words[1]);
}

int connect_qp_in_child(const Words &words)
{
	Caller caller(words[0], kPort);
	int status = 1;

	caller.make_queues(1);
	uint32_t qpn = caller.queues().qp()->qp_num;
	pid_t child = fork();
	if (!child) {
		claim_qp(qpn, words[0]);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

// ---- a connection from a chosen port ----

int connect_from(const Words &words)
{
	Caller caller(words[0], kPort, static_cast<uint16_t>(number(words[1])));

	caller.make_queues(1);
	int error = caller.connect(0, kCallDepth);
	if (error) {
		printf("%s\n", strerror(error));
		return 0;
	}
	CmEvent event = caller.outcome();
	printf("%s, %zu bytes of private data\n", rdma_event_str(event.type), event.data.size());
	return 0;
}

// Accepts after that many seconds.
int accept_by(Listener &&listener, uint32_t seconds)
{
	CmId id = listener.wait_request();
	Queues queues(id.get(), 1);

	sleep(seconds);
	CmEvent event = listener.accept(id.get(), kAnswerDepth);
	printf("depths %u %u\n", event.depth_out, event.depth_in);
	fflush(stdout);
	listener.wait_end();
	return 0;
}

int accept_after(const Words &words)
{
	return accept_by(Listener(kPort, 8), number(words[0]));
}

int accept_now(const Words &)
{
	return accept_by(Listener(kPort, 8), 0);
}

int accept_tos(const Words &words)
{
	return accept_by(Listener(kPort, 8, static_cast<uint8_t>(number(words[0]))), 0);
}

// ---- a connection whose peer disappears ----

// Waits for the connection's end. Sends a message once the file exists.
int wait_disconnect(const Words &words)
{
	Caller caller(words[0], kPort);
	bool sent = false;

	caller.make_queues(1);
	Arena memory(caller.queues().pd(), 1);
	establish(caller);
	printf("connected\n");
	fflush(stdout);
	for (;;) {
		std::optional<CmEvent> event = caller.next(0.1);
		if (event) {
			printf("%s\n", rdma_event_str(event->type));
			return 0;
		}
		if (sent || access(words[1].c_str(), F_OK))
			continue;
		post_sends(caller.queues(), memory.sge(0, 1), 1);
		sent = true;
	}
}

// ---- many connections at once, and a listener that rejects them all ----

int connect_many(const Words &words)
{
	std::vector<std::unique_ptr<Caller>> callers(number(words[0]));
	std::map<std::string, unsigned> outcomes;

	for (auto &caller : callers) {
		caller = std::make_unique<Caller>(words[1], kPort);
		caller->make_queues(1);
	}
	for (auto &caller : callers) {
		if (!caller->connect())
			continue;
		// rdma_connect() failed: there will be no event.
		outcomes[std::string("rdma_connect() ") + strerror(errno)]++;
		caller.reset();
	}
	for (auto &caller : callers) {
		if (!caller)
			continue;
		CmEvent event = caller->outcome();
		std::string name = rdma_event_str(event.type);

		outcomes[name + " " + strerror(abs(event.status))]++;
	}
	for (const auto &[name, count] : outcomes)
		printf("%u %s\n", count, name.c_str());
	return 0;
}

int reject_all(const Words &words)
{
	Listener listener(kPort, 1);

	for (uint32_t i = 0; i < number(words[0]); i++)
		CmChannel::reject(listener.wait_request().get(), "no", 2);
	return 0;
}

// ---- a request that is not answered, and whose listener has gone ----

int stop_listening(const Words &)
{
	Listener listener(kPort, 1);
	CmId id = listener.wait_request();

	listener.stop();
	printf("stopped listening\n");
	fflush(stdout);
	pause();
	return 0;
}

// ---- a sender that is killed when its messages have completed ----

uint64_t bytes_sent(const Caller &caller)
{
	return counter_now(caller.id()->verbs->device, "tx_bytes");
}

// Sends until more has completed than TCP has sent.
uint32_t send_until_behind(const Caller &caller, const Arena &memory)
{
	const Queues &queues = caller.queues();
	uint64_t began = bytes_sent(caller);

	for (uint32_t i = 0; i < kMessages; i++) {
		pattern_fill(memory.at(0), kBytes, pattern_key(1, 0, i));
		post_sends(queues, memory.sge(0, kBytes), 1);
		ibv_wc wc = queues.wait();
		require(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
		uint64_t written = uint64_t{i + 1} * kBytes, sent = bytes_sent(caller) - began;
		if (sent < written) {
			printf("TCP lacks %llu bytes\n", written - sent + 0ULL);
			return i + 1;
		}
	}
	return kMessages;
}

int send_and_die(const Words &words)
{
	Caller caller(words[0], kPort);

	caller.make_queues(1);
	Arena memory(caller.queues().pd(), kBytes);
	establish(caller);
	printf("%u messages\n", send_until_behind(caller, memory));
	fflush(stdout);
	raise(SIGKILL);
	return 1;
}

// ---- many messages in flight to a peer that closes its half ----

// Sends until nothing more completes: TCP has no room for all that has completed.
int send_until_full(const Words &words)
{
	Caller caller(words[0], kPort);
	uint32_t done = 0;

	caller.make_queues(kMessages);
	Arena memory(caller.queues().pd(), kBytes);
	establish(caller);
	uint64_t began = bytes_sent(caller);
	post_sends(caller.queues(), memory.sge(0, kBytes), kMessages);
	while (std::optional<ibv_wc> wc = caller.queues().next(1)) {
		require(wc->status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc->status));
		done++;
	}
	uint64_t sent = bytes_sent(caller) - began;
	if (sent < uint64_t{done} * kBytes)
		printf("TCP lacks %llu bytes\n", uint64_t{done} * kBytes - sent + 0ULL);
	printf("%u messages\n", done);
	fflush(stdout);
	printf("%s\n", rdma_event_str(caller.outcome().type));
	return 0;
}

int send_long(const Words &words)
{
	constexpr uint32_t kDepth = 64, kLong = 128 << 10;
	Caller caller(words[0], kPort);
	unsigned done = 0;

	caller.make_queues(kDepth);
	Arena memory(caller.queues().pd(), kLong);
	establish(caller);
	post_sends(caller.queues(), memory.sge(0, kLong), kDepth);
	printf("posted\n");
	fflush(stdout);
	for (uint32_t i = 0; i < kDepth; i++)
		done += caller.queues().wait().status == IBV_WC_SUCCESS;
	printf("%u done, %u flushed\n", done, kDepth - done);
	printf("%s\n", rdma_event_str(caller.outcome().type));
	return 0;
}

int receive_all(const Words &)
{
	Listener listener(kPort, 1);
	CmId id = listener.wait_request();
	Queues queues(id.get(), kMessages);
	Arena memory(queues.pd(), kMessages * kBytes);
	uint32_t came = 0;

	for (uint32_t i = 0; i < kMessages; i++) {
		ibv_sge sge = memory.sge(i * kBytes, kBytes);
		ibv_recv_wr wr = {i, nullptr, &sge, 1}, *bad;

		require(!ibv_post_recv(queues.qp(), &wr, &bad), "ibv_post_recv failed");
	}
	listener.accept(id.get());
	for (; came < kMessages; came++) {
		ibv_wc wc = queues.wait();

		if (wc.status == IBV_WC_WR_FLUSH_ERR)
			break;
		require(wc.status == IBV_WC_SUCCESS && wc.byte_len == kBytes, "message %u: %s",
			came, ibv_wc_status_str(wc.status));
		require(pattern_check(memory.at(came * kBytes), kBytes, pattern_key(1, 0, came)) ==
				kBytes,
			"message %u has other bytes", came);
	}
	printf("%u messages\n", came);
	return 0;
}

// ---- the command line ----

struct Word {
	const char *name;
	const char *arguments;
	size_t count;
	int (*run)(const Words &);
};

constexpr Word kWords[] = {
	{"make-qp", "HOST", 1, make_qp},	   // prints its number, and waits
	{"connect-qp", "QPN HOST", 2, connect_qp}, // a QP of another process
	{"connect-qp-in-child", "HOST", 1, connect_qp_in_child},
	{"connect", "HOST LOCAL-PORT", 2, connect_from},
	{"accept", "", 0, accept_now},
	{"accept-after", "SECONDS", 1, accept_after},
	{"accept-tos", "TOS", 1, accept_tos}, // the type of service of the connection
	{"wait-disconnect", "HOST FILE", 2, wait_disconnect},
	{"connect-many", "COUNT HOST", 2, connect_many},
	{"reject", "COUNT", 1, reject_all},
	{"stop-listening", "", 0, stop_listening},
	{"send-and-die", "HOST", 1, send_and_die},
	{"receive", "", 0, receive_all},
	{"send-until-full", "HOST", 1, send_until_full},
	{"send-long", "HOST", 1, send_long},
};

[[noreturn]] void usage()
{
	for (const Word &word : kWords)
		fprintf(stderr, "vcm %s %s\n", word.name, word.arguments);
	exit(2);
}

} // namespace
} // namespace vt

int main(int argc, char **argv)
{
	std::string name = argc > 1 ? argv[1] : "";
	vt::Words words(argv + (argc > 1 ? 2 : 1), argv + argc);

	for (const vt::Word &word : vt::kWords) {
		if (name != word.name || words.size() != word.count)
			continue;
		try {
			return word.run(words);
		} catch (const std::exception &why) {
			printf("%s\n", why.what());
			return 1;
		}
	}
	vt::usage();
}
