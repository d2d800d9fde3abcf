// SPDX-License-Identifier: GPL-2.0
/*
 * A model of who runs a RoCE QP (kernel/roce/qp/: lock.h, run.c, peer.c, carry.c): two QPs of one
 * host that deliver to each other, posters that ring only if DRAINING is not
 * set or, with IRQs off or in a completion handler, always and by a work item, one
 * who queries, a softirq that brings packets, and work items, in every interleaving
 * of their steps. A step is what is atomic there: one access to a lock, the marks,
 * the ring or a list. (As if memory were sequentially consistent: barriers are not
 * in it. Nor are timers, which mark and try as posters do, more QPs than two,
 * and the end.)
 *
 * However it goes, in the end nothing that was posted or came is left, no mark, and
 * no QP waits for a lock. Each rule that this hangs on is also switched off: then the
 * search must find a run that is lost, or it proves nothing.
 */
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "search.h"

namespace {

constexpr int kQps = 2;
constexpr int8_t kNone = -1;
constexpr const char *kNoSuchStep = "the model has no such step";

/* What a context does next; the names are those of the functions it is in. */
enum class At : uint8_t {
	kDone,	      /* for good; of a worker: until there is work */
	kPost,	      /* a poster: prod */
	kLookAtFlags, /* rings, or relies on whoever drains */
	kQueryLock,   /* one who queries: waits for the run lock */
	kPacket,      /* roce_qp_rx(): takes the lock, or ... */
	kBacklog,     /* ... roce_backlog_add() */
	kQueueWork,   /* roce_kick(), with IRQs off */
	kMark,	      /* roce_mark_and_order() */
	kTryLock,     /* visit_qp() */
	kTakeMarks,   /* run_qp() */
	kTakeBacklog, /* roce_backlog_take() */
	kLookForWork, /* roce_req_next(): is anything posted, may more be sent? */
	kLockOther,   /* lock_other() */
	kWaitFor,     /* roce_wait_for() */
	kTryOther,    /* the try after it */
	kDeliver,
	kUnlockOther,	 /* roce_run_unlock() of the other */
	kOtherWaiters,	 /* who waited for it */
	kOtherMarks,	 /* what it was left */
	kNoMoreDraining, /* roce_req_rest(): DRAINING off ... */
	kLookAgain,	 /* ... and a look at prod */
	kLeave,		 /* what is left over: a mark, or the work item */
	kUnlock,	 /* roce_run_unlock() */
	kWaiters,
	kMarks,
	kChain, /* run_next() */
};

struct Context {
	At at;
	int8_t qp;	/* being run */
	int8_t next;	/* to be run after it */
	uint8_t todo;	/* posts, or packets, that are to come */
	uint8_t rounds; /* that it goes on by itself */
	bool has_other;
	bool more;	 /* the budget is spent, and there is more */
	bool handed_off; /* to the work item */
	bool queries;	 /* has the lock without running the QP */
	bool irqs_off;	 /* and so always rings, and runs nothing */
	int8_t item;	 /* a worker's: the work item that it is in */
};

/* enum tern_qp_mark */
constexpr uint8_t kMarkSend = 1;
constexpr uint8_t kMarkWork = 2;
constexpr uint8_t kMarkRx = 4;

constexpr int kPosters = 2;
constexpr int kQuery = kPosters;
constexpr int kSoftirq = kQuery + 1;
constexpr int kWorkers = 2;
constexpr int kContexts = kSoftirq + 1 + kWorkers;

struct State {
	std::array<Context, kContexts> c;
	std::array<int8_t, kQps> lock;	  /* whose */
	std::array<uint8_t, kQps> posted; /* and not sent */
	std::array<uint8_t, kQps> backlog;
	std::array<bool, kQps> draining;
	std::array<uint8_t, kQps> marks;
	std::array<int8_t, kQps> waits_for; /* the QP on whose list this one is */
	/* Work items: going on, of each QP; then those of roce_kick_later(). */
	std::array<bool, 2 * kQps> queued;
	std::array<bool, 2 * kQps> executing;
};

/* The rules that can be switched off. */
struct Rules {
	bool mark_what_is_left = true;	  /* before the lock is let go with work left over */
	bool query_looks_at_marks = true; /* whoever queried */
	bool packet_leaves_a_mark = true; /* that joins the backlog */
	bool work_leaves_its_mark = true; /* of its own, if it finds the lock taken */
	bool other_looks_at_marks = true; /* whoever delivered */
	bool look_again = true;		  /* at prod, after DRAINING is off */
	bool run_waiters = true;
};

/* Nothing under way; a poster to QP 0 or 1, or the softirq, goes on with its next. */
Context idle(int who, uint8_t todo, bool irqs_off)
{
	Context c = {};

	c.at = who == kSoftirq ? At::kPacket : At::kPost;
	if (!todo)
		c.at = At::kDone;
	c.qp = who < kPosters ? static_cast<int8_t>(who) : int8_t{0};
	c.next = kNone;
	c.item = kNone;
	c.todo = todo;
	c.irqs_off = irqs_off;
	return c;
}

class Model : public Search<State, kContexts> {
public:
	explicit Model(const Rules &rules) : rules_(rules) {}

private:
	void look_at(State s)
	{
		/* Which worker does what makes no difference. */
		if (memcmp(&s.c[kContexts - 2], &s.c[kContexts - 1], sizeof(Context)) < 0)
			std::swap(s.c[kContexts - 2], s.c[kContexts - 1]);
		visit(s);
	}

	std::string end(const State &s) const override
	{
		for (const Context &c : s.c)
			if (c.at != At::kDone)
				return "somebody waits for ever";
		for (int q = 0; q < kQps; q++) {
			if (s.posted[q])
				return "what was posted is not sent";
			if (s.backlog[q])
				return "a packet waits for ever";
			if (s.waits_for[q] != kNone)
				return "a QP waits for a lock that is free";
			if (s.marks[q])
				return "a mark is left";
		}
		return "";
	}

	/* roce_run_after(): qp is to be run by c, after what it runs now, or by a work item. */
	static void run_after(State *s, Context *c, int8_t qp)
	{
		if (c->next == kNone)
			c->next = qp;
		else if (c->next != qp)
			s->queued[kQps + qp] = true;
	}

	void run_waiters(State *s, Context *c, int8_t of) const
	{
		for (int8_t q = 0; q < kQps && rules_.run_waiters; q++) {
			if (s->waits_for[q] == of) {
				s->waits_for[q] = kNone;
				run_after(s, c, q);
			}
		}
	}

	static void begin_run(Context *c, int8_t qp, At at)
	{
		c->qp = qp;
		c->rounds = 0;
		c->at = at;
	}

	/* All that who can do next. False: nothing, it waits or has ended. */
	bool step(const State &before, int who) override;
	void step_run(State s, int who);

	const Rules rules_;
};

bool Model::step(const State &before, int who)
{
	State s = before;
	Context *c = &s.c[who];
	const int8_t me = static_cast<int8_t>(who);

	switch (c->at) {
	case At::kDone: {
		bool any = false;

		if (who < kContexts - kWorkers)
			return false;
		for (int8_t item = 0; item < 2 * kQps; item++) {
			if (!before.queued[item] || before.executing[item])
				continue;
			s = before;
			s.queued[item] = false;
			s.executing[item] = true;
			c->item = item;
			begin_run(c, item % kQps, At::kMark);
			look_at(s);
			any = true;
		}
		return any;
	}
	case At::kPost:
		c->at = c->irqs_off ? At::kMark : At::kLookAtFlags;
		/* One, or all at once. */
		s.posted[c->qp]++;
		c->todo--;
		look_at(s);
		s.posted[c->qp] += c->todo;
		c->todo = 0;
		break;
	case At::kLookAtFlags:
		if (s.draining[c->qp])
			*c = idle(who, c->todo, false);
		else
			begin_run(c, c->qp, At::kMark);
		break;
	case At::kQueryLock:
		if (s.lock[c->qp] != kNone)
			return false;
		s.lock[c->qp] = me;
		c->queries = true;
		c->at = At::kUnlock;
		break;
	case At::kLockOther:
		/* The one of the higher address is waited for. */
		if (c->qp < 1 - c->qp && s.lock[1 - c->qp] != kNone)
			return false;
		[[fallthrough]];
	default:
		step_run(s, who);
		return true;
	}
	look_at(s);
	return true;
}

void Model::step_run(State s, int who)
{
	Context *c = &s.c[who];
	const int8_t me = static_cast<int8_t>(who);
	const int8_t q = c->qp;
	const auto other = static_cast<int8_t>(1 - q);

	switch (c->at) {
	case At::kPacket:
		c->at = At::kBacklog;
		if (s.lock[q] == kNone) {
			s.lock[q] = me;
			/* Behind those that wait. */
			s.backlog[q] += s.backlog[q] > 0;
			c->todo--;
			c->at = At::kTakeMarks;
		}
		break;
	case At::kBacklog:
		s.backlog[q]++;
		c->todo--;
		c->at = At::kMark;
		break;
	case At::kMark:
		if (who != kSoftirq)
			s.marks[q] |= kMarkSend;
		else if (rules_.packet_leaves_a_mark)
			s.marks[q] |= kMarkRx;
		if (c->item != kNone && c->item < kQps && rules_.work_leaves_its_mark)
			s.marks[q] |= kMarkWork;
		c->at = c->irqs_off ? At::kQueueWork : At::kTryLock;
		break;
	case At::kQueueWork:
		s.queued[q] = true;
		c->at = At::kChain;
		break;
	case At::kTryLock:
		c->at = At::kChain;
		if (s.lock[q] == kNone) {
			s.lock[q] = me;
			c->more = false;
			c->handed_off = false;
			c->at = At::kTakeMarks;
		}
		break;
	case At::kTakeMarks:
		s.marks[q] = 0;
		c->at = At::kTakeBacklog;
		break;
	case At::kTakeBacklog:
		s.backlog[q] = 0;
		c->at = At::kLookForWork;
		break;
	case At::kLookForWork:
		if (!s.posted[q]) {
			c->at = s.draining[q] ? At::kNoMoreDraining : At::kLeave;
		} else {
			s.draining[q] = true;
			c->at = c->more ? At::kLeave : At::kLockOther;
		}
		break;
	case At::kLockOther:
		c->at = At::kWaitFor;
		if (s.lock[other] == kNone) {
			s.lock[other] = me;
			c->at = At::kDeliver;
		}
		break;
	case At::kWaitFor:
		s.waits_for[q] = other;
		c->at = At::kTryOther;
		break;
	case At::kTryOther:
		c->at = At::kLeave; /* nothing more now: who lets go of that lock runs q */
		if (s.lock[other] == kNone) {
			s.lock[other] = me;
			s.waits_for[q] = kNone;
			c->at = At::kDeliver;
		}
		break;
	case At::kDeliver:
		s.posted[q]--;
		c->more = true; /* a budget of one, if there is more */
		c->at = At::kUnlockOther;
		break;
	case At::kUnlockOther:
		s.lock[other] = kNone;
		c->at = At::kOtherWaiters;
		break;
	case At::kOtherWaiters:
		run_waiters(&s, c, other);
		c->at = At::kOtherMarks;
		break;
	case At::kOtherMarks:
		if (s.marks[other] && rules_.other_looks_at_marks)
			run_after(&s, c, other);
		c->at = At::kLookForWork;
		break;
	case At::kNoMoreDraining:
		s.draining[q] = false;
		c->more = false;
		c->at = rules_.look_again ? At::kLookAgain : At::kLeave;
		break;
	case At::kLookAgain:
		if (s.posted[q])
			s.draining[q] = true;
		c->at = s.posted[q] ? At::kLockOther : At::kLeave;
		break;
	case At::kLeave: {
		const bool more = c->more && s.draining[q];

		c->more = false;
		c->at = At::kUnlock;
		if (more && who < kPosters && c->rounds < 1) {
			/*
			 * may_go_on() says yes (once is enough here); or no, for there is somebody
			 * else to be run, or a signal.
			 */
			State by_item = s;

			by_item.queued[q] = true;
			by_item.c[who].handed_off = true;
			look_at(by_item);
			c->rounds++;
			c->more = true;
			if (rules_.mark_what_is_left)
				s.marks[q] |= kMarkSend;
		} else if (more) {
			s.queued[q] = true;
			c->handed_off = true;
		}
		break;
	}
	case At::kUnlock:
		s.lock[q] = kNone;
		c->at = At::kWaiters;
		break;
	case At::kWaiters:
		run_waiters(&s, c, q);
		c->at = At::kMarks;
		break;
	case At::kMarks: {
		/* Without the rule: as whoever knows by himself that he wanted to go on. */
		const bool by_itself = c->more && !rules_.mark_what_is_left;
		const uint8_t wanted = c->handed_off ? kMarkWork : kMarkWork | kMarkSend | kMarkRx;
		const bool looks = !c->queries || rules_.query_looks_at_marks;

		c->queries = false;
		c->at = by_itself || (looks && s.marks[q] & wanted) ? At::kTryLock : At::kChain;
		break;
	}
	case At::kChain:
		if (c->next != kNone) {
			begin_run(c, c->next, At::kMark);
			c->next = kNone;
			break;
		}
		if (c->item != kNone)
			s.executing[c->item] = false;
		*c = idle(who, c->todo, c->irqs_off);
		break;
	default:
		wrong(kNoSuchStep);
	}
	look_at(s);
}

/* Who takes part. Some thousand states each: few enough to look at all. */
struct Scene {
	const char *what;
	uint8_t posts[kPosters]; /* to QP 0 and 1 */
	bool query;		 /* of QP 0 */
	uint8_t packets;	 /* to QP 0 */
	bool irqs_off;		 /* the poster to QP 0 */
};

constexpr Scene kScenes[] = {
	{"three posts to the QP that waits for locks, and a query", {3, 0}, true, 0, false},
	{"three posts to the QP that tries them, and a query", {0, 3}, true, 0, false},
	{"a post to each, and a query", {1, 1}, true, 0, false},
	{"two and one", {2, 1}, false, 0, false},
	{"one and two", {1, 2}, false, 0, false},
	{"packets, a query, and posts", {2, 0}, true, 2, false},
	{"packets, and the other's posts", {0, 2}, false, 2, false},
	{"posts with IRQs off, and a query", {2, 0}, true, 0, true},
	{"posts with IRQs off, a packet, and the other's", {1, 1}, false, 1, true},
};

State start(const Scene &scene)
{
	State s;

	memset(&s, 0, sizeof(s));
	for (int i = 0; i < kContexts; i++)
		s.c[i] = idle(i, i < kPosters ? scene.posts[i] : 0, !i && scene.irqs_off);
	s.c[kSoftirq] = idle(kSoftirq, scene.packets, false);
	if (scene.query)
		s.c[kQuery].at = At::kQueryLock;
	s.lock.fill(kNone);
	s.waits_for.fill(kNone);
	return s;
}

TEST(RunLock, NoRunIsLost)
{
	for (const Scene &scene : kScenes) {
		Model model{Rules{}};

		EXPECT_EQ(model.run(start(scene)), "") << scene.what;
		EXPECT_GT(model.states(), 1000u) << scene.what;
	}
}

/* The search finds the fault if the rule is not kept. */
void expect_lost(const Rules &rules)
{
	for (const Scene &scene : kScenes) {
		const std::string wrong = Model{rules}.run(start(scene));

		if (!wrong.empty()) {
			EXPECT_NE(wrong, kNoSuchStep) << scene.what;
			return;
		}
	}
	FAIL() << "no run is lost";
}

TEST(RunLock, WorkLeftWithoutAMarkIsLost)
{
	expect_lost({.mark_what_is_left = false});
}

TEST(RunLock, QueryThatLooksAtNoMarksLosesARun)
{
	expect_lost({.query_looks_at_marks = false});
}

TEST(RunLock, PacketInTheBacklogWithoutAMarkIsLost)
{
	expect_lost({.packet_leaves_a_mark = false});
}

TEST(RunLock, WorkItemThatFindsTheLockTakenByWhoeverQueuedItIsLost)
{
	expect_lost({.work_leaves_its_mark = false});
}

TEST(RunLock, DeliveryThatLooksAtNoMarksLosesARun)
{
	expect_lost({.other_looks_at_marks = false});
}

TEST(RunLock, DrainingSwitchedOffWithoutALookLosesARun)
{
	expect_lost({.look_again = false});
}

TEST(RunLock, WaitersThatNobodyRunsAreLost)
{
	expect_lost({.run_waiters = false});
}

} // namespace
