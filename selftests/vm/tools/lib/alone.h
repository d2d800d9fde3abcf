/* SPDX-License-Identifier: GPL-2.0 */
// The main() of a program of one process that checks one thing on one device.
#ifndef TERN_VM_ALONE_H
#define TERN_VM_ALONE_H

#include "device.h"

namespace vt {

// Options -n NETDEV and -d DEVICE choose the device, -r 1 a GID of RoCEv1. Returns the exit code:
// 0; 1, if the check or an object's end fails, which is printed; 2 for a wrong option.
int check_alone(int argc, char **argv, const char *program, void (*check)(const Device &));

} // namespace vt

#endif
