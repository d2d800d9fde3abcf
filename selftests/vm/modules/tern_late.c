// SPDX-License-Identifier: GPL-2.0
/*
 * Test module: memory whose pages come late, as those of a file system in user
 * space may. While the parameter `hold` is set, whoever touches a page of
 * /dev/tern-late waits and cannot be interrupted; `waiting` counts them.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>

static bool hold;
module_param(hold, bool, 0644);
MODULE_PARM_DESC(hold, "no page comes");

static atomic_t waiting = ATOMIC_INIT(0);

static int get_waiting(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%d\n", atomic_read(&waiting));
}

static const struct kernel_param_ops waiting_ops = {
	.get = get_waiting,
};
module_param_cb(waiting, &waiting_ops, NULL, 0444);
MODULE_PARM_DESC(waiting, "page faults that wait");

static vm_fault_t late_fault(struct vm_fault *vmf)
{
	struct page *page;

	atomic_inc(&waiting);
	while (READ_ONCE(hold))
		msleep(10);
	atomic_dec(&waiting);
	page = alloc_page(GFP_HIGHUSER | __GFP_ZERO);
	if (!page)
		return VM_FAULT_OOM;
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct late_vm_ops = {
	.fault = late_fault,
};

static int late_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = &late_vm_ops;
	return 0;
}

static const struct file_operations late_fops = {
	.owner = THIS_MODULE,
	.mmap = late_mmap,
};

static struct miscdevice late_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tern-late",
	.fops = &late_fops,
	.mode = 0666,
};
module_misc_device(late_device);

MODULE_DESCRIPTION("Memory whose pages come late, for tests of tern");
MODULE_LICENSE("GPL");
