/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From stream to FPDUs: removes markers and checks their pointers, joins what was cut, and computes
 * the CRC as bytes come.
 */
#ifndef TERN_SIM_IW_FPDU_H
#define TERN_SIM_IW_FPDU_H

#include <cstdint>
#include <vector>

extern "C" {
#include "mpa.h"
}

namespace sim {

class Deframer {
public:
	Deframer();
	~Deframer();

	void start(bool markers) { markers_ = markers; }
	/* Takes bytes, at most to the end of an FPDU; returns how many. */
	uint32_t take(const uint8_t *p, uint32_t n);
	bool whole() const { return need_ > MPA_LENGTH_BYTES && have_ == need_; }
	/* Get ready for the next, when one is complete. */
	void next();
	/* Between two FPDUs? */
	bool at_rest() const { return !have_; }

	const uint8_t *ulpdu() const { return data_.data() + MPA_LENGTH_BYTES; }
	uint32_t ulpdu_bytes() const { return ulpdu_bytes_; }
	bool crc_right() const;
	bool markers_right() const { return markers_right_; }

	/* Sanitizer builds: nothing behind the ULPDU may be read. */
	void fence() const;
	void unfence() const;

private:
	uint32_t take_marker(const uint8_t *p, uint32_t n);
	void take_data(const uint8_t *p, uint32_t n);

	bool markers_ = false, markers_right_ = true;
	std::vector<uint8_t> data_;
	uint8_t marker_[MPA_MARKER_BYTES] = {};
	uint64_t pos_ = 0;	 /* in the stream */
	uint64_t length_at_ = 0; /* where the FPDU's length was */
	uint32_t have_ = 0, need_ = MPA_LENGTH_BYTES;
	uint32_t ulpdu_bytes_ = 0;
	uint32_t crc_ = ~0u;
};

} /* namespace sim */

#endif
