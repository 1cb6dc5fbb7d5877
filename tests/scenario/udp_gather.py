"""Datagrams at a high rate are read once a pause, not once an arrival: 6,000 requests at some six a millisecond cost the gateway's threads less than half as
many sleeps, each request is still answered by its server, also while a reload takes over in a pause; and slow ones are read at once again after that.
Fails when gathering never begins (a sleep a message), when a socket that is not watched is not read again, or when it goes on for ever."""
import socket, time

from scenario import check, equal, until

N = 6000
BEHIND = 120                                               # requests without an answer, from which on a gateway that is slow is waited for


def request(port, n):
    return ("OPTIONS sip:a@example.com SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:%d;branch=z9hG4bKg%d\r\nFrom: <sip:b@example.com>;tag=%d\r\nTo: <sip:a@example.com>\r\n"
            "Call-ID: g%d@example.com\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n" % (port, n, n, n)).encode()


def sleeps(pid):
    import glob
    return sum(int(line.split()[1]) for t in glob.glob("/proc/%d/task/*/status" % pid) for line in open(t) if line.startswith("voluntary"))


def answer(sock, data, peer):
    head, _, _ = data.partition(b"\r\n\r\n")
    sock.sendto(b"SIP/2.0 200 OK" + head[head.index(b"\r\n"):] + b"\r\n\r\n", peer)


class Line:
    """A client and a server, each one socket: each direction is one worker's."""
    def __init__(self, g, server):
        self.server, self.got, self.asked = server, 0, 0
        self.client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.client.bind(("127.0.0.1", 0))
        self.client.setblocking(False)
        self.port = self.client.getsockname()[1]
        host, port = g.at("calls").rsplit(":", 1)
        self.to = (host, int(port))

    def ask(self, n=1):
        for _ in range(n):
            self.asked += 1
            self.client.sendto(request(self.port, self.asked), self.to)

    def turn(self):
        try:
            while True:
                answer(self.server, *self.server.recvfrom(65536))
        except BlockingIOError:
            pass
        try:
            while True:
                self.got += self.client.recv(65536).startswith(b"SIP/2.0 200")
        except BlockingIOError:
            pass

    def all_answered(self):
        self.turn()
        return self.got == self.asked


def rate(line, n, burst, each=lambda k: None):
    for k in range(n // burst):
        until("fewer are waiting", lambda: line.turn() or line.asked - line.got < BEHIND, every=0.001)
        line.ask(burst)
        end = time.monotonic() + 0.002
        while time.monotonic() < end:
            line.turn()
        each(k)
    until("all are answered", line.all_answered, every=0.001)


def run(s):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    server.bind(("127.0.0.1", 0))
    server.setblocking(False)
    servers = ["pbx1 127.0.0.1:%d" % server.getsockname()[1]]
    ini = s.ini_gateway(workers=1) + s.ini_sip(servers)
    g = s.gateway(ini)
    line = Line(g, server)
    before = sleeps(g.pid)
    rate(line, N, 12)
    spent = sleeps(g.pid) - before
    check(spent < N, "%d sleeps for %d messages" % (spent, 2 * N))
    rate(line, N, 12, lambda k: g.reload() if k == 150 else None)
    for _ in range(20):                                     # slow ones, from a socket that was gathered a moment ago
        line.ask()
        until("a slow one is answered", line.all_answered, every=0.001)
        time.sleep(0.02)
    equal(g.drops(), {}, "nothing was dropped")
