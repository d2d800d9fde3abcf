// SPDX-License-Identifier: GPL-2.0
// vcm: what rdma_cm's connections can meet. Each word of the command line's first is one end of
// something; usage() lists them. Prints what happened; fails if it is not what the word is for.
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
// Much for TCP to have room for exactly that.
constexpr uint32_t kBytes = 30000;
// READs under way, as either end of a call offers them.
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

// ---- a QP, and who wants it connected ----

int hold(const Words &words)
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

	printf("%s\n", error ? strerror(error) : "taken");
	return 0;
}

int claim(const Words &words)
{
	return claim_qp(number(words[0]), words[1]);
}

int bequeath(const Words &words)
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

// ---- a connection, from a port of one's choice ----

int call(const Words &words)
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

// After so many seconds.
int dally(const Words &words)
{
	Listener listener(kPort, 8);
	CmId id = listener.wait_request();
	Queues queues(id.get(), 1);

	sleep(number(words[0]));
	CmEvent event = listener.accept(id.get(), kAnswerDepth);
	printf("depths %u %u\n", event.depth_out, event.depth_in);
	fflush(stdout);
	listener.wait_end();
	return 0;
}

int answer(const Words &)
{
	return dally({"0"});
}

// ---- a connection whose peer vanishes ----

// Until its end; sends something as soon as there is such a file.
int watch(const Words &words)
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

// ---- many at once, and a listener that refuses them all ----

int crowd(const Words &words)
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
		// Its call has told it.
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

int refuse_all(const Words &words)
{
	Listener listener(kPort, 1);

	for (uint32_t i = 0; i < number(words[0]); i++)
		CmChannel::reject(listener.wait_request().get(), "no", 2);
	return 0;
}

// ---- a request that nobody answers, and whose listener has gone ----

int desert(const Words &)
{
	Listener listener(kPort, 1);
	CmId id = listener.wait_request();

	listener.stop();
	printf("deserted\n");
	fflush(stdout);
	pause();
	return 0;
}

// ---- messages of one who dies when they have completed ----

uint64_t bytes_sent(const Caller &caller)
{
	return counter_now(caller.id()->verbs->device, "tx_bytes");
}

// Until TCP has less than what has completed: then it is worth dying.
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

int leave(const Words &words)
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

// ---- many messages under way to a peer that closes its half ----

// Until nothing more completes: TCP has no room for all that has.
int stay(const Words &words)
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

int lend(const Words &words)
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

int inherit(const Words &)
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
	{"hold", "HOST", 1, hold},	   // makes a QP toward it, says its number, waits
	{"claim", "QPN HOST", 2, claim},   // has a QP connected that it did not make
	{"bequeath", "HOST", 1, bequeath}, // has its child have one connected
	{"call", "HOST LOCAL-PORT", 2, call},
	{"answer", "", 0, answer},
	{"dally", "SECONDS", 1, dally}, // answers after that long
	{"watch", "HOST FILE", 2, watch},
	{"crowd", "COUNT HOST", 2, crowd},
	{"refuse", "COUNT", 1, refuse_all},
	{"desert", "", 0, desert},
	{"leave", "HOST", 1, leave}, // sends, and is killed
	{"inherit", "", 0, inherit}, // gets it
	{"stay", "HOST", 1, stay},
	{"lend", "HOST", 1, lend},
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
