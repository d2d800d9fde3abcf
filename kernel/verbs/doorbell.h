/* SPDX-License-Identifier: GPL-2.0 */
/* Doorbells, by the doorbell file and by kernel posters. */
#ifndef TERN_VERBS_DOORBELL_H
#define TERN_VERBS_DOORBELL_H

#include "core/qp.h"
#include "core/stats.h"
#include "core/transport.h"

struct file;

/* A consumer's doorbell. Context: as the transport's qp_doorbell. */
static inline void tern_qp_ring(struct tern_qp *qp)
{
	struct tern_dev *dev = qp->dev;

	tern_count_anywhere(dev, TERN_CNT_DOORBELLS);
	dev->transport->qp_doorbell(qp);
}

/* A doorbell file, for QPs of this device that have it as `doorbell`. ERR_PTR. Sleeps. */
struct file *tern_doorbell_file(struct tern_dev *dev);

#endif
