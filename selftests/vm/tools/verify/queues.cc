// SPDX-License-Identifier: GPL-2.0
// Completion queues and shared receive queues: events and solicited events, resizing with
// completions inside, timestamps, many QPs behind one SRQ, the SRQ's limit event, its
// resizing under traffic.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

void send_one(Bench *b, uint64_t id, unsigned flags = IBV_SEND_SIGNALED)
{
	Work w{.opcode = IBV_WR_SEND, .id = id, .flags = flags, .sges = {b->arena.sge(0, 64)}};
	post(b->link, w);
}

// Armed for all completions: every message raises an event, but only one for each arming.
void events(Env &env)
{
	CqOptions with_events;
	with_events.events = true;
	Bench b(env, {}, 65536, with_events);
	constexpr int kMessages = 20;
	if (env.client) {
		for (int i = 0; i < kMessages; i++) {
			env.control.sync();
			b.cq.arm(false);
			send_one(&b, i);
			require(b.cq.wait_event(env.limit_s), "no event for a send completion");
			b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
			env.control.sync();
		}
	} else {
		for (int i = 0; i < kMessages; i++) {
			post_recv(b.link, i, {b.arena.sge(4096, 128)});
			b.cq.arm(false);
			env.control.sync();
			require(b.cq.wait_event(env.limit_s), "no event for a receive");
			b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
			env.control.sync();
			require(!b.cq.wait_event(0), "a second event for one arming");
		}
	}
	env.control.sync();
}

// Armed for solicited completions: a solicited message or an error raises an event, others do not.
void solicited(Env &env)
{
	CqOptions with_events;
	with_events.events = true;
	Bench b(env, {}, 65536, with_events);
	if (!env.client) {
		for (int i = 0; i < 3; i++)
			post_recv(b.link, i, {b.arena.sge(4096, 128)});
		b.cq.arm(true);
	}
	env.control.sync();
	if (env.client) {
		send_one(&b, 0);
		b.cq.expect(IBV_WC_SUCCESS, 0, env.limit_s);
	} else {
		b.cq.expect(IBV_WC_SUCCESS, 0, env.limit_s);
		require(!b.cq.wait_event(0.3), "an unsolicited message raised a solicited event");
	}
	env.control.sync();
	if (env.client) {
		send_one(&b, 1, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
		b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	} else {
		require(b.cq.wait_event(env.limit_s), "no event for a solicited message");
		b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		b.cq.arm(true);
	}
	env.control.sync();
	if (!env.client) {
		// A completion in error counts as solicited.
		b.link.move_to(IBV_QPS_ERR);
		require(b.cq.wait_event(env.limit_s), "no event for a flushed receive");
		b.cq.expect(IBV_WC_WR_FLUSH_ERR, 2, env.limit_s);
	}
	env.control.sync();
}

// A completion before arming raises no event. A poll after arming finds it.
void arm_then_poll(Env &env)
{
	CqOptions with_events;
	with_events.events = true;
	LinkOptions options;
	options.recv_wr = 200;
	Bench b(env, options, 65536, with_events);
	if (!env.client)
		for (int i = 0; i < 200; i++)
			post_recv(b.link, i, {b.arena.sge(4096, 128)});
	env.control.sync();
	constexpr int kMessages = 200;
	if (env.client) {
		for (int i = 0; i < kMessages; i++) {
			send_one(&b, i);
			b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
		}
	} else {
		// The loop of every event-driven program: arm, drain, sleep. No wake-up is lost.
		int seen = 0;
		while (seen < kMessages) {
			b.cq.arm(false);
			Completion c;
			bool any = false;
			while (b.cq.poll(&c)) {
				require_success(c, "receive");
				require(c.wr_id == static_cast<uint64_t>(seen++), "order");
				any = true;
			}
			if (!any && seen < kMessages)
				require(b.cq.wait_event(env.limit_s), "a wake-up was lost after %d",
					seen);
		}
	}
	env.control.sync();
}

// A CQ by each completion vector has its events; there is no vector behind the last one.
void vectors(Env &env)
{
	const int n = env.device.context()->num_comp_vectors;
	for (int vector : {0, n / 2, n - 1}) {
		CqOptions options;
		options.events = true;
		options.vector = vector;
		Bench b(env, {}, 65536, options);
		if (!env.client)
			post_recv(b.link, 0, {b.arena.sge(4096, 128)});
		b.cq.arm(false);
		env.control.sync();
		if (env.client)
			send_one(&b, 0);
		require(b.cq.wait_event(env.limit_s), "no event by vector %d", vector);
		b.cq.expect(IBV_WC_SUCCESS, 0, env.limit_s);
	}
	ibv_cq *beyond = ibv_create_cq(env.device.context(), 1, nullptr, nullptr, n);
	int error = errno;
	require(!beyond && error == EINVAL, "vector %d of %d: %s", n, n, strerror(error));
	env.control.sync();
}

// Growing and shrinking a CQ keeps its completions, in order.
void resize(Env &env)
{
	LinkOptions options;
	options.send_wr = options.recv_wr = 600;
	CqOptions small;
	small.entries = 100;
	Bench b(env, options, 65536, small);
	int error = ibv_resize_cq(b.cq.get(), 200);
	env.both_need(!means_unsupported(error), "ibv_resize_cq");
	require(!error, "ibv_resize_cq: %s", strerror(error));
	require(b.cq.get()->cqe >= 200, "%d entries after asking for 200", b.cq.get()->cqe);
	for (uint64_t i = 0; !env.client && i < 600; i++)
		post_recv(b.link, i, {b.arena.sge(4096, 128)});
	env.control.sync();
	if (env.client)
		for (uint64_t i = 0; i < 80; i++)
			send_one(&b, i);
	// Let them complete without a poll. Then the ring must move with them inside.
	for (uint64_t i = 0; i < 30; i++)
		b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
	usleep(200000);
	error = ibv_resize_cq(b.cq.get(), 1500);
	require(!error, "growing: %s", strerror(error));
	// Only the larger ring has room for the next ones.
	env.control.sync();
	if (env.client)
		for (uint64_t i = 80; i < 580; i++)
			send_one(&b, i);
	for (uint64_t i = 30; i < 580; i++)
		b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
	error = ibv_resize_cq(b.cq.get(), 64);
	require(!error, "shrinking: %s", strerror(error));
	env.control.sync();
}

// The CQ grows and shrinks while completions come, while they are polled and while it is armed.
// None is lost, doubled or out of order, and no event is lost.
void resize_busy(Env &env)
{
	constexpr uint64_t kMessages = 3000, kPosted = 200;
	constexpr std::array<int, 5> kSizes = {1024, 300, 4096, 512, 2000};
	LinkOptions options;
	options.recv_wr = kPosted;
	CqOptions with_events;
	with_events.events = true;
	Bench b(env, options, 65536, with_events);
	int error = ibv_resize_cq(b.cq.get(), kSizes[0]);
	env.both_need(!means_unsupported(error), "ibv_resize_cq");
	require(!error, "ibv_resize_cq: %s", strerror(error));
	uint64_t posted = 0;
	auto post_recvs = [&](uint64_t until) {
		for (; !env.client && posted < until; posted++)
			post_recv(b.link, posted, {b.arena.sge(4096, 128)});
	};
	post_recvs(kPosted);
	env.control.sync();
	{
		std::jthread resizer([&](const std::stop_token &stop) {
			for (size_t i = 0; !error && !stop.stop_requested(); i++) {
				error = ibv_resize_cq(b.cq.get(), kSizes[i % kSizes.size()]);
				usleep(2000);
			}
		});
		for (uint64_t i = 0, done = 0; env.client && done < kMessages; done++) {
			for (; i < std::min(done + options.send_wr, kMessages); i++)
				send_one(&b, i);
			b.cq.expect(IBV_WC_SUCCESS, done, env.limit_s);
		}
		for (uint64_t seen = 0; !env.client && seen < kMessages;) {
			b.cq.arm(false);
			uint64_t before = seen;
			Completion c;
			while (b.cq.poll(&c)) {
				require_success(c, "receive");
				require(c.wr_id == seen++, "order");
				post_recvs(seen + kPosted);
			}
			if (seen == before)
				require(b.cq.wait_event(env.limit_s),
					"a wake-up was lost after %lu", seen);
		}
	}
	require(!error, "ibv_resize_cq: %s", strerror(error));
	env.control.sync();
}

// Shrinking below the number of completions is refused and changes nothing.
void resize_too_small(Env &env)
{
	LinkOptions options;
	options.send_wr = options.recv_wr = 128;
	Bench b(env, options, 65536);
	for (uint64_t i = 0; !env.client && i < 100; i++)
		post_recv(b.link, i, {b.arena.sge(4096, 128)});
	env.control.sync();
	if (env.client) {
		for (uint64_t i = 0; i < 100; i++)
			send_one(&b, i);
		b.cq.expect(IBV_WC_SUCCESS, 0, env.limit_s);
		usleep(500000);
	}
	env.control.sync();
	int error = ibv_resize_cq(b.cq.get(), 10);
	env.both_need(!means_unsupported(error), "ibv_resize_cq");
	require(error == EINVAL || error == EBUSY, "with 99 inside: %s", strerror(error));
	for (uint64_t i = env.client; i < 100; i++)
		b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
	env.control.sync();
}

uint64_t clock_ns(clockid_t clock)
{
	timespec now = {};
	clock_gettime(clock, &now);
	return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t raw_clock(const Device &device)
{
	ibv_values_ex values = {};
	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	int error = ibv_query_rt_values_ex(device.context(), &values);
	require(!error && values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK, "raw clock: %s",
		strerror(error));
	return static_cast<uint64_t>(values.raw_clock.tv_sec) * 1000000000 +
	       static_cast<uint64_t>(values.raw_clock.tv_nsec);
}

// Of the device's clock, and of the wall clock: both are those of the completion, however late it
// is polled.
void timestamps(Env &env)
{
	env.both_need(env.device.attr_ex().completion_timestamp_mask, "completion timestamps");
	CqOptions stamped;
	stamped.extended = stamped.timestamps = stamped.wallclock = true;
	Bench b(env, {}, 65536, stamped);
	for (uint64_t i = 0; !env.client && i < 10; i++)
		post_recv(b.link, i, {b.arena.sge(4096, 128)});
	uint64_t last = raw_clock(env.device), last_wall = clock_ns(CLOCK_REALTIME);
	env.control.sync();
	if (env.client)
		for (uint64_t i = 0; i < 10; i++)
			send_one(&b, i);
	// The last one is here, and so are the others.
	usleep(100000);
	env.control.sync();
	const uint64_t end = raw_clock(env.device), end_wall = clock_ns(CLOCK_REALTIME);
	usleep(200000);
	for (uint64_t i = 0; i < 10; i++) {
		Completion c = b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
		require(c.stamp >= last && c.wall_ns >= last_wall, "time runs backwards");
		require(c.stamp <= end && c.wall_ns <= end_wall, "the time of polling, %lu, %lu",
			c.stamp - end, c.wall_ns - end_wall);
		last = c.stamp;
		last_wall = c.wall_ns;
	}
	env.control.sync();
}

Srq make_srq(Bench *b, uint32_t wrs, uint32_t sges = 2)
{
	ibv_srq_init_attr attr = {};
	attr.attr.max_wr = wrs;
	attr.attr.max_sge = sges;
	Srq srq(ibv_create_srq(b->pd.get(), &attr));
	if (!srq)
		refuse("ibv_create_srq", errno);
	return srq;
}

// Messages of many QPs through one SRQ, identified by their immediates.
void srq(Env &env, uint32_t qps, uint32_t bytes)
{
	Bench b(env, {}, 8 << 20, {.entries = 2048});
	Srq shared = make_srq(&b, 512);
	LinkOptions options;
	options.srq = shared.get();
	std::vector<std::unique_ptr<Link>> links;
	std::vector<Link *> raw;
	for (uint32_t i = 0; i < qps; i++) {
		links.push_back(std::make_unique<Link>(env.device, b.pd.get(), b.cq.get(),
						       b.cq.get(), options));
		links.back()->connect(env.control);
		raw.push_back(links.back().get());
	}
	Batch batch;
	for (ibv_wr_opcode opcode : {env.device.send_with_imm(), IBV_WR_RDMA_WRITE_WITH_IMM}) {
		// Without an immediate the sender is not known.
		if (opcode == IBV_WR_SEND && qps > 1)
			continue;
		batch.opcode = opcode;
		batch.bytes = bytes;
		batch.count = qps * 5;
		batch.recv_sges = 2;
		batch.seed++;
		run_batch({env, raw, b.cq, b.cq, b.arena}, batch);
	}
}

// The SRQ grows and shrinks while receives are taken. All posted receives complete, in order.
void srq_resize(Env &env)
{
	constexpr uint32_t kMessages = 6000, kSlots = 256, kBytes = 128, kEvery = 20;
	constexpr uint32_t kPosted = 200; // at a time
	constexpr std::array<uint32_t, 5> kSizes = {256, 4096, 512, 16384, 300};

	Bench b(env, {}, kSlots * kBytes);
	// Long WQEs, so that there is much to move.
	uint32_t sges = static_cast<uint32_t>(env.device.attr().max_srq_sge);
	Srq shared = make_srq(&b, kSizes[0], sges);
	ibv_srq_attr attr = {};
	attr.max_wr = kSizes[0];
	int error = ibv_modify_srq(shared.get(), &attr, IBV_SRQ_MAX_WR);
	env.both_need(!means_unsupported(error), "resizing an SRQ");
	require(!error, "ibv_modify_srq: %s", strerror(error));
	LinkOptions options;
	options.srq = shared.get();
	Link link(env.device, b.pd.get(), b.cq.get(), b.cq.get(), options);
	link.connect(env.control);

	auto slot = [](uint64_t id) { return id % kSlots * kBytes; };
	uint64_t posted = 0;
	auto post_more = [&](uint64_t until) {
		for (; posted < until; posted++)
			require(!try_post_srq(shared.get(), posted,
					      {b.arena.sge(slot(posted), kBytes)}),
				"post_srq_recv");
	};
	if (!env.client)
		post_more(kPosted);
	env.control.sync();
	for (uint64_t done = 0; env.client && done < kMessages; done++) {
		for (; posted < std::min<uint64_t>(done + options.send_wr, kMessages); posted++) {
			pattern_fill(b.arena.at(slot(posted)), kBytes,
				     pattern_key(env.seed, 0, posted));
			post(link, {.id = posted, .sges = {b.arena.sge(slot(posted), kBytes)}});
		}
		b.cq.expect(IBV_WC_SUCCESS, done, env.limit_s);
	}
	for (uint64_t done = 0; !env.client && done < kMessages; done++) {
		b.cq.expect(IBV_WC_SUCCESS, done, env.limit_s);
		size_t same = pattern_check(b.arena.at(slot(done)), kBytes,
					    pattern_key(env.seed, 0, done));
		require(same == kBytes, "message %lu: byte %zu is wrong", done, same);
		post_more(done + 1 + kPosted);
		if (done % kEvery)
			continue;
		attr.max_wr = kSizes[done / kEvery % kSizes.size()];
		error = ibv_modify_srq(shared.get(), &attr, IBV_SRQ_MAX_WR);
		require(!error, "to %u, message %lu: %s", attr.max_wr, done, strerror(error));
		ibv_srq_attr is = {};
		require(!ibv_query_srq(shared.get(), &is) && is.max_wr >= attr.max_wr,
			"%u after asking for %u", is.max_wr, attr.max_wr);
	}
	env.control.sync();
	if (!env.client) {
		// 200 of the posted receives are still there.
		attr.max_wr = 64;
		error = ibv_modify_srq(shared.get(), &attr, IBV_SRQ_MAX_WR);
		require(error == EINVAL, "to less than is posted: %s", strerror(error));
	}
	env.control.sync();
}

void srq_limit(Env &env)
{
	Bench b(env, {}, 65536);
	Srq shared = make_srq(&b, 64);
	LinkOptions options;
	options.srq = shared.get();
	Link link(env.device, b.pd.get(), b.cq.get(), b.cq.get(), options);
	for (uint64_t i = 0; i < 20; i++)
		require(!try_post_srq(shared.get(), i, {b.arena.sge(4096, 128)}), "post_srq_recv");
	link.connect(env.control);
	if (!env.client) {
		ibv_srq_attr attr = {};
		attr.srq_limit = 10;
		int error = ibv_modify_srq(shared.get(), &attr, IBV_SRQ_LIMIT);
		require(!error, "ibv_modify_srq: %s", strerror(error));
		require(!ibv_query_srq(shared.get(), &attr) && attr.srq_limit == 10,
			"query_srq says limit %u", attr.srq_limit);
	}
	env.control.sync();
	for (uint64_t i = 0; i < 15; i++) {
		if (env.client)
			post(link, {.id = i, .sges = {b.arena.sge(0, 64)}});
		b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
	}
	if (!env.client) {
		pollfd p = {env.device.context()->async_fd, POLLIN, 0};
		require(poll(&p, 1, static_cast<int>(env.limit_s * 1000)) == 1, "no limit event");
		ibv_async_event event;
		require(!ibv_get_async_event(env.device.context(), &event), "get_async_event");
		bool right = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED &&
			     event.element.srq == shared.get();
		ibv_ack_async_event(&event);
		require(right, "event %s instead of SRQ limit",
			ibv_event_type_str(event.event_type));
		// One event per arming: the limit is 0 again.
		require(poll(&p, 1, 200) == 0, "a second limit event");
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"cq/events", events});
	list.push_back({"cq/solicited", solicited});
	list.push_back({"cq/arm-then-poll", arm_then_poll});
	list.push_back({"cq/vectors", vectors});
	list.push_back({"cq/resize", resize});
	list.push_back({"cq/resize-busy", resize_busy});
	list.push_back({"cq/resize-too-small", resize_too_small});
	list.push_back({"cq/timestamps", timestamps});
	list.push_back({"srq/one-qp", [](Env &env) { srq(env, 1, 5000); }});
	list.push_back({"srq/eight-qps", [](Env &env) { srq(env, 8, 2000); }});
	list.push_back({"srq/limit-event", srq_limit});
	list.push_back({"srq/resize", srq_resize});
});

} // namespace
} // namespace vt
