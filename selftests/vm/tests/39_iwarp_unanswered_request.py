# SPDX-License-Identifier: GPL-2.0
"""iWARP: a request that no program answers ends a time after its listener has gone, not before."""

import re

PAIRS = ("iwarp-iwarp",)
LONG = True
LIMIT = 150
# IW_ANSWER_TIMEOUT, in seconds.
_TIMEOUT_S = 60

# A plain socket: an RDMA client gives up much earlier.
_CLIENT = """import socket, sys, time
s = socket.create_connection((sys.argv[1], 7490))
s.settimeout(2 * %d)
s.sendall(b"MPA ID Req Frame" + bytes((0x40, 1, 0, 0)))
began = time.time()
try:
    end = "%%d bytes" %% len(s.recv(100))
except OSError as error:
    end = type(error).__name__
print(end, "after", round(time.time() - began), "s")
""" % _TIMEOUT_S


def run(t):
    server = t.start(t.b, "exec /tern/vcm stop-listening", 140)
    t.wait_cm_listen(t.b)
    result = t.run(t.a, ["python3", "-c", _CLIENT, t.b.address], 140)
    t.case("the listener has gone", "stopped listening" in server.output(), server.output())
    found = re.search(r"(.*) after (\d+) s", result.out)
    t.case("the connection ends without an answer",
           found and found.group(1) in ("0 bytes", "ConnectionResetError"),
           result.out + result.err)
    t.case("after %d s, within a fifth" % _TIMEOUT_S,
           found and abs(int(found.group(2)) - _TIMEOUT_S) <= _TIMEOUT_S / 5, result.out)
    t.kill(server)
