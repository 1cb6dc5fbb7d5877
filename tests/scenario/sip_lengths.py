"""Content-Length in every spelling, one or two of them, over UDP, TCP, TLS and WebSocket, whole and in pieces: what has one meaning goes to the server with its body and
leaves the connection at the next message; what could have two is answered 400, ends a connection, and neither it nor what stands behind it reaches a server
(RFC 3261 18.3, 20.14; B41, B43)."""
import socket, sys

from _certs import Authority
from _ends import endpoint, hop
from scenario import PEERS, SLOW, check
from sip_web_frames import Page

sys.path.insert(0, PEERS)
import web

BODY = b"0123456789"
ONE = ["Content-Length: 10", "l:10", "cOnTeNt-LeNgTh: 10", "Content-Length: 0010", "Content-Length: " + 40 * "0" + "10", "Content-Length: 10 ", "Content-Length:\t10\t", "Content-Length: \r\n 10",
       "Content-Length:\r\n\t10\r\n ", "Content-Length : 10", "Content-Length\t: 10", "Content-Length: 10\r\nX: \r\n Content-Length: 0"]
NONE = ["Content-Length: 10\r\nContent-Length: 10", "Content-Length: 10\r\nl: 0", "l: 10\r\nl: 10", "L:10\r\ncontent-LENGTH:10", "Content-Length: 10\r\nl:\r\n 10", "Content-Length: 10\r\nContent-Length : 0",
        "Content-Length: 10\r\nContent-Length\r\n : 0", "Content-Length: 10\r\nContent-Length", "Content-Length: 10\r\nX: y\nContent-Length: 0", "X: y\nContent-Length: 0\r\nContent-Length: 10",
        "Content-Length: 10\r\nX: y\rl: 0", "Content-Length: 10\r\nContent-Length\0: 0", "Content-Length: 10\r\n\x0bContent-Length: 0", "Content-Length: 10, 10", "Content-Length: 10,", "Content-Length: +10",
        "Content-Length: -10", "Content-Length: -0", "Content-Length: 1\r\n 0", "Content-Length: 10\r\n 0", "Content-Length: 1 0", "Content-Length: 0xa", "Content-Length: 1e1", "Content-Length: 10.0",
        "Content-Length: 10;x=1", "Content-Length: (c) 10", "Content-Length: 10 (c)", 'Content-Length: "10"', "Content-Length: ", "Content-Length:", "Content-Length: ten", "Content-Length: \xb2",
        "Content-Length: 10\0", "Content-Length: 4294967306", "Content-Length: 18446744073709551626", "Content-Length: 99999999999999999999999999"]


def message(call, length="Content-Length: 0", body=b"", kind="TCP"):
    return (f"MESSAGE sip:service@lab.example SIP/2.0\r\nVia: SIP/2.0/{kind} 127.0.0.1:9;branch=z9hG4bK{call};rport\r\nMax-Forwards: 70\r\nFrom: <sip:a@lab.example>;tag=a\r\n"
            f"To: <sip:b@lab.example>\r\nCall-ID: {call}\r\nCSeq: 1 MESSAGE\r\n{length}\r\n\r\n").encode("latin-1") + body


class Server:
    """takes and says nothing; a message is looked for by its Call-ID"""
    def __init__(self):
        self.sock, self.at = endpoint()
        self.came = {}

    def has(self, call):
        self.sock.setblocking(False)
        try:
            while True:
                got = self.sock.recv(65535)
                self.came[got.split(b"\r\nCall-ID: ", 1)[1].split(b"\r\n", 1)[0].decode()] = got
        except BlockingIOError:
            return call in self.came

    def wants(self, call):
        self.sock.settimeout(10 * SLOW)
        while call not in self.came:
            got = self.sock.recv(65535)
            self.came[got.split(b"\r\nCall-ID: ", 1)[1].split(b"\r\n", 1)[0].decode()] = got
        return self.came[call]


class Walk:
    def __init__(self, s):
        ca, self.server, self.n = Authority(s), Server(), 0
        self.tls = ca.trusts()
        self.g = s.gateway(s.ini_gateway() + s.ini_sip([f"a udp://{self.server.at}"], listen="udp://127.0.0.1:0 tcp://127.0.0.1:0 tls://127.0.0.1:0 ws://127.0.0.1:0",
                           service=f"failover = no\nmax-openings-source = off\nanswer-rate = 100000\ntls-certificate = {ca.make('gw', 'DNS:gw.example.com').line()}"))

    def stream(self, kind):
        c = socket.create_connection(hop(self.g.at("calls", kind)), timeout=10 * SLOW)
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.tls.wrap_socket(c, server_hostname="gw.example.com") if kind == "tls" else c

    def answer(self, kind, octets, step):
        """all that comes back for it: of a connection, to its end"""
        if kind == "udp":
            with endpoint()[0] as c:
                c.sendto(octets, hop(self.g.at()))
                return c.recv(65535)
        if kind == "ws":
            p = Page(self.g.at("calls", "ws"))
            p.say(web.frame(web.BINARY, octets))
            return p.hear(lambda f: f[0] == web.BINARY)[-1][1]
        with self.stream(kind) as c:
            got = b""
            try:
                self.send(c, octets, step)
            except OSError:                                  # it ends in mid-message
                pass
            try:
                while more := c.recv(65535):
                    got += more
            except OSError as e:
                check(not isinstance(e, TimeoutError), "it has not ended")
            return got

    def send(self, c, octets, step):
        for i in range(0, len(octets), step):
            c.sendall(octets[i:i + step])

    def deliver(self, kind, octets, step):
        if kind == "udp":
            with endpoint()[0] as c:
                c.sendto(octets, hop(self.g.at()))
        elif kind == "ws":
            Page(self.g.at("calls", "ws")).say(web.frame(web.BINARY, octets))
        else:
            self.kept = self.stream(kind)                    # it stays until the next
            self.send(self.kept, octets, step)

    def one(self, kind, text, means, step):
        self.n += 1
        call, behind, framed = f"{kind}{self.n}", f"{kind}{self.n}behind", kind in ("tcp", "tls")
        octets = message(call, text, BODY, kind.upper()) + (message(behind, kind=kind.upper()) if framed else b"")
        what = f"{kind}, {text!r}, by {step} octets:"
        if means:
            self.deliver(kind, octets, step)
            check(self.server.wants(call).endswith(b"\r\n\r\n" + BODY), what, self.server.came.get(call))
            check(not framed or self.server.wants(behind), what)
            return
        got = self.answer(kind, octets, step)
        check(got.startswith(b"SIP/2.0 400 ") and got.count(b"SIP/2.0 400 ") == 1, what, got)
        check(not self.server.has(call) and behind not in self.server.came, what, "it has reached the server")


def run(s):
    w = Walk(s)
    for kind in ("udp", "tcp", "tls", "ws"):
        for text, means in [(x, True) for x in ONE] + [(x, False) for x in NONE]:
            for step in (1 << 20, 37) if kind in ("tcp", "tls") else (1 << 20,):
                w.one(kind, text, means, step)
    w.g.stop()
    print(f"{w.n} messages", end="")
