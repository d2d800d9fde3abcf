/* SPDX-License-Identifier: GPL-2.0 */
// The state machine of QPs (IBTA 10.3.1, table 91, as in ib_core): which transition is legal, and
// which attributes each needs and takes. And ways to bring a QP into a state without a peer.
#ifndef TERN_VM_QP_STATES_H
#define TERN_VM_QP_STATES_H

#include <span>

#include "link.h"

namespace vt {

// Those that a QP can be brought to without traffic: all but SQE.
std::span<const ibv_qp_state> quiet_states();
const char *state_name(ibv_qp_state state);
bool is_legal(ibv_qp_state from, ibv_qp_state to);

// From RESET to the state. The peer is the QP itself: nothing is sent.
void bring_to(Link *link, ibv_qp_state state);
// A transition with the attributes that it needs, so that only the transition can be refused.
int try_transition(Link *link, ibv_qp_state from, ibv_qp_state to);

// An attribute of ibv_modify_qp(), with a value of its own that differs from what links have.
struct QpAttribute {
	int bit;
	const char *name;
	void (*set)(ibv_qp_attr *a);
	bool (*is_set)(const ibv_qp_attr &a);
};
std::span<const QpAttribute> qp_attributes();

struct QpTransition {
	ibv_qp_state from, to;
	// The attributes, apart from the state, that a QP needs, and may have.
	struct Attributes {
		int needs, takes;
	} rc, uc, ud, xrc_send, xrc_recv;

	const Attributes &of(ibv_qp_type type) const
	{
		switch (type) {
		case IBV_QPT_RC:
			return rc;
		case IBV_QPT_UC:
			return uc;
		case IBV_QPT_XRC_SEND:
			return xrc_send;
		case IBV_QPT_XRC_RECV:
			return xrc_recv;
		default:
			return ud;
		}
	}
	int needs(ibv_qp_type type) const { return of(type).needs; }
	int takes(ibv_qp_type type) const { return of(type).takes; }
};
std::span<const QpTransition> qp_transitions();

// All that ibv_query_qp() says.
ibv_qp_attr attributes_of(const Link &link);

} // namespace vt

#endif
