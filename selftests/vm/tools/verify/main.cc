// SPDX-License-Identifier: GPL-2.0
// vverify: moves data between two processes in every way that verbs allow, and verifies each
// byte. The cases are in the other files of this folder.
#include "session.h"

int main(int argc, char **argv)
{
	return vt::session_main(argc, argv);
}
