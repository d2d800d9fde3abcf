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
	// The attributes, apart from the state, that a QP of each type needs, and may have.
	int rc_needs, rc_takes, uc_needs, uc_takes, ud_needs, ud_takes;

	int needs(ibv_qp_type type) const
	{
		return type == IBV_QPT_RC ? rc_needs : type == IBV_QPT_UC ? uc_needs : ud_needs;
	}
	int takes(ibv_qp_type type) const
	{
		return type == IBV_QPT_RC ? rc_takes : type == IBV_QPT_UC ? uc_takes : ud_takes;
	}
};
std::span<const QpTransition> qp_transitions();

// All that ibv_query_qp() says.
ibv_qp_attr attributes_of(const Link &link);

} // namespace vt

#endif
