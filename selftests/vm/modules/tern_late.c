// SPDX-License-Identifier: GPL-2.0
/*
 * Test module: memory whose pages come late, as those of a file system in user
 * space may. While the parameter `hold` is set, whoever touches a page of
 * /dev/tern-late waits and cannot be interrupted; `waiting` counts them. As with a file
 * the address space is not locked meanwhile, for those who can do without. While `fail` is
 * set, pages cannot be had; `failed` counts those.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>

static bool hold;
module_param(hold, bool, 0644);
MODULE_PARM_DESC(hold, "no page comes");

static atomic_t waiting = ATOMIC_INIT(0), failed = ATOMIC_INIT(0);

static int get_number(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%d\n", atomic_read((const atomic_t *)kp->arg));
}

static const struct kernel_param_ops number_ops = {
	.get = get_number,
};
module_param_cb(waiting, &number_ops, &waiting, 0444);
MODULE_PARM_DESC(waiting, "page faults that wait");
module_param_cb(failed, &number_ops, &failed, 0444);
MODULE_PARM_DESC(failed, "page faults that failed");

static bool fail;
module_param(fail, bool, 0644);
MODULE_PARM_DESC(fail, "pages cannot be had");

static void wait_until_let_go(void)
{
	atomic_inc(&waiting);
	while (READ_ONCE(hold))
		msleep(10);
	atomic_dec(&waiting);
}

static void let_go_of_address_space(struct vm_fault *vmf)
{
#ifdef CONFIG_PER_VMA_LOCK
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

static vm_fault_t late_fault(struct vm_fault *vmf)
{
	struct page *page;

	if (READ_ONCE(hold) && fault_flag_allow_retry_first(vmf->flags) &&
	    !(vmf->flags & FAULT_FLAG_RETRY_NOWAIT)) {
		struct file *file = get_file(vmf->vma->vm_file);

		let_go_of_address_space(vmf);
		wait_until_let_go();
		fput(file);
		return VM_FAULT_RETRY;
	}
	wait_until_let_go();
	if (READ_ONCE(fail)) {
		atomic_inc(&failed);
		return VM_FAULT_SIGBUS;
	}
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
