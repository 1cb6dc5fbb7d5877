"""Desktops that do not read while their hosts send all they can: the hosts are slowed down, the gateway's memory and processor stay small, and every octet
arrives later. A relay that reads on for a side that does not take it grows without bound."""
import os, socket, time

from _desk import Host, WAIT, exactly, none_left, open_pair, sockets
from scenario import BARE, check, equal

TIMEOUT = 90
FLOWS = 20
OFFERED = 64 << 20
GROWTH_KB = 8 * 1024        # of which 20 flows may use 64 KB each


def cpu(pid):
    with open(f"/proc/{pid}/stat") as f:
        v = f.read().rsplit(")", 1)[1].split()
    return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")


def run(s):
    host = Host("ts1")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host]))
    rest = sockets(g)
    pairs = [open_pair(g, host, f"u{n}") for n in range(FLOWS)]
    block, before = os.urandom(65536), g.rss_kb()
    sent = []
    for c, h in pairs:
        h.settimeout(0.2)
        n = 0
        try:
            while n < OFFERED:
                n += h.send(block[n % 65536:])
        except socket.timeout:
            pass
        h.settimeout(WAIT)
        sent.append(n)
    check(max(sent) < OFFERED, "the hosts were not slowed down:", sent)
    start = cpu(g.pid)
    time.sleep(1)
    check(cpu(g.pid) - start < 0.3, "the gateway is busy while nobody reads:", cpu(g.pid) - start)
    if BARE:
        check(g.rss_kb() - before < GROWTH_KB, f"{g.rss_kb() - before} KB more for {FLOWS} slow desktops")
    for (c, h), n in zip(pairs, sent):
        c.sendall(b"the other way")
        equal(exactly(h, 13), b"the other way", "the other way is open")
        got = exactly(c, n)
        equal(got == (block * (n // 65536 + 1))[:n], True, "what came later")
        h.close()
        c.close()
    none_left(g, rest)
