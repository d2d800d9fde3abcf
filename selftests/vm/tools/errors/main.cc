// SPDX-License-Identifier: GPL-2.0
// verrors: provokes each error that the verbs define and expects exactly its completion
// status, asynchronous event or errno. The cases are in the other files of this folder.
#include "session.h"

int main(int argc, char **argv)
{
	return vt::session_main(argc, argv);
}
