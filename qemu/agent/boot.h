/* SPDX-License-Identifier: GPL-2.0 */
// The boot of a guest, all in process 1 and nearly without forks: under emulation each
// takes as long as a hundred system calls. Errors go to the console and reboot the guest,
// which ends its QEMU, or its User Mode Linux. The rig reports that.

#ifndef TERN_QEMU_AGENT_BOOT_H
#define TERN_QEMU_AGENT_BOOT_H

namespace rig {

// Is this User Mode Linux (RIG_MODULES is the host's folder of its modules), and not QEMU?
bool is_native();

// Goes from where the kernel starts this process into the real root. QEMU: from the initramfs; loads
// the modules listed in /mod/order, mounts the two read-only disks under an overlay (in memory, or
// on the disk that RIG_DISK names) and the one that RIG_SHARE names at /share, and moves this
// process there. User Mode Linux: the same with the host's root, in which it already starts, and
// with folders of the host instead of disks.
void enter_root();

// The steps of a distribution's init: file systems, hostname, environment, network.
void set_up_guest();

// Instead: starts systemd as this process, with the agent as
// a service, after setting up the network. (Guests have no network configuration of their own.)
[[noreturn]] void become_systemd();

} // namespace rig

#endif
