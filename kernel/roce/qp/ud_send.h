/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UD and GSI, sending: one WQE is one packet, nothing is acknowledged. There is no
 * engine, because there is no protocol state; the rules are IBTA 9.8.3 (UD)
 * and 13.5.3.2 (GSI Q_Key).
 */
#ifndef TERN_ROCE_QP_UD_SEND_H
#define TERN_ROCE_QP_UD_SEND_H

#include "roce/qp/state.h"
#include "roce/qp/step.h"

/*
 * Send what is posted. A WQE that was taken and could not be sent yet stands at
 * qp->ud_sending. Run lock held, BHs off.
 */
enum roce_step roce_ud_send(struct roce_qp *qp, u32 *budget);

#endif
