// SPDX-License-Identifier: GPL-2.0
/*
 * Who a device says it is: numbers for programs, and the files of
 * /sys/class/infiniband/DEV/ that ibstat, ibv_devinfo and node exporters read.
 * fw_ver, node_guid and the like are ib_core's, from the ops table.
 */
#include <linux/sysfs.h>

#include "verbs/verbs.h"

/*
 * An adapter has its maker's OUI here. There is none: this is of those that are
 * given out locally (the 02 bit), so it is no maker's.
 */
#define TERN_VENDOR_ID	0x027472
/* There is no hardware of which there could be a second one. */
#define TERN_HW_VER	0

void tern_ident_fill(const struct tern_dev *dev, struct ib_device_attr *attr)
{
	attr->vendor_id = TERN_VENDOR_ID;
	attr->vendor_part_id = dev->transport->part_id;
	attr->hw_ver = TERN_HW_VER;
}

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

/* Of adapters, their maker's name for the product. */
static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", KBUILD_MODNAME);
}
struct device_attribute tern_attr_board_id = __ATTR_RO(board_id);
