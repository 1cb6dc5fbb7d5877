"""64 MB each way at once through one connection, in chunks of every size, the request octet by octet, octets behind it at once: both arrive as they
were sent. A relay that loses, doubles or reorders what one side did not take at once changes a digest."""
import hashlib, os, random, threading

from _desk import Host, confirmed, connect, open_pair, request
from scenario import check, equal

TIMEOUT = 120
MB = 1 << 20
SIZE = 64 * MB
SOURCE = os.urandom(4 * MB)


def send(sock, seed, digest, first=b""):
    rng, left = random.Random(seed), SIZE
    digest.update(first)
    while left:
        n = min(left, rng.choice((1, 7, 100, 1460, 5000, 65535, 65536, 65537, 300000)))
        at = rng.randrange(len(SOURCE) - n)
        part = memoryview(SOURCE)[at:at + n]
        sock.sendall(part)
        digest.update(part)
        left -= n


def receive(sock, digest, n):
    buf = bytearray(1 << 20)
    while n:
        got = sock.recv_into(buf, min(n, len(buf)))
        check(got, f"closed with {n} octets to come")
        digest.update(memoryview(buf)[:got])
        n -= got


def both_ways(c, h, first):
    sums = [hashlib.sha256() for _ in range(4)]
    faults = []

    def safely(fn, *args):
        try:
            fn(*args)
        except Exception as e:
            faults.append(repr(e))
    jobs = [(send, c, 1, sums[0], first), (receive, h, sums[1], SIZE + len(first)), (send, h, 2, sums[2]), (receive, c, sums[3], SIZE)]
    threads = [threading.Thread(target=safely, args=j) for j in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(not faults, "; ".join(faults))
    equal(sums[1].hexdigest(), sums[0].hexdigest(), "what the host got")
    equal(sums[3].hexdigest(), sums[2].hexdigest(), "what the desktop got")


def run(s):
    host = Host("ts1")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host]))
    c = connect(g)
    pdu, surplus = request("alice"), SOURCE[:5000]
    for i in range(len(pdu) - 1):
        c.send(pdu[i:i + 1])
    c.sendall(pdu[-1:] + surplus)                            # they wait in the gateway for the host's answer
    h = host.accept()
    confirmed(c)
    both_ways(c, h, surplus)
    c.close()
    h.close()
    c, h = open_pair(g, host, "bob")
    both_ways(c, h, b"")
