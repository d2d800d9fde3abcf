// SPDX-License-Identifier: GPL-2.0
/*
 * A model of who runs an iWARP QP (kernel/iwarp/exec.c): a QP that is being connected, posters who
 * ring only if DRAINING is not set, TCP's acknowledges in softirqs, a process that has the socket for
 * a while, and the work item, in every interleaving of their steps. A step is what is atomic there:
 * one access to a lock, the ring or the socket. (As if memory were sequentially consistent; but a
 * kernel consumer, who posts without a barrier, may look for the socket before he has posted.)
 *
 * However it goes, in the end nothing that was posted is left. Each rule that this hangs on is also
 * switched off: then the search must find a run that is lost, or it proves nothing.
 */
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "search.h"

namespace {

constexpr int8_t kNone = -1;

/* What a context does next; the names are those of the functions it is in. */
enum class At : uint8_t {
	kDone,		 /* for good; of softirq and worker: until there is work */
	kLookEarly,	 /* a kernel consumer: is there a socket? */
	kPost,		 /* prod */
	kLookAtFlags,	 /* a program: rings, or relies on whoever drains */
	kLook,		 /* iw_kick(): is there a socket? */
	kSpinLock,	 /* iw_kick(), softirqs: the socket's spinlock */
	kTaken,		 /* by a process: the work item, or the backlog */
	kStart,		 /* iw_qp_start() */
	kLockSock,	 /* lock_sock() */
	kAcked,		 /* tcp_check_space() */
	kRunLock,	 /* iw_run() */
	kRun,		 /* run_locked() */
	kSend,		 /* tx_run() */
	kNoMoreDraining, /* the same: nothing posted, DRAINING off ... */
	kLookAgain,	 /* ... and a look at prod */
	kRunUnlock,
	kSpinUnlock,
	kReleaseSock, /* release_sock() */
};

/* Who takes part. */
enum Who : int8_t { kProgram, kConsumer, kConnector, kProcess, kSoftirq, kWorker, kContexts };

struct Context {
	At at;
	uint8_t todo; /* posts, or turns, that are to come */
	bool has_sk;  /* what it found */
	bool more;    /* the budget is spent, and there is more */
};

struct State {
	std::array<Context, kContexts> c;
	int8_t run_lock;   /* whose */
	int8_t spinlock;   /* the socket's */
	int8_t owner;	   /* the socket's, a process */
	uint8_t posted;	   /* and not sent */
	uint8_t under_way; /* and not acknowledged */
	uint8_t room;	   /* TCP's */
	uint8_t backlog;   /* acknowledges that came while it had an owner */
	bool no_space;	   /* SOCK_NOSPACE */
	bool draining;
	bool has_sk; /* the QP, and is ready */
	bool queued; /* its work item */
};

/* The rules that can be switched off. */
struct Rules {
	bool ready_without_socket_hands_off = true; /* it has one since */
	bool taken_socket_hands_off = true;
	bool budget_hands_off = true;
	bool no_room_asks_for_it = true;
	bool look_again = true; /* at prod, after DRAINING is off */
};

class Model : public Search<State> {
public:
	explicit Model(const Rules &rules) : rules_(rules) {}

private:
	bool expand(const State &s) override
	{
		bool any = false;

		for (int8_t who = 0; who < kContexts; who++)
			any |= step(s, who);
		return any;
	}

	std::string end(const State &s) const override
	{
		for (const Context &c : s.c)
			if (c.at != At::kDone)
				return "somebody waits for ever";
		if (s.posted)
			return "what was posted is not sent";
		return s.backlog ? "what came is not looked at" : "";
	}

	/* Behind iw_run(): what the caller does next. */
	static At after_run(const State &s, int8_t who)
	{
		if (s.owner == who)
			return At::kReleaseSock;
		return s.spinlock == who ? At::kSpinUnlock : At::kDone;
	}

	/* The next post, if there is one. */
	static void next_post(Context *c, int8_t who)
	{
		c->at = At::kDone;
		if (c->todo)
			c->at = who == kConsumer ? At::kLookEarly : At::kPost;
	}

	static bool begin(State *s, int8_t who);
	bool step(State s, int8_t who);
	void step_run(State *s, int8_t who);

	const Rules rules_;
};

/* Of softirq and worker. False: there is nothing to do. */
bool Model::begin(State *s, int8_t who)
{
	Context *c = &s->c[who];

	if (who == kSoftirq && s->under_way) {
		s->under_way--;
		c->at = At::kSpinLock;
		return true;
	}
	if (who == kWorker && s->queued) {
		s->queued = false;
		c->has_sk = s->has_sk;
		c->at = c->has_sk ? At::kLockSock : At::kRunLock;
		return true;
	}
	return false;
}

bool Model::step(State s, int8_t who)
{
	Context *c = &s.c[who];

	switch (c->at) {
	case At::kDone:
		if (!begin(&s, who))
			return false;
		break;
	case At::kLookEarly:
		c->has_sk = s.has_sk;
		c->at = At::kPost;
		break;
	case At::kPost:
		s.posted++;
		c->todo--;
		c->at = who == kProgram ? At::kLookAtFlags :
			c->has_sk	? At::kSpinLock :
					  At::kRunLock;
		break;
	case At::kLookAtFlags:
		c->at = At::kLook;
		if (s.draining)
			next_post(c, who);
		break;
	case At::kLook:
		c->has_sk = s.has_sk;
		c->at = c->has_sk ? At::kSpinLock : At::kRunLock;
		break;
	case At::kSpinLock:
		if (s.spinlock != kNone)
			return false;
		s.spinlock = who;
		c->at = s.owner != kNone ? At::kTaken : who == kSoftirq ? At::kAcked : At::kRunLock;
		break;
	case At::kTaken:
		if (who == kSoftirq)
			s.backlog++;
		else if (rules_.taken_socket_hands_off)
			s.queued = true;
		c->at = At::kSpinUnlock;
		break;
	case At::kSpinUnlock:
		s.spinlock = kNone;
		next_post(c, who);
		break;
	case At::kStart:
		if (s.run_lock != kNone)
			return false;
		s.has_sk = true;
		c->has_sk = true;
		c->at = At::kLockSock;
		break;
	case At::kLockSock:
		if (s.spinlock != kNone || s.owner != kNone)
			return false;
		s.owner = who;
		c->at = who == kProcess ? At::kReleaseSock : At::kRunLock;
		break;
	case At::kReleaseSock:
		if (s.spinlock != kNone)
			return false;
		if (s.backlog) {
			s.backlog--;
			c->at = At::kAcked;
			break;
		}
		s.owner = kNone;
		c->at = At::kDone;
		if (who == kProcess && --c->todo)
			c->at = At::kLockSock;
		break;
	case At::kAcked:
		s.room++;
		c->at = s.no_space ? At::kRunLock : after_run(s, who);
		c->has_sk = true;
		s.no_space = false;
		break;
	case At::kRunLock:
		if (s.run_lock != kNone)
			return false;
		s.run_lock = who;
		c->at = At::kRun;
		break;
	default:
		step_run(&s, who);
	}
	visit(s);
	return true;
}

void Model::step_run(State *s, int8_t who)
{
	Context *c = &s->c[who];

	switch (c->at) {
	case At::kRun:
		c->more = false;
		c->at = At::kRunUnlock;
		if (!s->has_sk)
			break;
		if (!c->has_sk) {
			s->queued |= rules_.ready_without_socket_hands_off;
			break;
		}
		if (s->draining || s->posted) {
			s->draining = true;
			c->at = At::kSend;
		}
		break;
	case At::kSend:
		c->at = At::kRunUnlock;
		if (!s->posted) {
			c->at = At::kNoMoreDraining;
		} else if (!s->room) {
			s->no_space = rules_.no_room_asks_for_it;
		} else if (c->more) {
			s->queued |= rules_.budget_hands_off;
		} else {
			s->posted--;
			s->room--;
			s->under_way++;
			c->more = true; /* a budget of one */
			c->at = At::kSend;
		}
		break;
	case At::kNoMoreDraining:
		s->draining = false;
		c->at = rules_.look_again ? At::kLookAgain : At::kRunUnlock;
		break;
	case At::kLookAgain:
		c->at = s->posted ? At::kSend : At::kRunUnlock;
		s->draining = s->posted;
		break;
	case At::kRunUnlock:
		s->run_lock = kNone;
		c->more = false;
		c->has_sk = false;
		c->at = after_run(*s, who);
		if (c->at == At::kDone)
			next_post(c, who);
		break;
	default:
		wrong("the model has no such step");
	}
}

struct Scene {
	const char *what;
	uint8_t program, consumer; /* their posts */
	uint8_t process;	   /* how often it has the socket */
	uint8_t room;		   /* at first */
};

constexpr Scene kScenes[] = {
	{"a program, room for one, and a process", 3, 0, 2, 1},
	{"a program, room for more", 3, 0, 1, 2},
	{"a consumer", 0, 3, 1, 1},
	{"both", 1, 1, 1, 1},
};

State start(const Scene &scene)
{
	State s;

	memset(&s, 0, sizeof(s));
	s.c[kProgram] = {scene.program ? At::kPost : At::kDone, scene.program, false, false};
	s.c[kConsumer] = {scene.consumer ? At::kLookEarly : At::kDone, scene.consumer, false,
			  false};
	s.c[kConnector].at = At::kStart;
	s.c[kProcess] = {scene.process ? At::kLockSock : At::kDone, scene.process, false, false};
	s.run_lock = kNone;
	s.spinlock = kNone;
	s.owner = kNone;
	s.room = scene.room;
	return s;
}

TEST(IwRun, NoRunIsLost)
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
	for (const Scene &scene : kScenes)
		if (!Model{rules}.run(start(scene)).empty())
			return;
	FAIL() << "no run is lost";
}

TEST(IwRun, SocketThatIsThereSinceIsLost)
{
	expect_lost({.ready_without_socket_hands_off = false});
}

TEST(IwRun, PostThatFindsTheSocketTakenIsLost)
{
	expect_lost({.taken_socket_hands_off = false});
}

TEST(IwRun, WorkBeyondTheBudgetIsLost)
{
	expect_lost({.budget_hands_off = false});
}

TEST(IwRun, RoomThatNobodyAskedForLosesARun)
{
	expect_lost({.no_room_asks_for_it = false});
}

TEST(IwRun, DrainingSwitchedOffWithoutALookLosesARun)
{
	expect_lost({.look_again = false});
}

} // namespace
