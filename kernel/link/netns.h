/* SPDX-License-Identifier: GPL-2.0 */
/* A network namespace ends: its links end first. */
#ifndef TERN_LINK_NETNS_H
#define TERN_LINK_NETNS_H

int tern_netns_init(void);
void tern_netns_exit(void);

#endif
