"""A gateway that runs out of descriptors stops accepting without spinning, goes on with what it has, takes no server for dead because of its own want, and
accepts again when descriptors come back. Without the pause its processor time runs away; without the distinction all servers are marked down."""
import resource, time

from _desk import Host, confirmed, connect, exactly, none_left, request, sockets
from relay_backpressure import cpu
from scenario import SLOW, check, equal, until

TIMEOUT = 60
LIMIT = 60


def run(s):
    host = Host("ts1")
    pool = "probe = connect\nprobe-interval = 200ms\nprobe-timeout = 3s\nprobe-fall = 2\nprobe-rise = 1"
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host], pool), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT)))
    rest = sockets(g)
    g.wait_state("ts1", "up")
    first = []
    for n in range(5):
        c = connect(g)
        c.sendall(request(f"u{n}"))
        while True:                                          # probes connect too, and say nothing
            try:
                h = host.accept()
                break
            except Exception:
                continue
        first.append((confirmed(c), h))
    crowd = [connect(g) for _ in range(LIMIT * 2)]           # most of them wait in the system's queue
    time.sleep(0.5)
    start = cpu(g.pid)
    time.sleep(1.5)
    spent = cpu(g.pid) - start
    check(spent < 0.3 * SLOW, f"{spent:.2f} s of processor time in 1.5 s without descriptors")
    for c, h in first:
        c.sendall(b"ping")
        equal(exactly(h, 4), b"ping", "a session that stands")
    check("event=server-down" not in g.text(), "a server was marked down:", g.text()[-500:])
    for c in crowd:
        c.close()
    none_left(g, rest + 2 * len(first))
    c = connect(g)
    c.sendall(request("late"))
    until("a late desktop is served", lambda: serve_one(host, c))


def serve_one(host, c):
    try:
        host.accept()
    except Exception:
        return False
    confirmed(c)
    return True
