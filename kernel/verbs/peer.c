// SPDX-License-Identifier: GPL-2.0
/*
 * How long a peer may be silent that owes an answer: peer_timeout_s of the
 * device, from its file peer_timeout. What an answer is, and from when on it is
 * owed, is the transport's to say.
 */
#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "verbs/verbs.h"

/*
 * A packet may be lost twice and be answered the third time: TCP sends the first of a connection
 * again after 1 and after 3 seconds. So less would give up peers that are there.
 */
#define PEER_TIMEOUT_MIN_S	5
/* After which Linux asks an idle TCP peer; who waits longer need not look at all. */
#define PEER_TIMEOUT_MAX_S	7200

static ssize_t peer_timeout_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(tern_dev_of(device)->peer_timeout_s));
}

static ssize_t peer_timeout_store(struct device *device, struct device_attribute *attr,
				  const char *buf, size_t n)
{
	u32 seconds;

	if (kstrtou32(buf, 10, &seconds) || seconds < PEER_TIMEOUT_MIN_S ||
	    seconds > PEER_TIMEOUT_MAX_S)
		return -EINVAL;
	WRITE_ONCE(tern_dev_of(device)->peer_timeout_s, seconds);
	return n;
}

struct device_attribute tern_attr_peer_timeout = __ATTR_RW(peer_timeout);
