"""Hosts that want a PROXY header get one, version 2, as the first octets of each connection and in one piece with the request: it names the client and
where he came to, in both families, and who a balancer in front says that he is; the gateway's own probes say LOCAL. A host whose line says no gets none.
Without introduce in dial.c the first octets are the request; without it in probe.c the host that reads headers goes down."""
import socket, struct, threading

from _desk import WAIT, confirmed, exactly, request
from scenario import Failed, check, equal, until

import rdp_text

SIGN = b"\r\n\r\n\0\r\nQUIT\n"


class Host:
    """reads a header, then a request, and confirms; heard: (user, header)"""
    def __init__(self, label, wants=True):
        self.label, self.wants, self.heard, self.probes, self.bad = label, wants, {}, 0, []
        self.s = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.at = "127.0.0.1:%d" % self.s.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        self.live = []
        while True:
            c = self.s.accept()[0]
            c.settimeout(WAIT)
            try:
                self.one(c)
            except (OSError, Failed) as e:
                self.bad.append(str(e))
            self.live.append(c)

    def one(self, c):
        header = b""
        if self.wants:
            header = exactly(c, 16)
            check(header[:12] == SIGN, f"no header: {header}")
            header += exactly(c, int.from_bytes(header[14:], "big"))
        head = exactly(c, 4)
        line = rdp_text.read_line(head + exactly(c, int.from_bytes(head[2:], "big") - 4))[0]
        if header[12:13] == b"\x20":
            self.probes += 1
            check(header[13:] == b"\0\0\0", "a header of a probe:", header)
        else:
            self.heard[line.decode().rsplit("=", 1)[-1]] = header
        c.sendall(rdp_text.confirm(True))


def come(at, user, before=b"", source=None):
    host, port = at.rsplit(":", 1)
    c = socket.create_connection((host.strip("[]"), int(port)), WAIT, (source, 0) if source else None)
    c.settimeout(WAIT)
    c.sendall(before + request(user))
    return confirmed(c)


def run(s):
    a, b = Host("ts1"), Host("ts2", wants=False)
    pool = "probe = confirm\nprobe-interval = 200ms\nprobe-timeout = 3s\nbalance = round-robin\nload-factor = off\nsend-proxy = yes"
    g = s.gateway(s.ini_gateway() + s.ini_rdp([a, (b, "send-proxy=no")], pool, "listen = tcp://[::1]:0", listen="tcp://127.0.0.1:0") +
                  s.ini_rdp([a], pool, "proxy-from = 127.0.0.1", name="behind", pool_name="farm2"))
    until("both are up", lambda: {x["state"] for x in g.ctl("servers")["servers"]} == {"up"})
    v4, v6 = g.uris["desktops"][0][6:], g.uris["desktops"][1][6:]
    users = {f"four{i}": come(v4, f"four{i}", source="127.0.0.9") for i in range(2)} | {f"six{i}": come(v6, f"six{i}") for i in range(2)}
    seven = come(g.at("behind"), "seven", SIGN + b"\x21\x11\0\x0c" + bytes([192, 0, 2, 7, 192, 0, 2, 1]) + struct.pack("!HH", 50000, 3389))
    check(all(len([u for u in h.heard if u in users]) == 2 for h in (a, b)), "two users each, by turns:", a.heard, b.heard)
    equal({b.heard[u] for u in b.heard}, {b""}, "headers of ts2")
    for user in a.heard.keys() & users.keys():
        me, it = users[user].getsockname(), users[user].getpeername()
        family, head = (socket.AF_INET6, b"\x21\x21\0\x24") if user.startswith("six") else (socket.AF_INET, b"\x21\x11\0\x0c")
        want = SIGN + head + socket.inet_pton(family, me[0]) + socket.inet_pton(family, it[0]) + struct.pack("!HH", me[1], it[1])
        equal(a.heard[user], want, f"the header of {user}")
    equal(a.heard["seven"], SIGN + b"\x21\x11\0\x0c" + bytes([192, 0, 2, 7, 192, 0, 2, 1]) + struct.pack("!HH", 50000, 3389), "whom a balancer in front names")
    until("probes", lambda: a.probes > 3)
    equal((g.state("ts1"), g.state("ts2"), a.bad, b.bad), ("up", "up", [], []), "hosts, and what they complain of")
    for c in [*users.values(), seven]:
        c.close()
