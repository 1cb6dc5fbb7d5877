"""What comes over a WebSocket, as octets, in the clear and over TLS: every message of the torture set, in one frame, in fragments of any size, and in pieces on the
wire, which has to meet the oracle's word for a datagram and leave the connection open. One that is longer than any may be is answered 513 as over other connections,
and then the connection ends with 1009, which RFC 6455 7.4.1 has for it: the client's transaction has its answer, and it knows why it has to connect anew.
And what no client may send, each with its answer of HTTP, or a Close with its code, while a page beside it goes on being served.
Pings without end are answered within bounds (B123; RFC 6455 5, 7.4, RFC 7118 5). The RFCs' own messages come with HOLDFAST_SHARED."""
import csv, os, random, select, socket, sys, time

from _certs import Authority
from scenario import FULL, PEERS, SLOW, check, equal

sys.path.insert(0, PEERS)
import web

TIMEOUT = 120
DATA = os.path.join(os.path.dirname(PEERS), "data", "sip", "extra")
MASK = b"\0\0\0\0"


class Page:
    """a WebSocket as a socket"""

    def __init__(self, at, opened=True, tls=None, **k):
        host, port = at.rsplit(":", 1)
        self.sock, self.frames = socket.create_connection((host, int(port)), timeout=10 * SLOW), web.Reader()
        self.came = []
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.sock = tls.wrap_socket(self.sock, server_hostname="gw.example.com")
        if not opened:
            return
        head, key = web.request(at, **k)
        self.sock.sendall(head)
        answer = self.head()
        check(web.accepts(answer, key), "not opened:", answer)

    def head(self):
        got = b""
        while b"\r\n\r\n" not in got:
            more = self.sock.recv(1)                     # no octet of a frame
            if not more:
                break
            got += more
        return got

    def say(self, octets):
        self.sock.sendall(octets)

    def hear(self, stop):
        """frames up to the first that `stop` takes, or the end"""
        got = []
        while not got or not stop(got[-1]):
            while not self.came:
                try:
                    data = self.sock.recv(65536)
                except ConnectionResetError:
                    data = b""
                if not data:
                    return got + [(None, b"")]
                self.came += self.frames.feed(data)
            got.append(self.came.pop(0))
        return got

    def close_code(self):
        got = self.hear(lambda f: f[0] == web.CLOSE)
        code = int.from_bytes(got[-1][1][:2], "big") if got[-1][0] == web.CLOSE else None
        if code:
            equal(self.hear(lambda f: False)[-1][0], None, "behind the Close")
        return code


def options(call, more="", body=""):
    return (f"OPTIONS sip:service@lab.example SIP/2.0\r\nVia: SIP/2.0/WS p.invalid;branch=z9hG4bK{call}\r\nMax-Forwards: 70\r\nFrom: <sip:a@lab.example>;tag=1\r\n"
            f"To: <sip:service@lab.example>\r\nCall-ID: {call}\r\nCSeq: 1 OPTIONS\r\n{more}Content-Length: {len(body)}\r\n\r\n{body}").encode()


# ---- the torture set

def rows():
    sets = [DATA]
    shared = os.path.join(os.environ.get("HOLDFAST_SHARED", ""), "torture", "sip")
    if os.path.isdir(shared):
        sets.append(shared)
    for d in sets:
        with open(os.path.join(d, "expected.tsv"), newline="", encoding="latin-1") as f:
            for r in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
                with open(os.path.join(d, r["file"]), "rb") as m:
                    yield r, m.read()


def octets(message, rng):
    return b"".join(web.frame(0 if i else web.BINARY, message[i:i + 1], fin=i == len(message) - 1) for i in range(len(message)))


CUTS = {"whole": lambda message, rng: web.frame(web.BINARY, message), "random": lambda message, rng: web.fragments(web.BINARY, message, rng, 9), "octets": octets,
        "pieces": lambda message, rng: web.fragments(web.BINARY, message, rng, 3)}    # ... which come in pieces


def say(page, cut, out, rng):
    while cut == "pieces" and len(out) > 1:
        n = rng.randrange(1, min(len(out), 400))
        page.say(out[:n])
        out = out[n:]
    page.say(out)


def one(page, sink, message, cut, rng, n):
    """what becomes of a message: the gateway's word for it, or `forward`"""
    say(page, cut, CUTS[cut](message, rng) + web.frame(web.BINARY, options(f"end{n}")) + web.frame(web.PING, n.encode()), rng)
    came = page.hear(lambda f: f == (web.PONG, n.encode()))
    check(came[-1][0] == web.PONG, f"{n}, {cut}: the connection ended", message[:300])
    sent = []
    while not sent or f"Call-ID: end{n}\r\n".encode() not in sent[-1]:
        sent.append(sink.recv(65535))
    answers = [f[1] for f in came if f[0] in (web.TEXT, web.BINARY)]
    check(len(sent) <= 2 and len(answers) <= 1, f"{n}, {cut}: {len(sent)} messages, {len(answers)} answers", message[:300])
    return "forward" if len(sent) == 2 else "drop" if not answers else answers[0][8:11].decode() if answers[0][:4] == b"SIP/" else "pong"


def too_long(page, message, cut, rng):
    """513, and then the end with 1009"""
    say(page, cut, CUTS[cut](message, rng), rng)
    answer = page.hear(lambda f: f[0] in (web.TEXT, web.BINARY))[-1]
    check(answer[1].startswith(b"SIP/2.0 513 "), f"{cut}: 70 KB is answered", answer)
    equal(page.close_code(), 1009, f"{cut}: the end behind 70 KB")
    return "513"


def torture(s, g, sink, kind, cuts, tls=None):
    new = lambda: Page(g.at("calls", kind), tls=tls)
    page, rng, n, wrong = new(), random.Random(19), 0, []
    for r, message in rows():
        if not message:
            continue
        word = r["action_udp"] if r["action_udp"] != "-" and r["action_stream"] != "pong" else r["action_stream"]     # keep-alives are a connection's
        want = {"drop" if x == "relay" else x for x in [word, *r["also_ok"].split(";")]}     # no Via of theirs is ours
        for cut in cuts:
            if cut == "octets" and len(message) > 4000:
                continue
            n += 1
            if len(message) > 65535:
                got, page = too_long(page, message, cut, rng), new()
            else:
                got = one(page, sink, message, cut, rng, f"{kind}{n}")
            if got not in want:
                wrong.append(f"{r['file']}, {cut}: {got}, not {want}")
    check(not wrong, f"{len(wrong)} of {n} over {kind}:", "\n".join(wrong[:20]))
    return n


# ---- what no client may send

OPENINGS = [  # arguments of the request, status
    (dict(protocol=None), 400), (dict(protocol="chat, xmpp"), 400), (dict(version="8"), 426), (dict(origin="https://evil.example.net"), 403), (dict(key="short"), 400),
    (dict(more="Content-Length: 3\r\n"), 400), (dict(more="X: " + "a" * 9000 + "\r\n"), 431), (dict(more="Bad name: 1\r\n"), 400), (dict(path=""), 400)]

FRAMES = [  # name, octets, the Close's code
    ("not masked", b"\x82\x03abc", 1002), ("a reserved bit", b"\xc2\x83" + MASK + b"abc", 1002), ("a reserved opcode", b"\x83\x80" + MASK, 1002),
    ("2^63 octets", b"\x82\xff\x80\0\0\0\0\0\0\0" + MASK, 1002), ("2^62 octets", b"\x82\xff\x40\0\0\0\0\0\0\0" + MASK + b"x" * 65536, 1009),
    ("a length not in its shortest form", b"\x82\xfe\0\x05" + MASK + b"abcde", 1002), ("64 KiB", web.frame(web.BINARY, b"x" * 65536), 1009),
    ("64 KiB in fragments", web.frame(web.BINARY, b"x" * 40000, fin=False) + web.frame(0, b"x" * 25536), 1009), ("a long ping", b"\x89\xfe\0\x7e" + MASK, 1002),
    ("a ping in fragments", web.frame(web.PING, b"a", fin=False), 1002), ("a continuation of nothing", web.frame(0, b"a"), 1002),
    ("a message in a message", web.frame(web.TEXT, b"a", fin=False) + web.frame(web.TEXT, b"b"), 1002), ("text that is none", web.frame(web.TEXT, b"\xff\xfe"), 1007),
    ("a close in mid-message", web.frame(web.BINARY, b"OPTIONS", fin=False) + web.frame(web.CLOSE, b"\x03\xe8"), 1000), ("a close with an odd code", web.frame(web.CLOSE, b"\x03\xee"), 1002),
    ("a close of one octet", web.frame(web.CLOSE, b"\x03"), 1002)]


def served(g, page, sink, n):
    page.say(web.frame(web.BINARY, options(f"served{n}")))
    while f"Call-ID: served{n}\r\n".encode() not in sink.recv(65535):
        pass


def abuse(s, g, sink):
    beside, n, at = Page(g.at("calls", "ws"), origin="https://phones.example.com"), 0, g.at("calls", "ws")
    for k, status in OPENINGS:
        p = Page(at, opened=False)
        p.say(web.request(at, **k)[0])
        equal(p.head()[:13], b"HTTP/1.1 %d " % status, f"opening {str(k)[:60]}")
        served(g, beside, sink, n := n + 1)
    for octets, status in ((b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", 405), (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 426), (b"\x16\x03\x01\x02\0\x01\0", 400), (options("a"), 400)):
        p = Page(at, opened=False)
        p.say(octets)
        equal(p.head()[:13], b"HTTP/1.1 %d " % status, f"opening {octets[:20]}")
    for name, octets, code in FRAMES:
        p = Page(at)
        p.say(octets)
        equal(p.close_code(), code, name)
        served(g, beside, sink, n := n + 1)
    for octets in (b"GET / HTTP/1.1\r\n", None):          # slow ones have handshake-timeout
        p = Page(at, opened=octets is None)
        p.say(octets or web.frame(web.BINARY, b"OPTIONS", fin=False))
        for _ in range(int(40 * SLOW)):
            try:
                p.sock.send(b"x" if octets else web.frame(0, b"x", fin=False))
            except OSError:
                break
            time.sleep(0.1)
        else:
            check(False, "a slow one was kept")
    drops = g.drops()
    check(drops.get("web-refused", 0) >= len(OPENINGS) and drops.get("web-broken", 0) >= 8 and drops.get("too-big", 0) >= 3 and drops.get("handshake-timeout", 0) >= 2, "counted:", drops)


def pings(s, g, sink):
    """who reads has his pongs, fewer than his pings; who does not is ended, and costs no more than a buffer"""
    p, flood = Page(g.at("calls", "ws")), web.frame(web.PING, b"x" * 125) * 100
    for _ in range(20):
        p.say(flood)
    p.say(web.frame(web.PING, b"last"))
    got = p.hear(lambda f: f == (web.PONG, b"last"))
    check(1 <= len(got) <= 2001, f"{len(got)} pongs")
    before, p = g.rss_kb(), Page(g.at("calls", "ws"))
    p.sock.setblocking(False)
    end = time.monotonic() + 3 * SLOW
    while time.monotonic() < end:
        try:
            p.sock.send(flood)
        except BlockingIOError:
            select.select([], [p.sock], [], 0.05)
        except OSError:
            break
    check(g.rss_kb() < before + 4096, f"{before} KB became {g.rss_kb()}")


def fragments(s, g, sink):
    """B123: one message in 1, 2 and 50 fragments with a ping in between, and two messages in one read"""
    p = Page(g.at("calls", "ws"))
    for n in (1, 2, 50):
        m, out = options(f"parts{n}", body="x" * 3000), b""
        for i in range(n):
            out += web.frame(web.TEXT if i == 0 else 0, m[len(m) * i // n:len(m) * (i + 1) // n], fin=i == n - 1) + (web.frame(web.PING, b"%d" % i) if i < n - 1 else b"")
        p.say(out + web.frame(web.TEXT, options(f"behind{n}")))
        first, second = sink.recv(65535), sink.recv(65535)
        check(f"Call-ID: parts{n}\r\n".encode() in first and first.endswith(b"\r\n\r\n" + b"x" * 3000) and f"Call-ID: behind{n}\r\n".encode() in second, f"{n} fragments:", first, second)


def run(s):
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)   # a server that takes and says nothing
    sink.bind(("127.0.0.1", 0))
    sink.settimeout(10 * SLOW)
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    service = "ws-origin = https://phones.example.com\nfailover = no\nhandshake-timeout = 1s"
    ca = Authority(s)
    service += f"\ntls-certificate = {ca.make('gw', 'DNS:gw.example.com').line()}"
    g = s.gateway(s.ini_gateway() + s.ini_sip([f"pbx1 127.0.0.1:{sink.getsockname()[1]}"], listen="udp://127.0.0.1:0 ws://127.0.0.1:0 wss://127.0.0.1:0", service=service))
    n = torture(s, g, sink, "ws", CUTS) + torture(s, g, sink, "wss", CUTS if FULL else ["random"], ca.trusts())
    for part in (fragments, abuse, pings):
        part(s, g, sink)
    sink.close()
    print(f"{n} messages in random frames, {len(OPENINGS) + 4} openings and {len(FRAMES)} frames refused", end="")
