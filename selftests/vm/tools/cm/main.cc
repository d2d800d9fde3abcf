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
#include <unistd.h>
#include <vector>

#include "ends.h"
#include "pattern.h"

namespace vt {
namespace {

constexpr char kPort[] = "7490";
constexpr uint32_t kMessages = 32;
// Much for TCP to have room for exactly that.
constexpr uint32_t kBytes = 30000;

using Words = std::vector<std::string>;

uint32_t number(const std::string &word)
{
	return static_cast<uint32_t>(strtoul(word.c_str(), nullptr, 0));
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

int claim(const Words &words)
{
	Caller caller(words[1], kPort);
	int error = caller.connect(number(words[0]));

	printf("%s\n", error ? strerror(error) : "taken");
	return 0;
}

// ---- a connection, from a port of one's choice ----

int call(const Words &words)
{
	Caller caller(words[0], kPort, static_cast<uint16_t>(number(words[1])));

	caller.make_queues(1);
	int error = caller.connect();
	printf("%s\n", error ? strerror(error) : rdma_event_str(caller.outcome().type));
	return 0;
}

int answer(const Words &)
{
	Listener listener(kPort, 8);
	CmId id = listener.wait_request();
	Queues queues(id.get(), 1);

	listener.accept(id.get());
	listener.wait_end();
	return 0;
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
	for (auto &caller : callers)
		require(!caller->connect(), "rdma_connect: %m");
	for (auto &caller : callers) {
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
		CmChannel::reject(listener.wait_request().get(), nullptr, 0);
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
	std::string path = std::string("/sys/class/infiniband/") +
			   ibv_get_device_name(caller.id()->verbs->device) +
			   "/ports/1/hw_counters/tx_bytes";
	unsigned long long bytes = 0;

	usleep(20000); // the kernel keeps them for a while
	std::unique_ptr<FILE, CmDestroyer<fclose>> file(fopen(path.c_str(), "r"));
	require(file && fscanf(file.get(), "%llu", &bytes) == 1, "cannot read %s", path.c_str());
	return bytes;
}

// Until TCP has less than what has completed: then it is worth dying.
uint32_t send_until_behind(const Caller &caller, const Arena &memory)
{
	const Queues &queues = caller.queues();
	uint64_t began = bytes_sent(caller);

	for (uint32_t i = 0; i < kMessages; i++) {
		ibv_sge sge = memory.sge(0, kBytes);
		ibv_send_wr wr = {}, *bad;

		pattern_fill(memory.at(0), kBytes, pattern_key(1, 0, i));
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_SEND;
		require(!ibv_post_send(queues.qp(), &wr, &bad), "ibv_post_send failed");
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
	require(!caller.connect(), "rdma_connect: %m");
	require(caller.outcome().type == RDMA_CM_EVENT_ESTABLISHED, "not connected");
	printf("%u messages\n", send_until_behind(caller, memory));
	fflush(stdout);
	raise(SIGKILL);
	return 1;
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
	{"hold", "HOST", 1, hold},	 // makes a QP toward it, says its number, waits
	{"claim", "QPN HOST", 2, claim}, // has a QP connected that it did not make
	{"call", "HOST LOCAL-PORT", 2, call},
	{"answer", "", 0, answer},
	{"crowd", "COUNT HOST", 2, crowd},
	{"refuse", "COUNT", 1, refuse_all},
	{"desert", "", 0, desert},
	{"leave", "HOST", 1, leave}, // sends, and is killed
	{"inherit", "", 0, inherit}, // gets it
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
