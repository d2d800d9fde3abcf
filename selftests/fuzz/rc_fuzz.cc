// SPDX-License-Identifier: GPL-2.0
// RC and UC requester and responder under a hostile peer: any packets that the parser accepts, in
// any order that the headers allow for the calls.
#include "rc_requester.h"
#include "rc_responder.h"

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Choices in(data, size);

	if (in.byte() & 1) {
		for (Requester q(in); in.more();)
			q.step();
	} else {
		for (Responder r(in); in.more();)
			r.step();
	}
	return 0;
}
