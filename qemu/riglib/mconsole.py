# SPDX-License-Identifier: GPL-2.0
"""The management console of User Mode Linux, which corresponds to QEMU's monitor.

Its commands run in an interrupt on the first CPU, even if no process can run.
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

    Answers to some sysrq commands have no end marker. Their text is also on the console.
    """
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    text, deadline = b"", time.monotonic() + limit_s
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind("")  # the kernel chooses a name, for the answer
            data = command.encode()
            # Relative to the folder: a path may be too long for a socket address.
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
