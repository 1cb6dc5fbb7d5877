"""A request that drips, a desktop that says nothing and a host that says nothing are closed at handshake-timeout, counted from accept however many
octets come; a session that stands is silent as long as it likes. Without the deadline of a phase its connections stay for ever."""
import time

from _desk import Host, connect, ended, exactly, none_left, open_pair, request, sockets
from scenario import check, equal, until

TIMEOUT = 60
LIMIT = 1.0


def closed_after(g, drip=b"", behind=lambda c: None):
    """seconds from the connect until the gateway closes, an octet each 50 ms meanwhile"""
    begin = time.monotonic()
    sock = connect(g)
    behind(sock)
    sock.settimeout(0.05)
    while time.monotonic() - begin < 8 * LIMIT:
        try:
            if drip:
                sock.send(drip[:1])
                drip = drip[1:]
            if not sock.recv(100):
                break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    return time.monotonic() - begin


def run(s):
    host = Host("ts1")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host], service=f"handshake-timeout = {int(LIMIT * 1000)}ms"))
    rest = sockets(g)
    stands, h = open_pair(g, host, "stands")
    begin = time.monotonic()

    def in_time(seconds, what):
        check(LIMIT * 0.9 <= seconds <= LIMIT * 5, f"{what}: closed after {seconds:.2f} s")     # a request that drips would be whole after 5.9 s
    in_time(closed_after(g), "a silent desktop")
    in_time(closed_after(g, request("drip" * 20)), "a dripping request")
    mute = []

    def ask(c):
        c.sendall(request("mute"))
        mute.append(host.accept(confirm=False))
    in_time(closed_after(g, behind=ask), "a silent host")
    equal(ended(mute[0]) in ("eof", "reset"), True, "the silent host's connection")
    time.sleep(max(0, 3 * LIMIT - (time.monotonic() - begin)))
    stands.sendall(b"still there")
    equal(exactly(h, 11), b"still there", "a session that was silent")
    until("all are counted", lambda: g.drops("desktops").get("handshake-timeout") == 3)
    stands.close()
    h.close()
    none_left(g, rest)
