// SPDX-License-Identifier: GPL-2.0
/*
 * A model of who runs an iWARP QP (kernel/iwarp/stream/run.c): a QP that is being connected
 * (stream/start.c, cm/callbacks.c), posters that ring only if DRAINING is not set, TCP's
 * acknowledges and the peer's bytes in softirqs, a process that owns the socket for a while, and
 * the work item, in every interleaving of their steps. A step is what is atomic there: one access
 * to a lock, the ring or the socket; in a run, which has its locks, what no other context does at
 * the same time is one with the access before. (As if memory were sequentially consistent; but a
 * kernel consumer, which posts without a barrier, may look for the socket before it has posted.)
 * Not in it: grants, receive WQEs that are missing, the end.
 *
 * In every order, nothing that was posted is left in the end, and all that came was looked at.
 * Each rule that this depends on is also switched off: then the search must find a run that is
 * lost, or it proves nothing.
 */
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "search.h"

namespace {

constexpr int8_t kNone = -1;

constexpr const char *kNotSent = "what was posted is not sent";
constexpr const char *kNotLookedAt = "what came is not looked at";
constexpr const char *kWaits = "somebody waits for ever";

/* What a context does next; the names are those of the functions it is in. */
enum class At : uint8_t {
	kDone,		 /* for good; of softirqs and worker: until there is work */
	kLookEarly,	 /* a kernel consumer: is there a socket? */
	kPost,		 /* prod */
	kLookAtFlags,	 /* a program: rings, or relies on whoever drains */
	kLook,		 /* iw_kick(): is there a socket? */
	kSpinLock,	 /* iw_kick(), softirqs: the socket's spinlock */
	kLater,		 /* softirqs: a process owns the socket, so into the backlog */
	kStart,		 /* iw_qp_start() */
	kAttach,	 /* iw_callbacks_attach_data() */
	kLockSock,	 /* lock_sock(); of those who run iw_sock_lock() */
	kAcked,		 /* tcp_check_space() */
	kCame,		 /* tcp_data_ready() */
	kRunLock,	 /* iw_run() */
	kRun,		 /* run_locked() */
	kSend,		 /* send_all() in stream/tx.c */
	kNoMoreDraining, /* the same: nothing posted, DRAINING off ... */
	kLookAgain,	 /* ... and a look at prod */
	kRunUnlock,
	kSpinUnlock,
	kReleaseSock, /* release_sock() */
};

/* Who takes part. */
enum Who : int8_t { kProgram, kConsumer, kConnector, kProcess, kAcks, kBytes, kWorker, kContexts };

struct Context {
	At at;
	uint8_t todo; /* posts, packets, or times that it has the socket, which are to come */
	bool has_sk;  /* what it found */
	bool looks;   /* at what came in: iw_rx() */
	bool more;    /* the budget is spent, and there is more */
};

struct State {
	std::array<Context, kContexts> c;
	int8_t run_lock;     /* whose */
	int8_t spinlock;     /* the socket's */
	int8_t owner;	     /* the socket's, a process */
	uint8_t posted;	     /* and not sent */
	uint8_t under_way;   /* and not acknowledged */
	uint8_t room;	     /* TCP's */
	uint8_t came;	     /* and was not looked at */
	uint8_t acks_later;  /* in the backlog, for it had an owner */
	uint8_t bytes_later; /* the same */
	bool no_space;	     /* SOCK_NOSPACE */
	bool draining;
	bool has_sk;   /* the QP, and is ready */
	bool attached; /* TCP's callbacks are the QP's */
	bool queued;   /* its work item */
};

/* The rules that can be switched off. */
struct Rules {
	bool ready_without_socket_hands_off = true; /* it has one since */
	bool taken_socket_hands_off = true;	    /* to whom it is not the process that owns it */
	bool backlog_hands_off = true;		    /* that its owner empties */
	bool owner_does_not_run = true; /* else TCP looks at its backlog while it is given some */
	bool budget_hands_off = true;
	bool no_room_asks_for_it = true;
	bool look_again = true; /* at prod, after DRAINING is off */
	bool run_once_attached = true;
};

class Model : public Search<State, kContexts> {
public:
	explicit Model(const Rules &rules) : rules_(rules) {}

private:
	std::string end(const State &s) const override
	{
		for (const Context &c : s.c)
			if (c.at != At::kDone)
				return kWaits;
		if (s.posted)
			return kNotSent;
		return s.came ? kNotLookedAt : "";
	}

	/* Behind iw_run(), or where none is needed. */
	static void leave(State *s, int8_t who)
	{
		Context *c = &s->c[who];

		if (s->owner == who)
			c->at = At::kReleaseSock;
		else if (s->spinlock == who)
			c->at = At::kSpinUnlock;
		else
			next(c, who);
	}

	/* The next post, if there is one. */
	static void next(Context *c, int8_t who)
	{
		c->at = At::kDone;
		if (c->todo && who == kProgram)
			c->at = At::kPost;
		else if (c->todo && who == kConsumer)
			c->at = At::kLookEarly;
	}

	static bool begin(State *s, int8_t who);
	bool step(const State &before, int context) override;
	void step_run(State *s, int8_t who);

	const Rules rules_;
};

/* Of softirqs and worker. False: there is nothing to do. */
bool Model::begin(State *s, int8_t who)
{
	Context *c = &s->c[who];

	if (who == kAcks && s->under_way) {
		s->under_way--;
		c->at = At::kSpinLock;
		return true;
	}
	if (who == kBytes && c->todo) {
		c->todo--;
		c->at = At::kSpinLock;
		return true;
	}
	if (who == kWorker && s->queued) {
		s->queued = false;
		c->has_sk = s->has_sk;
		c->looks = true;
		c->at = c->has_sk ? At::kLockSock : At::kRunLock;
		return true;
	}
	return false;
}

bool Model::step(const State &before, int context)
{
	const auto who = static_cast<int8_t>(context);
	State s = before;
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
		c->at = At::kLookAtFlags;
		if (who == kConsumer)
			c->at = c->has_sk ? At::kSpinLock : At::kRunLock;
		break;
	case At::kLookAtFlags:
		c->at = At::kLook;
		if (s.draining)
			next(c, who);
		break;
	case At::kLook:
		c->has_sk = s.has_sk;
		c->at = c->has_sk ? At::kSpinLock : At::kRunLock;
		break;
	case At::kSpinLock:
		if (s.spinlock != kNone)
			return false;
		s.spinlock = who;
		c->at = At::kRunLock;
		if (who == kAcks)
			c->at = s.owner == kNone ? At::kAcked : At::kLater;
		else if (who == kBytes)
			c->at = s.owner == kNone ? At::kCame : At::kLater;
		break;
	case At::kLater:
		s.acks_later += who == kAcks;
		s.bytes_later += who == kBytes;
		c->at = At::kSpinUnlock;
		break;
	case At::kSpinUnlock:
		s.spinlock = kNone;
		next(c, who);
		break;
	case At::kStart:
		if (s.run_lock != kNone)
			return false;
		s.has_sk = true;
		c->has_sk = true;
		c->looks = true;
		c->at = At::kAttach;
		break;
	case At::kAttach:
		s.attached = true;
		c->at = rules_.run_once_attached ? At::kLockSock : At::kDone;
		break;
	case At::kLockSock:
		if (s.spinlock != kNone || s.owner != kNone)
			return false;
		(who == kProcess ? s.owner : s.spinlock) = who;
		c->at = who == kProcess ? At::kReleaseSock : At::kRunLock;
		break;
	case At::kReleaseSock:
		if (s.spinlock != kNone)
			return false;
		if (s.acks_later) {
			s.acks_later--;
			c->at = At::kAcked;
		} else if (s.bytes_later) {
			s.bytes_later--;
			c->at = At::kCame;
		} else {
			s.owner = kNone;
			c->at = --c->todo ? At::kLockSock : At::kDone;
		}
		break;
	case At::kAcked:
		s.room++;
		c->has_sk = true;
		c->looks = false;
		c->at = At::kRunLock;
		if (!s.no_space || !s.attached)
			leave(&s, who);
		s.no_space &= !s.attached;
		break;
	case At::kCame:
		s.came++;
		c->has_sk = true;
		c->looks = true;
		c->at = At::kRunLock;
		if (!s.attached)
			leave(&s, who);
		break;
	case At::kRunLock:
		if (s.run_lock != kNone)
			return false;
		s.run_lock = who;
		c->at = At::kRun;
		break;
	default:
		/* Then TCP looks at the backlog, if there is any. */
		if (c->at == At::kSend && s.owner == who && s.acks_later + s.bytes_later) {
			if (s.spinlock != kNone)
				return false;
			s.room += s.acks_later;
			s.came += s.bytes_later;
			s.acks_later = 0;
			s.bytes_later = 0;
		}
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
		if (s->owner == who && rules_.owner_does_not_run) {
			s->queued |= rules_.backlog_hands_off;
			break;
		}
		if (s->owner != kNone && s->owner != who) {
			s->queued |= rules_.taken_socket_hands_off;
			break;
		}
		if (c->looks)
			s->came = 0;
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
		c->looks = false;
		leave(s, who);
		break;
	default:
		wrong("the model has no such step");
	}
}

struct Scene {
	const char *what;
	uint8_t program, consumer; /* their posts */
	uint8_t process;	   /* how often it has the socket */
	uint8_t bytes;		   /* the peer's packets */
	uint8_t room;		   /* at first */
};

constexpr Scene kScenes[] = {
	{"a program, and a process", 3, 0, 1, 0, 1},
	{"a program, room for more", 3, 0, 0, 0, 2},
	{"a program, and the peer's packets", 2, 0, 0, 1, 1},
	{"a consumer", 0, 2, 1, 0, 1},
	{"both", 1, 1, 0, 0, 1},
};

State start(const Scene &scene)
{
	State s;

	memset(&s, 0, sizeof(s));
	s.c[kProgram].todo = scene.program;
	s.c[kProgram].at = scene.program ? At::kPost : At::kDone;
	s.c[kConsumer].todo = scene.consumer;
	s.c[kConsumer].at = scene.consumer ? At::kLookEarly : At::kDone;
	s.c[kConnector].at = At::kStart;
	s.c[kProcess].todo = scene.process;
	s.c[kProcess].at = scene.process ? At::kLockSock : At::kDone;
	s.c[kBytes].todo = scene.bytes;
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

/* The search finds that fault if the rule is not kept. */
void expect_lost(const Rules &rules, const char *what)
{
	for (const Scene &scene : kScenes) {
		const std::string wrong = Model{rules}.run(start(scene));

		if (!wrong.empty()) {
			EXPECT_EQ(wrong, what) << scene.what;
			return;
		}
	}
	FAIL() << "no run is lost";
}

TEST(IwRun, SocketThatIsThereSinceIsLost)
{
	expect_lost({.ready_without_socket_hands_off = false}, kNotSent);
}

TEST(IwRun, PostThatFindsTheSocketTakenIsLost)
{
	expect_lost({.taken_socket_hands_off = false}, kNotSent);
}

TEST(IwRun, WorkBeyondTheBudgetIsLost)
{
	expect_lost({.budget_hands_off = false}, kNotSent);
}

TEST(IwRun, RoomThatNobodyAskedForLosesARun)
{
	expect_lost({.no_room_asks_for_it = false}, kNotSent);
}

TEST(IwRun, DrainingSwitchedOffWithoutALookLosesARun)
{
	expect_lost({.look_again = false}, kNotSent);
}

TEST(IwRun, BacklogThatIsNotHandedOffIsLost)
{
	expect_lost({.backlog_hands_off = false}, kNotSent);
}

TEST(IwRun, OwnerThatRunsWaitsForThePosterWhoWaitsForHim)
{
	expect_lost({.owner_does_not_run = false}, kWaits);
}

TEST(IwRun, NobodyLooksAtWhatCameBeforeCallbacksAreThere)
{
	expect_lost({.run_once_attached = false}, kNotSent);
}

} // namespace
