# SPDX-License-Identifier: GPL-2.0
"""The management console of a User Mode Linux: what QEMU's monitor is to the other guests.

Its commands are carried out in an interrupt, on the first CPU, even when no process gets a turn.
"""

import os
import socket
import struct
import time

from .say import RigError

_MAGIC, _VERSION, _DATA = 0xcafebabe, 2, 512
_REQUEST = struct.Struct("=III%ds" % _DATA)
_REPLY = struct.Struct("=III")


def ask(path, command, limit_s=3):
    """Send a command and return its answer.

    Answers to some sysrq commands come without an end. All that these say is on the console, too.
    """
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    text, deadline = b"", time.monotonic() + limit_s
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind("")  # a name of the kernel's choice, for the answer
            data = command.encode()
            # By way of the folder: a path may be longer than such an address.
            sock.sendto(_REQUEST.pack(_MAGIC, _VERSION, len(data), data),
                        "/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
            more = 1
            while more:
                sock.settimeout(max(0.01, deadline - time.monotonic()))
                answer = sock.recv(_REPLY.size + _DATA)
                error, more, length = _REPLY.unpack_from(answer)
                text += answer[_REPLY.size:_REPLY.size + length].rstrip(b"\0")
                if error:
                    raise RigError("the management console refused '%s': %s"
                                   % (command, text.decode("utf-8", "replace")))
    except socket.timeout:
        if not text:
            raise RigError("the management console did not answer to '%s' in %g s"
                           % (command, limit_s)) from None
    except OSError as error:
        raise RigError("cannot reach %s: %s" % (path, error.strerror or error)) from None
    finally:
        os.close(folder)
    return text.decode("utf-8", "replace")
