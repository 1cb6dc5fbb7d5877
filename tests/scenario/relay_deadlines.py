"""A request that drips, a desktop that says nothing and a host that says nothing are closed at handshake-timeout, counted from accept however many
octets come; a session that stands is silent as long as it likes. Without the deadline of a phase its connections stay for ever."""
import time

from _desk import Host, connect, ended, exactly, none_left, open_pair, request, sockets
from scenario import SLOW, check, equal, until

TIMEOUT = 60
LIMIT = 1.0


def closed_after(sock, drip=b""):
    """seconds until the gateway closes, an octet each 50 ms meanwhile"""
    begin = time.monotonic()
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
        check(LIMIT * 0.9 <= seconds <= LIMIT * 1.5 + 0.5 * SLOW, f"{what}: closed after {seconds:.2f} s")
    in_time(closed_after(connect(g)), "a silent desktop")
    in_time(closed_after(connect(g), request("drip" * 20)), "a dripping request")
    c = connect(g)
    c.sendall(request("mute"))
    mute = host.accept(confirm=False)
    in_time(closed_after(c), "a silent host")
    equal(ended(mute) in ("eof", "reset"), True, "the silent host's connection")
    time.sleep(max(0, 3 * LIMIT - (time.monotonic() - begin)))
    stands.sendall(b"still there")
    equal(exactly(h, 11), b"still there", "a session that was silent")
    equal(g.drops("desktops").get("handshake-timeout"), 3, "counted")
    stands.close()
    h.close()
    none_left(g, rest)
