// SPDX-License-Identifier: GPL-2.0
#include "fpdu.h"

#include <algorithm>
#include <cstring>

#include <sanitizer/asan_interface.h>

#include "crc32c.h"

namespace sim {

Deframer::Deframer() : data_(mpa_fpdu_bytes(MPA_MAX_ULPDU_BYTES)) {}

Deframer::~Deframer()
{
	unfence();
}

void Deframer::fence() const
{
	uint32_t end = MPA_LENGTH_BYTES + ulpdu_bytes_;

	ASAN_POISON_MEMORY_REGION(data_.data() + end, data_.size() - end);
}

void Deframer::unfence() const
{
	ASAN_UNPOISON_MEMORY_REGION(data_.data(), data_.size());
}

/* A marker belongs to the FPDU that it is in, or right before. */
uint32_t Deframer::take_marker(const uint8_t *p, uint32_t n)
{
	uint32_t in = (uint32_t)(pos_ % MPA_MARKER_SPACING);
	uint64_t at = pos_ - in;

	n = std::min(n, MPA_MARKER_BYTES - in);
	memcpy(marker_ + in, p, n);
	crc_ = crc32c(crc_, p, n);
	pos_ += n;
	if (in + n == MPA_MARKER_BYTES)
		markers_right_ = markers_right_ && !get_unaligned_be16(marker_) &&
				 get_unaligned_be16(marker_ + 2) ==
					 (have_ ? (uint16_t)(at - length_at_) : 0);
	return n;
}

void Deframer::take_data(const uint8_t *p, uint32_t n)
{
	uint32_t crc_at = need_ == MPA_LENGTH_BYTES ? need_ : need_ - MPA_CRC_BYTES;

	if (!have_)
		length_at_ = pos_;
	memcpy(&data_[have_], p, n);
	if (have_ < crc_at)
		crc_ = crc32c(crc_, p, std::min(n, crc_at - have_));
	have_ += n;
	pos_ += n;
	if (need_ == MPA_LENGTH_BYTES && have_ == need_) {
		ulpdu_bytes_ = get_unaligned_be16(data_.data());
		need_ = mpa_fpdu_bytes(ulpdu_bytes_);
	}
}

uint32_t Deframer::take(const uint8_t *p, uint32_t n)
{
	uint32_t took = 0;

	while (took < n && !whole()) {
		uint32_t in = (uint32_t)(pos_ % MPA_MARKER_SPACING);
		uint32_t bytes = n - took;

		if (markers_ && in < MPA_MARKER_BYTES) {
			took += take_marker(p + took, bytes);
			continue;
		}
		bytes = std::min(bytes, need_ - have_);
		if (markers_)
			bytes = std::min(bytes, MPA_MARKER_SPACING - in);
		take_data(p + took, bytes);
		took += bytes;
	}
	return took;
}

bool Deframer::crc_right() const
{
	return get_unaligned_le32(&data_[need_ - MPA_CRC_BYTES]) == (uint32_t)~crc_;
}

void Deframer::next()
{
	have_ = 0;
	need_ = MPA_LENGTH_BYTES;
	crc_ = ~0u;
}

} /* namespace sim */
