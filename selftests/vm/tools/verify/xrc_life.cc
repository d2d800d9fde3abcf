// SPDX-License-Identifier: GPL-2.0
// XRC's lifetimes: domains that processes share, targets that outlive their creators, SRQs that end
// while messages for them come, objects destroyed in every order, limits, and what is refused.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "other_process.h"
#include "pattern.h"
#include "xrc_bench.h"

namespace vt {
namespace {

// A file that this process and those that it makes have open: their domains are one.
class SharedFile {
public:
	SharedFile() : fd_(memfd_create("xrc", MFD_CLOEXEC))
	{
		require(fd_ >= 0, "memfd_create: %m");
	}
	~SharedFile() { close(fd_); }
	SharedFile(const SharedFile &) = delete;
	SharedFile &operator=(const SharedFile &) = delete;
	int fd() const { return fd_; }

private:
	int fd_;
};

void need_xrc(Env &env)
{
	env.both_need(env.device.can(IBV_DEVICE_XRC), "XRC");
}

// ---- processes ----

// The second process has an SRQ in the domain, and n messages come for it.
void receive_elsewhere(const DeviceChoice &choice, int fd, const Words &words)
{
	Device device(choice);
	Xrcd domain = open_domain(device.context(), fd);
	Receiver receiver(device, domain.get());
	uint32_t n = words.hear<uint32_t>();

	receiver.post(n);
	words.say(receiver.number);
	for (uint32_t i = 0; i < n; i++)
		receiver.expect(mix(2 * i + 1), 64 + i, 20 * slow());
	// The target is the other process's. It may be opened, and closed.
	auto target = try_open_target(device.context(), domain.get(), words.hear<uint32_t>());
	require(target != nullptr, "ibv_open_qp: %m");
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	require(!ibv_query_qp(target.get(), &attr, IBV_QP_STATE, &init) &&
			attr.qp_state == IBV_QPS_RTS,
		"its state is %d", attr.qp_state);
	target.reset();
	words.say(uint32_t{1});
}

// One target, which serves SRQs of two processes.
void processes(Env &env)
{
	constexpr uint32_t kMessages = 100; // for each
	need_xrc(env);
	SharedFile file;
	std::optional<OtherProcess> other;
	if (!env.client)
		other.emplace([&](const Words &words) {
			receive_elsewhere(same_device(env), file.fd(), words);
		});
	XrcBench b(env, {}, {}, file.fd());
	std::optional<Receiver> mine;
	uint32_t numbers[2] = {};
	if (other) {
		mine.emplace(env.device, b.domain.get());
		mine->post(kMessages);
		numbers[0] = mine->number;
		other->words().say(kMessages);
		numbers[1] = other->words().hear<uint32_t>();
	}
	for (uint32_t &number : numbers)
		number = b.of_server(number);
	for (uint32_t i = 0; env.client && i < 2 * kMessages; i++) {
		b.send(numbers[i % 2], i, 64 + i / 2, mix(i));
		b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
	}
	if (other) {
		for (uint32_t i = 0; i < kMessages; i++)
			mine->expect(mix(2 * i), 64 + i, env.limit_s);
		other->words().say(b.link.qp()->qp_num);
		other->words().hear<uint32_t>();
		other->join();
		// The target is still there.
		mine->post(1);
	}
	env.control.sync();
	if (env.client) {
		b.send(numbers[0], 1);
		b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	} else {
		mine->expect(1, 64, env.limit_s);
	}
	env.control.sync();
}

void create_target(const DeviceChoice &choice, int fd, const Words &words)
{
	Device device(choice);
	Xrcd domain = open_domain(device.context(), fd);
	QpOwner target = make_target(device.context(), domain.get());

	words.say(target->qp_num);
	words.hear<uint32_t>();
}

// A target is created by one process, connected by another that opened it, and lives as long as
// that.
void creator_dies(Env &env)
{
	need_xrc(env);
	SharedFile file;
	std::optional<OtherProcess> creator;
	if (!env.client)
		creator.emplace([&](const Words &words) {
			create_target(same_device(env), file.fd(), words);
		});
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	Arena arena(pd.get(), 4096);
	Xrcd domain;
	std::optional<Receiver> receiver;
	std::optional<Link> link;
	LinkOptions options;
	options.timeout = 12;
	options.retries = 3;
	if (env.client) {
		options.type = IBV_QPT_XRC_SEND;
		link.emplace(env.device, pd.get(), cq.get(), cq.get(), options);
	} else {
		domain = open_domain(env.device.context(), file.fd());
		receiver.emplace(env.device, domain.get());
		receiver->post(1);
		options.type = IBV_QPT_XRC_RECV;
		QpOwner target = try_open_target(env.device.context(), domain.get(),
						 creator->words().hear<uint32_t>());
		require(target != nullptr, "ibv_open_qp: %m");
		link.emplace(env.device, std::move(target), options);
	}
	link->connect(env.control);
	if (creator)
		creator->kill();
	uint32_t number = env.control.exchange(receiver ? receiver->number : 0);
	pattern_fill(arena.at(0), 64, 9);
	Work send{.id = 1, .sges = {arena.sge(0, 64)}, .srqn = number};
	if (env.client) {
		post(*link, send);
		cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	} else {
		receiver->expect(9, 64, env.limit_s);
		// The last one that has it open closes it.
		uint32_t qpn = link->qp()->qp_num;
		link->destroy();
		require(!try_open_target(env.device.context(), domain.get(), qpn),
			"the target is still there");
	}
	env.control.sync();
	if (env.client) {
		post(*link, send);
		cq.expect(IBV_WC_RETRY_EXC_ERR, 1, env.limit_s);
	}
	env.control.sync();
}

void receive_until_killed(const DeviceChoice &choice, int fd, const Words &words)
{
	Device device(choice);
	Xrcd domain = open_domain(device.context(), fd);
	Receiver receiver(device, domain.get());

	receiver.post(Receiver::kSlots);
	words.say(receiver.number);
	for (uint32_t n = 0;; n++) {
		receiver.cq.expect(IBV_WC_SUCCESS, n, 20 * slow());
		receiver.post(1);
		if (n == 20)
			words.say(n);
	}
}

// Client: messages for an SRQ until one is refused.
void send_until_refused(XrcBench *b, uint32_t number, uint32_t bytes)
{
	for (uint64_t id = 0, done = 0;; id++) {
		if (id - done == 16) {
			Completion c = b->cq.next(b->env.limit_s);
			if (c.status != IBV_WC_SUCCESS) {
				require(c.status == IBV_WC_REM_ACCESS_ERR, "the status is '%s'",
					ibv_wc_status_str(c.status));
				return;
			}
			done++;
		}
		int error = try_post(b->link,
				     {.id = id, .sges = {b->arena.sge(0, bytes)}, .srqn = number});
		require(!error, "posting: %s", strerror(error));
	}
}

// A process is killed under a stream of messages. The target refuses the next one, and serves
// others when it is connected again.
void receiver_killed(Env &env)
{
	need_xrc(env);
	SharedFile file;
	for (int round = 0; round < 5; round++) {
		std::optional<OtherProcess> other;
		if (!env.client)
			other.emplace([&](const Words &words) {
				receive_until_killed(same_device(env), file.fd(), words);
			});
		XrcBench b(env, {}, {}, file.fd());
		std::optional<Receiver> mine;
		if (other) {
			mine.emplace(env.device, b.domain.get());
			mine->post(1);
		}
		uint32_t theirs = b.of_server(other ? other->words().hear<uint32_t>() : 0);
		uint32_t ours = b.of_server(mine ? mine->number : 0);
		if (env.client) {
			send_until_refused(&b, theirs, 3000);
		} else {
			other->words().hear<uint32_t>();
			other->kill();
			expect_qp_event(env, b.link.qp(), IBV_EVENT_QP_ACCESS_ERR);
		}
		env.control.sync();
		b.reconnect();
		if (env.client) {
			// What was flushed is not this QP's any more: ibv_modify_qp() has dropped
			// it.
			b.send(ours, 1);
			b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		} else {
			mine->expect(1, 64, env.limit_s);
		}
		env.control.sync();
	}
}

// ---- SRQs ----

// An SRQ is destroyed at any time in a stream of messages of several packets, and its CQ and PD
// after it.
void destroyed_in_traffic(Env &env)
{
	constexpr uint32_t kBytes = 7000;
	for (uint32_t round = 0; round < 20; round++) {
		XrcBench b(env);
		std::optional<Receiver> receiver;
		if (!env.client) {
			receiver.emplace(env.device, b.domain.get());
			receiver->post(Receiver::kSlots);
		}
		uint32_t number = b.of_server(receiver ? receiver->number : 0);
		if (env.client) {
			send_until_refused(&b, number, kBytes);
		} else {
			for (uint32_t n = 0; n < round * 3 + 1; n++) {
				receiver->cq.expect(IBV_WC_SUCCESS, n, env.limit_s);
				receiver->post(1);
			}
			receiver.reset();
			expect_qp_event(env, b.link.qp(), IBV_EVENT_QP_ACCESS_ERR);
		}
		env.control.sync();
	}
}

// The target ends in the middle of a message: the receive that it has in hand is flushed.
void target_ends_in_message(Env &env)
{
	constexpr uint32_t kBytes = 4 << 20;
	for (uint32_t round = 0; round < 10; round++) {
		XrcBench b(env);
		Arena large(b.pd.get(), kBytes);
		if (!env.client)
			require(!try_post_srq(b.srq.get(), 1, {large.sge(0, kBytes)}), "a receive");
		env.control.sync();
		if (env.client) {
			post(b.link, {.id = 1, .sges = {large.sge(0, kBytes)}, .srqn = b.number});
		} else {
			usleep(200 * round);
			b.link.move_to(IBV_QPS_ERR);
			Completion c;
			// Before the message came, in the middle of it, or after it.
			if (b.cq.poll(&c))
				require(c.wr_id == 1 && (c.status == IBV_WC_WR_FLUSH_ERR ||
							 c.status == IBV_WC_SUCCESS),
					"status '%s'", ibv_wc_status_str(c.status));
		}
		env.control.sync();
		if (env.client)
			b.link.move_to(IBV_QPS_ERR);
		env.control.sync();
	}
}

// ---- orders, limits ----

enum Part { kDomain, kTarget, kSrq, kCq, kPd, kParts };

// What must be gone before a part can be.
constexpr unsigned kNeeds[kParts] = {1u << kTarget | 1u << kSrq, 0, 0, 1u << kSrq, 1u << kSrq};

struct Objects {
	explicit Objects(const Device &device)
		: domain(open_domain(device.context())),
		  target(make_target(device.context(), domain.get())),
		  pd(make_pd(device.context())),
		  cq(ibv_create_cq(device.context(), 4, nullptr, nullptr, 0)),
		  srq(make_xrc_srq(pd.get(), domain.get(), cq, 4))
	{}

	int destroy(int part)
	{
		switch (part) {
		case kDomain:
			return ibv_close_xrcd(domain.release());
		case kTarget:
			return ibv_destroy_qp(target.release());
		case kSrq:
			return ibv_destroy_srq(srq.release());
		case kCq:
			return ibv_destroy_cq(cq);
		default:
			return ibv_dealloc_pd(pd.release());
		}
	}

	Xrcd domain;
	QpOwner target;
	Pd pd;
	ibv_cq *cq;
	Srq srq;
};

// All parts, in this order as far as that goes. What others need is EBUSY, and stays.
void destroy_in_order(const Device &device, const std::vector<int> &order)
{
	Objects o(device);
	ibv_xrcd *domain = o.domain.get();
	ibv_pd *pd = o.pd.get();
	unsigned left = (1u << kParts) - 1;

	while (left) {
		for (int part : order) {
			if (!(left & 1u << part))
				continue;
			int want = kNeeds[part] & left ? EBUSY : 0, error = o.destroy(part);
			require(error == want, "part %d: %s", part, strerror(error));
			if (!error)
				left &= ~(1u << part);
			// It still is ours.
			if (error && part == kDomain)
				o.domain.reset(domain);
			if (error && part == kPd)
				o.pd.reset(pd);
		}
	}
}

void orders(Env &env)
{
	std::vector<int> order(kParts);

	need_xrc(env);
	std::iota(order.begin(), order.end(), 0);
	do
		destroy_in_order(env.device, order);
	while (std::next_permutation(order.begin(), order.end()));
	env.control.sync();
}

// The rules of open(2) for domains of a file.
void opening(Env &env)
{
	ibv_context *context = env.device.context();
	SharedFile file, second;

	need_xrc(env);
	require(!try_open_domain(context, file.fd(), 0) && errno == EAGAIN, "without O_CREAT: %m");
	Xrcd domain = open_domain(context, file.fd());
	Xrcd again = try_open_domain(context, file.fd(), 0);
	require(again != nullptr, "an existing domain: %m");
	require(!try_open_domain(context, file.fd(), O_CREAT | O_EXCL) && errno == EINVAL,
		"with O_EXCL: %m");
	require(!try_open_domain(context, 9999, O_CREAT) && errno == EBADF, "no such file: %m");
	// Handles of one domain are as good as each other, handles of another are not.
	QpOwner target = make_target(context, domain.get());
	Xrcd other = open_domain(context, second.fd());
	require(try_open_target(context, again.get(), target->qp_num) != nullptr,
		"by the other handle: %m");
	require(!try_open_target(context, other.get(), target->qp_num) && errno == EINVAL,
		"in another domain: %m");
	require(!try_open_target(context, again.get(), target->qp_num + 1) && errno == EINVAL,
		"another number: %m");
	// A domain lives as long as one has it open. A target is its handle's.
	again.reset();
	target.reset();
	domain.reset();
	require(!try_open_domain(context, file.fd(), 0) && errno == EAGAIN,
		"it is still there: %m");
	env.control.sync();
}

// As many as the documentation says. One end tries: both may be of one device.
void limit(Env &env)
{
	constexpr size_t kMost = 32768;
	std::vector<Xrcd> domains;

	need_xrc(env);
	if (env.client) {
		env.control.sync();
		return;
	}
	for (bool more = true; more && domains.size() <= kMost; more = domains.back() != nullptr)
		domains.push_back(try_open_domain(env.device.context(), -1, O_CREAT));
	int error = errno;
	require(domains.size() == kMost + 1 && !domains.back() && error == ENOMEM,
		"%zu domains, then: %s", domains.size() - 1, strerror(error));
	env.control.sync();
}

// ---- verbs ----

// What the queues that are not there refuse, and what the provider does.
void missing_queues(Env &env)
{
	XrcBench b(env);
	ibv_sge sge = b.arena.sge(0, 64);
	ibv_recv_wr recv = {1, nullptr, &sge, 1}, *bad_recv = nullptr;
	ibv_send_wr send = {}, *bad_send = nullptr;

	require(ibv_post_recv(b.link.qp(), &recv, &bad_recv) == EINVAL && bad_recv == &recv,
		"post_recv");
	send.sg_list = &sge;
	send.num_sge = 1;
	send.opcode = IBV_WR_SEND;
	// Of the initiator the number is wrong, and the target does not send at all.
	send.qp_type.xrc.remote_srqn = 1 << 24;
	require(ibv_post_send(b.link.qp(), &send, &bad_send) == EINVAL && bad_send == &send,
		"post_send");
	if (!env.client) {
		ibv_qp_init_attr attr = {};
		attr.send_cq = attr.recv_cq = b.cq.get();
		attr.srq = b.srq.get();
		attr.cap = {1, 1, 1, 1, 0};
		attr.qp_type = IBV_QPT_RC;
		require(!ibv_create_qp(b.pd.get(), &attr) && errno == EINVAL,
			"an RC QP on an XRC SRQ: %m");
	}
	env.control.sync();
}

// A target has the attributes of a responder. Draining it is over at once.
void target_attributes(Env &env)
{
	XrcBench b(env);
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};

	if (!env.client) {
		require(!ibv_query_qp(b.link.qp(), &attr, 0x1fffff, &init), "ibv_query_qp");
		require(attr.qp_state == IBV_QPS_RTS && attr.dest_qp_num == b.link.peer().qpn &&
				attr.max_dest_rd_atomic == b.link.options().rd_atomic &&
				!attr.cap.max_send_wr && !attr.cap.max_recv_wr &&
				init.qp_type == IBV_QPT_XRC_RECV && !init.send_cq && !init.srq,
			"ibv_query_qp");
		attr = {};
		attr.qp_state = IBV_QPS_SQD;
		attr.en_sqd_async_notify = 1;
		require(!b.link.modify(&attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), "to SQD");
		expect_qp_event(env, b.link.qp(), IBV_EVENT_SQ_DRAINED);
		b.link.move_to(IBV_QPS_RTS);
		require(!try_post_srq(b.srq.get(), 1, {b.arena.sge(0, 64)}), "a receive");
	} else {
		require(!ibv_query_qp(b.link.qp(), &attr, 0x1fffff, &init), "ibv_query_qp");
		require(attr.cap.max_send_wr && !attr.cap.max_recv_wr &&
				init.qp_type == IBV_QPT_XRC_SEND && init.send_cq && !init.recv_cq,
			"ibv_query_qp");
	}
	env.control.sync();
	if (env.client)
		b.send(b.number, 1);
	b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"xrc/processes", processes});
	list.push_back({"xrc/creator-dies", creator_dies});
	list.push_back({"xrc/receiver-killed", receiver_killed});
	list.push_back({"xrc/destroyed-in-traffic", destroyed_in_traffic});
	list.push_back({"xrc/target-ends-in-message", target_ends_in_message});
	list.push_back({"xrc/orders", orders});
	list.push_back({"xrc/opening", opening});
	list.push_back({"xrc/limit", limit});
	list.push_back({"xrc/missing-queues", missing_queues});
	list.push_back({"xrc/target-attributes", target_attributes});
});

} // namespace
} // namespace vt
