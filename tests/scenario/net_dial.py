"""A host that refuses, and one that never answers the connect, are passed over for new users within dial-timeout; every user is served by the host that is
there. Without the next candidate a share of the users is refused; without the deadline of a dial they wait for the system's minutes."""
import socket, threading, time

from _desk import Host, confirmed, connect, request
from scenario import SLOW, check, until

TIMEOUT = 90
USERS = 12


def black_hole(s):
    """a port whose queue is full: the system answers no further connect"""
    hole = socket.socket()
    hole.bind(("127.0.0.1", 0))
    hole.listen(0)
    full = []
    for _ in range(3):
        x = socket.socket()
        x.setblocking(False)
        x.connect_ex(hole.getsockname())
        full.append(x)
    return hole, full, "127.0.0.1:%d" % hole.getsockname()[1]


def serve(host, held):
    while True:
        try:
            held.append(host.accept())
        except Exception:
            return


def all_served(g, host, what, limit):
    held = []
    t = threading.Thread(target=serve, args=(host, held), daemon=True)
    t.start()
    for n in range(USERS):
        begin = time.monotonic()
        c = connect(g)
        c.sendall(request(f"u{n}{what[:4]}"))
        confirmed(c)
        check(time.monotonic() - begin < limit + 10 * SLOW, f"{what}: a user waited {time.monotonic() - begin:.1f} s")
    until(f"{what}: every user is at the host that is there", lambda: len(held) == USERS)   # the host notes him after it has confirmed


def run(s):
    good = Host("good")
    gone = Host("gone")
    gone.s.close()
    hole, full, at = black_hole(s)
    pool = "probe = none\nprobe-fall = 100\ndial-timeout = 300ms\nload-factor = off"   # probe-fall: every dial is tried, none is spared by what was learnt
    g = s.gateway(s.ini_gateway() + s.ini_rdp([good, gone], pool))
    all_served(g, good, "refused", 0)
    check(g.drops("desktops").get("dial-failed", 0) > 0, "no dial failed:", g.drops("desktops"))
    g.stop()
    good = Host("good")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([good, f"hole {at}"], pool))
    all_served(g, good, "unanswered", 0.3)
    check(g.drops("desktops").get("dial-timeout", 0) > 0, "no dial ran out of time:", g.drops("desktops"))
    for x in (hole, *full):
        x.close()
