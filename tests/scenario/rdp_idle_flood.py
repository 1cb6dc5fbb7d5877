"""Connections that say nothing, or one octet now and then, in waves (2,000; 50,000 with HOLDFAST_FULL=1), beside desktops that go on: each is closed at the
deadline that runs from accept, however busily it dribbles; one source has no more of them than max-openings-source; memory does not grow from wave to wave;
and no desktop notices. Without the deadline, or with one that an octet moves, a wave never ends; without the limit one source has all places."""
import selectors, socket, time

from _desk import Host, exactly, none_left, open_pair, rdp_text, sockets
from scenario import BARE, FULL, SLOW, check, equal, until

TIMEOUT = 900 if FULL else 90
WAVES, WAVE = (10, 5000) if FULL else (4, 500)
DESKTOPS, PER_SOURCE, GREEDY = 20, 50, 80
DEADLINE = 2.0
REQUEST = rdp_text.request(rdp_text.cookie(b"x" * 200))    # long enough for the slowest


class Wave:
    """WAVE connections from many sources, half of them dribbling, and GREEDY more from one"""
    def __init__(self, g):
        host, port = g.at("desktops").rsplit(":", 1)
        self.to, self.selector, self.open, self.dribbling, self.cut = (host, int(port)), selectors.DefaultSelector(), 0, [], 0
        self.first = time.monotonic()
        for n in range(WAVE):
            self.add(f"127.80.{n // PER_SOURCE}.1", n % 2)
        for n in range(GREEDY):
            self.add("127.81.0.1", False)
        self.last = time.monotonic()
        self.sent = 0

    def add(self, source, dribbles):
        c = socket.socket()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        c.bind((source, 0))
        c.setblocking(False)
        c.connect_ex(self.to)
        self.selector.register(c, selectors.EVENT_READ, dribbles)
        self.open += 1
        if dribbles:
            self.dribbling.append(c)

    def turn(self, seconds):
        """ends what the gateway has ended"""
        for key, _ in self.selector.select(seconds):
            try:
                data = key.fileobj.recv(100)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            check(not data, "an answer to half a request:", data.hex())
            self.selector.unregister(key.fileobj)
            key.fileobj.close()
            self.open -= 1

    def dribble(self):
        octet = REQUEST[self.sent:self.sent + 1]
        self.sent += 1
        for c in self.dribbling:
            try:
                c.send(octet)
            except OSError:
                pass                                        # it is over, or its connect is not


def alive(pairs, worst):
    for c, h in pairs:
        begin = time.perf_counter()
        c.sendall(b"ping")
        equal(exactly(h, 4), b"ping", "a desktop")
        h.sendall(b"pong")
        equal(exactly(c, 4), b"pong", "a desktop")
        worst.append(1e3 * (time.perf_counter() - begin))


def one(g, pairs, worst):
    w, peak = Wave(g), 0
    while w.open:
        check(time.monotonic() < w.last + DEADLINE + 15 * SLOW, f"{w.open} are open still")
        w.turn(0.05)
        if w.sent < len(REQUEST) - 1:
            w.dribble()
        alive(pairs[:3], worst)
        peak = max(peak, g.rss_kb())
    check(time.monotonic() > w.first + DEADLINE - 0.1, "closed before the deadline")
    return peak, time.monotonic() - w.last


def run(s):
    host = Host("ts1")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host], service=f"handshake-timeout = {int(DEADLINE * 1000)}ms\nmax-openings-source = {PER_SOURCE}"))
    rest = sockets(g)
    pairs = [open_pair(g, host, f"u{n}") for n in range(DESKTOPS)]
    before, worst, peaks, ends = g.rss_kb(), [], [], []
    for n in range(WAVES):
        peak, last = one(g, pairs, worst)
        peaks.append(peak)
        ends.append(last)
        until("only the desktops are left", lambda: sockets(g) <= rest + 2 * DESKTOPS)
    until("all are counted", lambda: (g.drops("desktops").get("handshake-timeout") or 0) >= WAVES * (WAVE + PER_SOURCE))
    drops = g.drops("desktops")
    equal(drops.get("source-limit"), WAVES * (GREEDY - PER_SOURCE), "refused by the limit of their source")
    equal(drops.get("handshake-timeout"), WAVES * (WAVE + PER_SOURCE), "ended by the deadline")
    check(not BARE or max(peaks[1:]) <= peaks[0] * 1.05 + 1024, "memory grows from wave to wave, KB:", peaks)
    alive(pairs, worst)
    for c, h in pairs:
        c.close()
        h.close()
    none_left(g, rest)
    worst.sort()
    print(f"{WAVES * (WAVE + GREEDY)} connections; {1024 * (max(peaks) - before) / WAVE:.0f} octets each, peak {max(peaks) // 1024} MB; the last of a wave ended {max(ends):.1f} s after it came; "
          f"a desktop's ping and pong: median {worst[len(worst) // 2]:.2f} ms, the worst {worst[-1]:.0f} ms", end="")
    g.stop()
