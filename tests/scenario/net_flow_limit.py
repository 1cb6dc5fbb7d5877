"""With max-flows = 3 a fourth connection is closed at once and counted, the three go on, and a place that becomes free is taken. Without the limit the
fourth is relayed; without the count given back the gateway closes everybody for ever."""
from _desk import Host, connect, ended, exactly, none_left, open_pair, sockets
from scenario import equal, until


def run(s):
    host = Host("ts1")
    g = s.gateway(s.ini_gateway(extra="max-flows = 3") + s.ini_rdp([host]))
    rest = sockets(g)
    for turn in range(3):
        pairs = [open_pair(g, host, f"u{n}") for n in range(3)]
        for n in range(5):
            equal(ended(connect(g)) in ("eof", "reset"), True, "one above the limit")
        for c, h in pairs:
            c.sendall(b"ping")
            equal(exactly(h, 4), b"ping", "one below the limit")
        for c, h in pairs:
            c.close()
            h.close()
        none_left(g, rest)
    until("they are counted", lambda: g.drops("desktops").get("flow-limit") == 15)
