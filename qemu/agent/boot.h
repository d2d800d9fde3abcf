/* SPDX-License-Identifier: GPL-2.0 */
// How a guest comes up, all in process 1 and nearly without forks: under emulation each
// costs as much as a hundred system calls. Errors go to the console and reboot the guest,
// which ends its QEMU, or its User Mode Linux, which the rig reports.

#ifndef TERN_QEMU_AGENT_BOOT_H
#define TERN_QEMU_AGENT_BOOT_H

namespace rig {

// Is this User Mode Linux (RIG_MODULES says where its modules are on the host), and not QEMU?
bool is_native();

// From where the kernel starts this process into the real root. QEMU: from the initramfs; loads
// the modules listed in /mod/order, mounts the two read-only disks under a tmpfs overlay, and
// moves this process there. User Mode Linux: the same with the host's root, which it starts in
// already, and two more folders of the host.
void enter_root();

// What a distribution's init would do: file systems, hostname, environment, network.
void set_up_guest();

} // namespace rig

#endif
