// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast membership of UD QPs. ib_core has checked that the QP is UD and the
 * GID is a multicast one. The transport keeps the groups.
 */
#include "core/qp.h"
#include "core/transport.h"
#include "verbs/mcast.h"

int tern_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct tern_qp *qp = to_tern_qp(ibqp);

	if (!qp->dev->transport->mcast_attach)
		return -EOPNOTSUPP;
	return qp->dev->transport->mcast_attach(qp, gid);
}

int tern_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct tern_qp *qp = to_tern_qp(ibqp);

	if (!qp->dev->transport->mcast_detach)
		return -EOPNOTSUPP;
	return qp->dev->transport->mcast_detach(qp, gid);
}
