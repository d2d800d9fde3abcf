// SPDX-License-Identifier: GPL-2.0
/*
 * A device's files in /sys/class/infiniband/DEV/: those that ibstat,
 * ibv_devinfo and node exporters read, peer_timeout and congestion_control.
 * peer_timeout sets how long a peer that owes an answer may be silent; the
 * transport decides what an answer is, and when it is owed. It also says which
 * congestion controls there are. ib_core makes fw_ver, node_guid and others from
 * the ops table.
 */
#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "core/sysfs.h"
#include "core/transport.h"

/*
 * A packet may be lost twice and be answered the third time: TCP sends the first of a connection
 * again after 1 and after 3 seconds. A shorter limit would give up peers that are there.
 */
#define PEER_TIMEOUT_MIN_S	5
/* Linux asks an idle TCP peer after this time. A longer limit needs no test at all. */
#define PEER_TIMEOUT_MAX_S	7200

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", tern_dev_of(device)->transport->link_type);
}
struct device_attribute tern_attr_hca_type = __ATTR_RO(hca_type);

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%x\n", TERN_HW_VER);
}
struct device_attribute tern_attr_hw_rev = __ATTR_RO(hw_rev);

/* An adapter has its maker's product name here. */
static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", KBUILD_MODNAME);
}
struct device_attribute tern_attr_board_id = __ATTR_RO(board_id);

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

static ssize_t congestion_control_show(struct device *device, struct device_attribute *attr,
				       char *buf)
{
	struct tern_dev *dev = tern_dev_of(device);
	char name[TERN_CONGESTION_NAME_BYTES];

	dev->transport->congestion_show(dev, name);
	return sysfs_emit(buf, "%s\n", name);
}

static ssize_t congestion_control_store(struct device *device, struct device_attribute *attr,
					const char *buf, size_t n)
{
	struct tern_dev *dev = tern_dev_of(device);
	char line[TERN_CONGESTION_NAME_BYTES + 1];	/* a newline */
	const char *name;
	int err;

	if (strscpy(line, buf, sizeof(line)) < 0)
		return -ENOENT;
	name = strim(line);
	if (!*name || strlen(name) >= TERN_CONGESTION_NAME_BYTES)
		return -ENOENT;
	err = dev->transport->congestion_set(dev, name);
	return err ?: n;
}
struct device_attribute tern_attr_congestion_control = __ATTR_RW(congestion_control);
