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
// the modules listed in /mod/order, mounts the two read-only disks under an overlay (in memory, or
// on the disk that RIG_DISK names) and the one that RIG_SHARE names at /share, and moves this
// process there. User Mode Linux: the same with the host's root, which it starts in already, and
// with folders of the host in the place of disks.
void enter_root();

// What a distribution's init would do: file systems, hostname, environment, network.
void set_up_guest();

// Or leave all that to the distribution's own: starts systemd as this process, with the agent as
// a service of it, the network set up already. (Guests have no network configuration of their own.)
[[noreturn]] void become_systemd();

} // namespace rig

#endif
