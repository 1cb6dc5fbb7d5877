"""PROXY headers before SIP over TCP and over a WebSocket, whole and octet by octet: what a good one says is whom the server is told, one that says nothing leaves the
balancer's own address, and a broken, a cut, an endless or no header ends the connection without an octet and is counted. A source that is not listed is not believed."""
import re, socket, struct, sys

from _ends import endpoint, hop, request
from scenario import PEERS, SLOW, check, equal, until

sys.path.insert(0, PEERS)
import web

SIGN = b"\r\n\r\n\0\r\nQUIT\n"
A, B = socket.inet_aton("192.0.2.77"), socket.inet_aton("192.0.2.1")
A6, B6 = (socket.inet_pton(socket.AF_INET6, x) for x in ("2001:db8::77", "2001:db8::1"))
MAPPED = b"\0" * 10 + b"\xff\xff"
PORTS = struct.pack("!HH", 4711, 5060)


def v2(command, family, rest, length=None):
    return SIGN + bytes([0x20 | command, family]) + struct.pack("!H", len(rest) if length is None else length) + rest


GOOD = [
    (b"PROXY TCP4 192.0.2.77 192.0.2.1 4711 5060\r\n", "192.0.2.77"), (b"PROXY TCP6 2001:db8::77 2001:db8::1 4711 5060\r\n", "2001:db8::77"),
    (b"PROXY TCP6 ::ffff:192.0.2.77 ::ffff:192.0.2.1 4711 5060\r\n", "192.0.2.77"), (b"PROXY UNKNOWN\r\n", None), (b"PROXY UNKNOWN 1 2 3 whatever\r\n", None),
    (v2(1, 0x11, A + B + PORTS), "192.0.2.77"), (v2(1, 0x21, A6 + B6 + PORTS), "2001:db8::77"), (v2(1, 0x21, MAPPED + A + MAPPED + B + PORTS), "192.0.2.77"),
    (v2(1, 0x11, A + B + PORTS + b"\x03\0\x04abcd" + b"\x04\0\x80" + b"\0" * 128), "192.0.2.77"),          # TLVs
    (v2(0, 0, b""), None), (v2(0, 0x11, A + B + PORTS), None), (v2(1, 0, b""), None), (v2(1, 0x31, b"/tmp/a".ljust(108, b"\0") * 2), None)]
BAD = [
    b"PROXY TCP4 192.0.2.77 192.0.2.1 4711\r\n", b"PROXY TCP4 192.0.2.77 192.0.2.1 4711 5060\n" + b"x" * 80, b"PROXY TCP4 192.0.2.777 192.0.2.1 4711 5060\r\n", b"PROXY TCP4 192.0.2.77 192.0.2.1 4711 65536\r\n",
    b"PROXY TCP4 2001:db8::77 192.0.2.1 4711 5060\r\n", b"PROXY UDP4 192.0.2.77 192.0.2.1 4711 5060\r\n", b"PROXY  TCP4 192.0.2.77 192.0.2.1 4711 5060\r\n", b"PROXY " + b"x" * 120, b"proxy TCP4 192.0.2.77 192.0.2.1 4711 5060\r\n",
    v2(2, 0x11, A + B + PORTS), SIGN + b"\x11\x11\0\x0c" + A + B + PORTS, v2(1, 0x11, A + B + PORTS[:3]), v2(1, 0x11, A + B + PORTS, 11), v2(1, 0x21, A + B + PORTS), v2(1, 0x11, b"", 65535),
    SIGN[:-1] + b"X" + v2(1, 0x11, A + B + PORTS)[12:], b"\x16\x03\x01\0\x01", request("127.0.0.1:9", 1, kind="TCP")]


class Client:
    def __init__(self, at, kind, source="127.0.0.1"):
        self.kind, self.at, self.sock = kind, at, socket.create_connection(hop(at), 10 * SLOW, (source, 0))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def say(self, header, message, step):
        octets = header + (message if self.kind == "tcp" else web.request(self.at)[0] + web.frame(web.BINARY, message))
        try:
            for i in range(0, len(octets), step):
                self.sock.sendall(octets[i:i + step])
        except OSError:
            pass                                             # it ends in mid-header

    def ended(self):
        """all that came until the end"""
        got = b""
        try:
            while more := self.sock.recv(65535):
                got += more
        except OSError as e:
            check(not isinstance(e, TimeoutError), "it is kept")
        self.sock.close()
        return got


def run(s):
    server, at = endpoint()
    service = f"failover = no\nproxy-from = 127.0.0.1\nhandshake-timeout = {int(3 * SLOW)}s\nmax-openings-source = off\nmax-flows-source = off"
    g, n, bad = s.gateway(s.ini_gateway() + s.ini_sip([f"a udp://{at}"], service=service, listen="udp://127.0.0.1:0 tcp://127.0.0.1:0 ws://127.0.0.1:0")), 0, 0
    with server:
        for kind in ("tcp", "ws"):
            for step in (1 << 20, 1):
                for header, source in GOOD:
                    n += 1
                    c = Client(g.at("calls", kind), kind)
                    c.say(header, request("phone.invalid", n, kind=kind.upper(), mark=kind), step)
                    got = re.search(rb"branch=z9hG4bK%b%d;.*received=(\S+)" % (kind.encode(), n), server.recv(65535))
                    equal(got and got[1].decode(), source or "127.0.0.1", f"{kind}, by {step} octets: who comes behind {header[:60]}")
                    c.sock.close()
                for header in BAD:
                    bad += 1
                    c = Client(g.at("calls", kind), kind)
                    c.say(header, b"", step)
                    equal(c.ended(), b"", f"{kind}, by {step} octets: the answer to {header[:60]}")
        until("they are counted", lambda: g.drops().get("proxy-header", 0) >= bad)
        halves = [(Client(g.at("calls", "tcp"), "tcp"), header[:20]) for header in (GOOD[0][0], GOOD[5][0])]    # waited for no longer than for any opening
        for c, header in halves:
            c.say(header, b"", 100)
        for c, _ in halves:
            equal(c.ended(), b"", "half a header")
        until("they are counted", lambda: g.drops().get("handshake-timeout", 0) >= 2)
        c = Client(g.at("calls", "tcp"), "tcp", "127.0.0.3")
        c.say(GOOD[0][0], b"", 100)
        c.ended()
        equal(g.drops().get("proxy-header"), bad, "who is not listed has sent no header, but garbage")
        server.settimeout(0.1)
        try:
            check(False, "something has reached the server:", server.recv(65535))
        except socket.timeout:
            pass
        g.stop()
    print(f"{n} good, {bad} bad", end="")
