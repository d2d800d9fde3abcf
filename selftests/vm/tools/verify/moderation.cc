// SPDX-License-Identifier: GPL-2.0
// Moderation of a CQ's events: by number, by time, at once where the standard wants it, and
// none is lost. What is to happen at once is slow now and then on a busy machine, so it has
// several tries.
#include <cerrno>
#include <cstring>

#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr uint16_t kMost = 65535;
constexpr int kTries = 20;

int try_moderate(const Cq &cq, uint32_t mask, uint16_t count, uint16_t period_us)
{
	ibv_modify_cq_attr attr = {mask, {count, period_us}};
	return ibv_modify_cq(cq.get(), &attr);
}

// The server receives, and has the CQ that is moderated.
struct ModeratedBench : Bench {
	ModeratedBench(Env &e, uint16_t count, uint16_t period_us, const LinkOptions &options = {})
		: Bench(e, options, 65536, with_events())
	{
		int error = try_moderate(cq, IBV_CQ_ATTR_MODERATE, count, period_us);
		env.both_need(!means_unsupported(error), "ibv_modify_cq");
		require(!error, "ibv_modify_cq: %s", strerror(error));
	}
	void moderate(uint16_t count, uint16_t period_us)
	{
		int error = try_moderate(cq, IBV_CQ_ATTR_MODERATE, count, period_us);
		require(!error, "ibv_modify_cq: %s", strerror(error));
	}
	// That many messages. The server gets an event for them: after how many seconds?
	double event_after(uint32_t messages, unsigned flags, bool solicited_only)
	{
		double began = now_s(), took = 0;
		for (uint64_t i = 0; !env.client && i < messages; i++)
			post_recv(link, i, {arena.sge(4096, 128)});
		if (!env.client)
			cq.arm(solicited_only);
		env.control.sync();
		for (uint64_t i = 0; env.client && i < messages; i++)
			post(link, {.id = i,
				    .flags = IBV_SEND_SIGNALED | flags,
				    .sges = {arena.sge(0, 64)}});
		if (!env.client) {
			require(cq.wait_event(env.limit_s), "the event was lost");
			took = now_s() - began;
		}
		return took;
	}
	void drain(uint32_t messages)
	{
		for (uint64_t i = 0; i < messages; i++)
			cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
		require(env.client || !cq.wait_event(0), "a second event for one arming");
		env.control.sync();
	}
	// True at both ends if it is true at the server.
	bool server_says(bool here)
	{
		uint32_t mine = !env.client && here;
		return env.control.exchange(mine) || mine;
	}
	// Does the server's event come before the period ends, in one of several tries?
	bool comes_early(uint32_t messages, unsigned flags, bool solicited_only)
	{
		bool early = false;
		for (int i = 0; i < kTries && !early; i++) {
			bool here = event_after(messages, flags, solicited_only) < kMost * 1e-6;
			// The event is that of the last one.
			Completion c;
			for (uint64_t id = 0; here && !env.client && id < messages; id++)
				require(cq.poll(&c) && c.wr_id == id, "an event after %lu of %u",
					id, messages);
			early = server_says(here);
			drain(early && !env.client ? 0 : messages);
		}
		return early;
	}

private:
	static CqOptions with_events()
	{
		CqOptions options;
		options.entries = 4096; // more than a slow end may have to poll
		options.events = true;
		return options;
	}
};

void limits(Env &env)
{
	ModeratedBench b(env, 0, 0);
	const ibv_cq_moderation_caps &caps = env.device.attr_ex().cq_mod_caps;
	require(caps.max_cq_count == kMost && caps.max_cq_period == kMost, "limits %u, %u us",
		caps.max_cq_count, caps.max_cq_period);
	b.moderate(kMost, kMost);
	for (uint32_t mask : {0u, 1u << 1, IBV_CQ_ATTR_MODERATE | 1u << 31}) {
		int error = try_moderate(b.cq, mask, 1, 1);
		require(error == EOPNOTSUPP || error == EINVAL, "mask %#x: %s", mask,
			strerror(error));
	}
}

void by_count(Env &env)
{
	ModeratedBench b(env, 4, kMost);
	require(b.comes_early(4, 0, false), "no event for the number of completions");
}

// Fewer messages than the number: the event comes when the period is over, and not before.
void by_time(Env &env)
{
	constexpr uint16_t kPeriodUs = 20000;
	ModeratedBench b(env, 100, kPeriodUs);
	for (uint32_t messages : {1u, 3u, 50u}) {
		double took = b.event_after(messages, 0, false);
		require(env.client || took > 0.9e-6 * kPeriodUs, "an event after %.3g s", took);
		b.drain(messages);
	}
}

void solicited(Env &env)
{
	ModeratedBench b(env, kMost, kMost);
	for (bool solicited_only : {true, false})
		require(b.comes_early(1, IBV_SEND_SOLICITED, solicited_only),
			"no event at once for a solicited message");
}

// An event that waits comes when the moderation ends, and further ones do not wait.
void switched_off(Env &env)
{
	ModeratedBench b(env, kMost, kMost);
	bool early = false;
	for (int i = 0; i < kTries && !early; i++) {
		b.moderate(kMost, kMost);
		if (!env.client) {
			post_recv(b.link, 0, {b.arena.sge(4096, 128)});
			b.cq.arm(false);
		}
		double began = now_s();
		env.control.sync();
		if (env.client)
			post(b.link, {.sges = {b.arena.sge(0, 64)}});
		b.cq.expect(IBV_WC_SUCCESS, 0, env.limit_s);
		b.moderate(0, kMost);
		require(env.client || b.cq.wait_event(env.limit_s), "the event was lost");
		early = b.server_says(now_s() - began < kMost * 1e-6);
	}
	require(early, "it did not come at once");
	require(b.comes_early(1, 0, false), "moderation is not over");
}

// The loop of every event-driven program, with moderation: no wake-up is lost.
void loop(Env &env)
{
	constexpr uint32_t kMessages = 4000;
	LinkOptions options;
	options.recv_wr = kMessages;
	ModeratedBench b(env, 16, 300, options);
	for (uint64_t i = 0; !env.client && i < kMessages; i++)
		post_recv(b.link, i, {b.arena.sge(4096, 128)});
	env.control.sync();
	if (env.client) {
		for (uint64_t i = 0, done = 0; done < kMessages;) {
			// Bursts of all lengths, with an end that fills no number.
			for (uint64_t burst = 1 + i % 37; burst && i < kMessages; burst--, i++)
				post(b.link, {.id = i, .sges = {b.arena.sge(0, 64)}});
			for (; done < i; done++)
				b.cq.expect(IBV_WC_SUCCESS, done, env.limit_s);
		}
	}
	for (uint64_t seen = 0; !env.client && seen < kMessages;) {
		b.cq.arm(false);
		uint64_t before = seen;
		Completion c;
		while (b.cq.poll(&c)) {
			require_success(c, "receive");
			require(c.wr_id == seen++, "order");
		}
		if (seen == before)
			require(b.cq.wait_event(env.limit_s), "a wake-up was lost after %lu", seen);
	}
	env.control.sync();
}

// The CQ goes while an event waits.
void destroyed(Env &env)
{
	for (uint16_t i = 0; i < 30; i++) {
		ModeratedBench b(env, kMost, static_cast<uint16_t>(1 + i * 20));
		if (!env.client) {
			post_recv(b.link, 0, {b.arena.sge(4096, 128)});
			b.cq.arm(false);
		}
		env.control.sync();
		if (env.client)
			post(b.link, {.sges = {b.arena.sge(0, 64)}});
		b.cq.expect(IBV_WC_SUCCESS, 0, env.limit_s);
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"cq/moderation-limits", limits});
	list.push_back({"cq/moderated-by-number", by_count});
	list.push_back({"cq/moderated-by-time", by_time});
	list.push_back({"cq/moderated-solicited", solicited});
	list.push_back({"cq/moderation-ends", switched_off});
	list.push_back({"cq/moderated-loop", loop});
	list.push_back({"cq/moderated-destroy", destroyed});
});

} // namespace
} // namespace vt
