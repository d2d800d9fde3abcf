/* SPDX-License-Identifier: GPL-2.0 */
// One process of vchaos: owns a heap of verbs objects and calls verbs on them at random.
#ifndef TERN_VM_CHAOS_PLAYER_H
#define TERN_VM_CHAOS_PLAYER_H

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "calls.h"
#include "device.h"
#include "objects.h"
#include "scribbler.h"
#include "wild.h"
#include "xrc.h"

namespace vt {

enum Act {
	kMakePd,
	kDropPd,
	kMakeMr,
	kDropMr,
	kRereg,
	kMakeMw,
	kDropMw,
	kMakeCq,
	kDropCq,
	kResizeCq,
	kModerateCq,
	kPollCq,
	kMakeSrq,
	kDropSrq,
	kPostSrq,
	kMakeQp,
	kDropQp,
	kModifyQp,
	kConnect,
	kPostRecv,
	kPostSend,
	kMakeAh,
	kDropAh,
	kMcast,
	kReopen,
	// With memory on demand:
	kMakeOdp,
	kRemap,
	// With rdma_cm:
	kCall,
	kHangUp,
	kDropCall,
	kListen,
	kActs
};

struct Score {
	unsigned done[kActs], refused[kActs];
	unsigned gave_up, said;
	unsigned good;	 // completions
	uint64_t stores; // of scribblers
	bool over;
	unsigned acts() const; // all that were done or refused
	bool is_idle() const;
	void print() const;
};

class Player {
public:
	// hostile: a thread writes random data into its rings, so it may crash or misbehave.
	Player(const DeviceChoice &choice, uint64_t seed, Score *score, bool hostile,
	       bool on_demand);
	~Player();
	// Runs until the score says that the time is over.
	void play();

private:
	void act(Act what);
	void wild_act(Act what, ibv_pd *pd);
	void call_act(Act what, uint64_t dice);
	void take_call_events();
	void open();
	void clear();
	void make_srq(ibv_pd *pd);
	void make_qp();
	ibv_qp *make_target();
	void connect_two();
	uint32_t qp_to_connect();
	void post_recv(ibv_qp *qp, ibv_srq *srq);
	void post_send(ibv_qp *qp);
	uint32_t some_srq_number();
	void poll(ibv_cq *cq);
	ibv_mr *mr_for(const ibv_pd *pd);
	Memory memory_of(const ibv_mr *mr) const;
	bool note(Act what, bool ok);
	uint32_t below(size_t n) { return static_cast<uint32_t>(random_() % n); }
	template <class T> T *random_of(const std::vector<T *> &heap)
	{
		return heap.empty() ? nullptr : heap[below(heap.size())];
	}

	DeviceChoice choice_;
	std::mt19937_64 random_;
	Score *score_;
	bool hostile_, on_demand_;
	std::unique_ptr<Device> device_;
	std::unique_ptr<Scribbler> scribbler_; // of that device's rings; destroyed before it
	std::vector<Act> acts_;		       // that the device has
	Buffer memory_;
	Wild wild_; // on demand
	std::vector<ibv_pd *> pds_;
	std::vector<ibv_mr *> mrs_;
	std::vector<ibv_mw *> mws_;
	Xrcd domain_; // XRC: all players' one
	std::vector<ibv_cq *> cqs_;
	std::vector<ibv_srq *> srqs_;
	std::vector<ibv_qp *> qps_;
	std::vector<ibv_ah *> ahs_;
	std::unique_ptr<Calls> calls_; // iWARP
};

} // namespace vt

#endif
