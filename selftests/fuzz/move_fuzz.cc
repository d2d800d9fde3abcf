// SPDX-License-Identifier: GPL-2.0
// A ring's entries move to another ring while user space writes anything to its index, or while the
// kernel's end goes on: no access outside the rings, no round longer than allowed, no more rounds
// than the rings need, nothing lost.
#include <cstring>
#include <vector>

#include "fuzz.h"
#include "queue/move.h"

namespace {

struct Ring {
	Ring(u32 slots, u32 stride_bytes)
		: nslots(slots), stride(stride_bytes), bytes(size_t{slots} * stride_bytes)
	{}
	tern_slots slots() { return {bytes.data(), nslots}; }
	u8 *at(u32 index) { return bytes.data() + size_t{index & (nslots - 1)} * stride; }
	void write(u32 index)
	{
		memcpy(at(index), &index, sizeof(index));
		memcpy(at(index) + stride - sizeof(index), &index, sizeof(index));
	}
	bool has(u32 index)
	{
		return !memcmp(at(index), &index, sizeof(index)) &&
		       !memcmp(at(index) + stride - sizeof(index), &index, sizeof(index));
	}

	u32 nslots, stride;
	std::vector<u8> bytes;
};

u32 draw_index(Choices &in)
{
	return in.below(2) ? in.byte() - 128u : in.dword();
}

class Resize {
public:
	explicit Resize(Choices &in)
		: in_(in), stride_(draw_stride(in)), from_(draw_slots(), stride_),
		  to_(draw_slots(), stride_), cons_(draw_index(in)), prod_(cons_)
	{
		produce(in.word());
		tern_move_begin(&move_, to_.slots(), from_.slots(), stride_, cons_);
	}

	// Both ends are anywhere, each time.
	void hostile()
	{
		while (in_.more()) {
			const u32 cons = draw_index(in_);

			round(cons, in_.below(2) ? cons + in_.word() : draw_index(in_));
		}
	}

	// The kernel's end goes on: that of a CQ produces, that of an RQ consumes.
	void honest(bool is_cq)
	{
		const u32 least = from_.nslots < to_.nslots ? from_.nslots : to_.nslots;
		u32 rounds = 0;
		int ret;

		while (!(ret = round(cons_, prod_))) {
			rounds++;
			if (is_cq)
				produce(in_.byte());
			else
				cons_ += prod_ - cons_ ? in_.byte() % (prod_ - cons_ + 1) : 0;
		}
		REQUIRE(rounds <= least / most());
		if (ret < 0) {
			REQUIRE(prod_ - cons_ > least);
			return;
		}
		for (u32 i = cons_; i != prod_; i++)
			REQUIRE(to_.has(i));
	}

private:
	static u32 draw_stride(Choices &in)
	{
		static const u32 strides[] = {64, 128, 576};

		return strides[in.below(3)];
	}

	// One round's worth or up to four.
	u32 draw_slots() { return 1u << in_.below(stride_ == 64 ? 11 : stride_ == 128 ? 10 : 8); }

	u32 most() const { return TERN_MOVE_ROUND_BYTES / stride_; }

	void produce(u32 n)
	{
		for (; n && prod_ - cons_ < from_.nslots; n--)
			from_.write(prod_++);
	}

	int round(u32 cons, u32 prod)
	{
		const u32 before = move_.next;
		const int ret = tern_move_round(&move_, cons, prod);

		REQUIRE(ret == 0 || ret == 1 || ret == -EINVAL);
		if (ret < 0) {
			REQUIRE(move_.next == before);
			return ret;
		}
		REQUIRE(move_.next - before <= most() || move_.next - cons <= most());
		REQUIRE(move_.next - cons <= prod - cons);
		REQUIRE((ret == 1) == (move_.next == prod));
		return ret;
	}

	Choices &in_;
	u32 stride_;
	Ring from_, to_;
	u32 cons_, prod_;
	tern_move move_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Choices in(data, size);
	const u8 how = in.byte();
	Resize resize(in);

	if (how & 1)
		resize.hostile();
	else
		resize.honest(how & 2);
	return 0;
}
