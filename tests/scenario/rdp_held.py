"""As many desktops as the default allows, held in one process while others come and go, bulk moves, files are reloaded, a host drains and connections are
reset: 500 for a few seconds; with HOLDFAST_FULL=1 9,000 for ten minutes. At the end each of them answers from the host where it began, none was cut, and the
memory of a held session is bounded. A flow that ages, a place that is not given back, or a timer that outlives the opening fails it."""
import threading, time, traceback

from _desk import Host, confirmed, connect, exactly, request, reset, sockets
from scenario import BARE, FULL, Peer, check, equal, until

TIMEOUT = 1200 if FULL else 90
HELD, SECONDS, GUESTS, PACE = (9000, 600, 150, 1.0) if FULL else (500, 5, 40, 0.02)   # PACE: seconds from one round of guests to the next
LANES = 3                                                   # peers that hold them, each within its descriptors
RSS_EACH = 6 << 10                                          # octets: a flow has its two ends, a deadline and no buffer while it is quiet
BULK = b"0123456789abcdef" * 4096                           # 64 KiB


class Mixed(threading.Thread):
    """guests who say little, much, or nothing and go; half of them by a reset"""
    def __init__(self, g, host):
        super().__init__(daemon=True)
        self.g, self.host, self.stop, self.guests, self.octets, self.fault = g, host, False, 0, 0, None

    def pair(self, user):
        c = connect(self.g, "others")
        c.sendall(request(user))
        h = self.host.accept()
        return confirmed(c), h

    def one(self):
        pairs = [self.pair(f"guest{n}") for n in range(GUESTS)]
        for n, (c, h) in enumerate(pairs):
            text = (b"x", BULK, b"")[n % 3]
            for a, b in ((c, h), (h, c)):
                a.sendall(text)
                if exactly(b, len(text)) != text:
                    raise ValueError("octets that were not sent")
                self.octets += len(text)
        for n, (c, h) in enumerate(pairs):
            (reset if n % 2 else lambda x: x.close())(c)
            h.close()
        self.guests += GUESTS

    def run(self):
        try:
            while not self.stop:
                self.one()
                time.sleep(PACE)
        except Exception:                                   # told by who waits for it
            self.fault = traceback.format_exc()


def events(g, ini, hosts, mixed, seconds):
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end or turn < 3:
        name = hosts[turn % len(hosts)].label
        g.ctl("drain", name)
        g.reload(ini + f"# {turn}\n")
        g.ctl("undrain", name)
        seen = mixed.guests
        until("guests come and go", lambda: mixed.guests > seen or mixed.fault, 30)
        check(not mixed.fault, f"a guest: {mixed.fault}")
        turn += 1
    return turn


def run(s):
    hosts = [s.rdp_host(f"ts{n}") for n in (1, 2, 3)]
    guests = Host("guests")
    ini = (s.ini_gateway(extra=f"max-flows = {HELD + 3 * GUESTS}") + s.ini_rdp(hosts) + s.ini_rdp([guests], "probe = none\nredirect-rounds = off", name="others", pool_name="others"))    # guests come again and again, and on a slow machine each stays for a while
    g = s.gateway(ini)
    rest, before, begin = sockets(g), g.rss_kb(), time.monotonic()
    lanes = [Peer(s, f"held{n}", "rdp_client.py", g.at("desktops")) for n in range(LANES)]
    for n, lane in enumerate(lanes):
        lane.tell(f"many {HELD // LANES} prefix=u{n}x at=127.90.{n}.1")
    for n, lane in enumerate(lanes):
        equal(lane.answer().get("confirm"), HELD // LANES, "desktops that came")
    took, each = time.monotonic() - begin, 1024 * (g.rss_kb() - before) / HELD
    check(not BARE or each < RSS_EACH, f"{each:.0f} octets a session")
    mixed = Mixed(g, guests)
    mixed.start()
    turns = events(g, ini, hosts, mixed, SECONDS)
    mixed.stop = True
    mixed.join(60)
    check(not mixed.fault and not mixed.is_alive(), f"a guest: {mixed.fault}")
    begin = time.monotonic()
    for lane in lanes:
        got = lane.ask("check")
        equal((got["same"], got["moved"], got["lost"]), (HELD // LANES, 0, 0), "held desktops")
    checked, after = time.monotonic() - begin, 1024 * (g.rss_kb() - before) / HELD
    until("only they are left", lambda: sockets(g) <= rest + 2 * HELD)
    check(not BARE or after < each + RSS_EACH, f"{after:.0f} octets a session after it all, {each:.0f} before")
    print(f"{HELD} came in {took:.1f} s, {each:.0f} octets each; beside {mixed.guests} guests, {mixed.octets >> 20} MB and {turns} drains and reloads all live, {after:.0f} octets each; asked in {checked:.1f} s", end="")
    for lane in lanes:
        lane.ask("close")
    until("no flow is left", lambda: sockets(g) <= rest)
    g.stop()
