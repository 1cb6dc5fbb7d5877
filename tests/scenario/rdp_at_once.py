"""A client without a cookie costs no waiting: from the last octet of its request to the connection at its host in less than a millisecond (the time is
printed; that there is no timer, hold or second turn in it is tests/unit/net/test_conn.c dials_in_the_same_turn and tests/unit/rdp/test_front.c
r18_no_cookies_at_all). What is checked here is that the request is whole at its last octet and not before, and that a name costs nothing more."""
import time

from _desk import Host, confirmed, connect, exactly, rdp_text, request
from scenario import check

TURNS = 200
MOST_MS = 250              # not the cost, only that no timer of ours lies between: the shortest is a dial-retry


def one(g, host, octets):
    """-> ms from the last octet to the host"""
    c = connect(g)
    c.sendall(octets[:-1])
    time.sleep(0.002)                                       # the rest is read by itself, as a rule
    begin = time.perf_counter()
    c.sendall(octets[-1:])
    h = host.s.accept()[0]
    ms = 1e3 * (time.perf_counter() - begin)
    check(exactly(h, len(octets)) == octets, "the request as it was sent")
    h.sendall(rdp_text.confirm(True))
    confirmed(c)
    c.close()
    h.close()
    return ms


def run(s):
    host = Host("ts1")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host]))
    for what, octets in (("without a cookie", rdp_text.request()), ("with one", request("alice"))):
        times = sorted(one(g, host, octets) for _ in range(TURNS))
        check(times[TURNS // 2] < MOST_MS, f"{what}: {times[TURNS // 2]:.1f} ms")
        print(f"{what}: median {times[TURNS // 2]:.3f} ms, 99% {times[TURNS * 99 // 100]:.3f} ms; ", end="")
    g.stop()
