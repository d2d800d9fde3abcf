/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of a connection, as in a driver: exchanges MPA's start-up frames, turns the engines'
 * segments into FPDUs and FPDUs into segments, and ends the stream after an error.
 */
#ifndef TERN_SIM_IW_ENDPOINT_H
#define TERN_SIM_IW_ENDPOINT_H

#include <memory>

#include "fpdu.h"
#include "requester.h"
#include "responder.h"
#include "stream.h"

namespace sim {

class Endpoint {
public:
	Endpoint(World &world, int index, const EndCfg &cfg, const StreamCfg &stream,
		 uint64_t seed);
	/* The responder needs the peer's ledger, so connect when both endpoints exist. */
	void connect(Endpoint &peer);

	/* From the streams: bytes, room, the end. */
	void receive(const uint8_t *p, uint32_t n);
	void room_made();
	void lost();

	void service();
	void wake(uint64_t at_ns);
	void check_end();

	Requester req;
	std::unique_ptr<Responder> resp;
	Stream out;
	struct mpa_terms terms = {};
	bool running = false; /* start-up succeeded */
	bool refused = false; /* start-up failed */
	bool dead = false;
	int detected = TERM_NONE; /* we terminated the stream with this */
	uint64_t sent = 0;	  /* segments */

private:
	bool is_initiator() const { return !(index_ & 1); }
	void send_frame(struct mpa_frame *f);
	void start_up();
	void run();
	void follow_mss();
	void handle();
	void terminate(int code, const uint8_t *p, uint32_t have, uint32_t ulpdu_bytes);
	void die(int code);
	bool is_offender_quoted(int code) const;
	void check_quote(const uint8_t *p, uint32_t n) const;
	void note_offence(const struct iw_seg &seg, const struct iw_seg &wire, const Tag &tag);
	void spoil(struct iw_seg *seg, const Tag &tag, uint32_t *ulpdu_bytes);
	uint32_t frame(const struct iw_seg &seg, uint32_t ulpdu_bytes, uint8_t *dst);
	bool send_one(bool answer);
	void notice();

	World &world_;
	Endpoint *peer_ = nullptr;
	int index_;
	Rng rng_;
	uint32_t declines_;
	std::vector<uint8_t> hello_; /* of the start-up frame, so far */
	Deframer deframer_;
	uint32_t emss_; /* TCP's segments, now */
	uint32_t max_ulpdu_ = 0;
	uint64_t pos_ = 0;	/* in the outgoing stream, from the first FPDU on */
	bool may_send_ = false; /* the initiator sends first */
	bool broken_ = false;	/* the start of the next FPDU is unknown */
	bool no_room_ = false;
	uint64_t again_ns_ = 0, wake_ns_ = 0;
	std::vector<uint8_t> plain_;
	std::vector<uint8_t> offender_; /* the wrong ULPDU, and how long it is */
	uint32_t offender_bytes_ = 0;
	Blame offends_; /* what a quote of it says */
};

} /* namespace sim */

#endif
