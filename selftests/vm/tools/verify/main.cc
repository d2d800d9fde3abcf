// SPDX-License-Identifier: GPL-2.0
// vverify: moves data every way the verbs allow between two processes and verifies each
// byte. The cases are in the other files of this folder.
#include "session.h"

int main(int argc, char **argv)
{
	return vt::session_main(argc, argv);
}
