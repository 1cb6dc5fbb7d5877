"""A reset goes through as a reset, both ways, also while the other side has octets to come: a host that dies must not look to its desktop like a logoff.
Without SO_LINGER at the end the other side sees a clean FIN."""
from _desk import Host, connect, ended, none_left, open_pair, request, reset, sockets
from scenario import equal, until


def run(s):
    host = Host("ts1")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host]))
    rest = sockets(g)
    for n in range(5):
        c, h = open_pair(g, host, f"u{n}")
        reset(h)
        equal(ended(c), "reset", "the host has reset")
        c, h = open_pair(g, host, f"u{n}")
        reset(c)
        equal(ended(h), "reset", "the desktop has reset")
    c, h = open_pair(g, host)
    h.sendall(b"x" * 100000)
    reset(h)
    equal(ended(c), "reset", "the host has reset behind octets")
    c = connect(g)
    c.sendall(request("dies"))
    h = host.accept(confirm=False)
    reset(h)                                                 # before it answered: nothing to reset, but an end
    equal(ended(c) in ("eof", "reset"), True, "the host died before its answer")
    none_left(g, rest)
    until(f"seven and five are counted: {g.drops('desktops')}", lambda: [g.drops("desktops").get(x) for x in ("server-error", "client-error")] == [7, 5])
