"""Listeners are added and removed by reload, again and again, while datagrams arrive at one that stays and desktops use another: not a datagram is lost there, no
connection is cut, an added one serves, a removed one is closed. A gateway that opens its sockets anew loses what their queues held."""
import socket, threading, time

from _desk import Host, exactly, open_pair
from scenario import check, equal, place, until

TIMEOUT = 90
RATE = 1000
RELOADS = 12


class Sink:
    """a SIP server that answers nothing and notes the Call-IDs that come"""
    def __init__(self, label):
        self.label, self.got, self.s = label, set(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.s.bind(("127.0.0.1", 0))
        self.at = "127.0.0.1:%d" % self.s.getsockname()[1]
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            m = self.s.recv(65536)
            at = m.find(b"Call-ID: ") + 9
            self.got.add(m[at:m.index(b"\r", at)])


def options(n, port):
    return (f"OPTIONS sip:u@example.com SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK{n}\r\nMax-Forwards: 70\r\nFrom: <sip:a@example.com>;tag=t{n}\r\n"
            f"To: <sip:u@example.com>\r\nCall-ID: c{n}\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n").encode()


class Source(threading.Thread):
    def __init__(self, to):
        super().__init__(daemon=True)
        self.to, self.sent, self.going = to, 0, True

    def run(self):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("127.0.0.1", 0))
        begin = time.monotonic()
        while self.going:
            while self.sent < (time.monotonic() - begin) * RATE:
                s.sendto(options(self.sent, s.getsockname()[1]), self.to)
                self.sent += 1
            time.sleep(0.002)


def run(s):
    sink, host = Sink("pbx1"), Host("ts1")

    def ini(extra_udp="", extra_tcp=""):
        return (s.ini_gateway() + s.ini_sip([sink], "probe = none", service="failover = no", listen=f"udp://127.0.0.1:0 {extra_udp}") +
                s.ini_rdp([host], listen=f"tcp://127.0.0.1:0 {extra_tcp}"))
    g = s.gateway(ini())
    pair = open_pair(g, host)
    where = g.at("calls", "udp").rsplit(":", 1)
    source = Source((where[0], int(where[1])))
    source.start()
    for turn in range(RELOADS):
        tcp, udp = place(), place()
        g.reload(ini(f"udp://{udp}", f"tcp://{tcp}"))
        until("the log says where it listens now", lambda: f"event=listen service=desktops uri=tcp://{tcp}" in g.text())
        g.uris["desktops"] = [f"tcp://{tcp}", *g.uris["desktops"]]
        x = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        x.sendto(options(f"added{turn}", 1), (udp.split(":")[0], int(udp.split(":")[1])))
        until("the added datagram listener serves", lambda: b"cadded%d" % turn in sink.got)
        c, h = open_pair(g, host, f"u{turn}")                # through the added one
        g.uris["desktops"].pop(0)
        g.reload(ini())
        until("the removed listener is closed", lambda: refused(tcp))
        c.sendall(b"still there")
        equal(exactly(h, 11), b"still there", "a desktop of a listener that was removed")
        c.close(), h.close(), x.close()
        time.sleep(0.1)
    source.going = False
    source.join()
    check(source.sent > RATE / 2, "too few datagrams to mean anything:", source.sent)
    until("the last ones are there", lambda: sum(k.startswith(b"c") and not k.startswith(b"cadded") for k in sink.got) == source.sent)
    pair[0].sendall(b"from the start")
    equal(exactly(pair[1], 14), b"from the start", "the first desktop")


def refused(at):
    try:
        socket.create_connection((at.split(":")[0], int(at.split(":")[1])), timeout=1).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False
