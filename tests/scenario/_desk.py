"""Connections through the gateway octet by octet, for the scenarios of the relay: a host and a desktop that are plain blocking sockets."""
import os, socket, struct, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers"))
import rdp_text
from scenario import SLOW, check, free_port, until

WAIT = 10 * SLOW


def exactly(sock, n):
    got = bytearray()
    while len(got) < n:
        part = sock.recv(min(1 << 16, n - len(got)))
        check(part, f"closed after {len(got)} of {n} octets")
        got += part
    return bytes(got)


def ended(sock):
    """how the other side ended the connection: eof, reset"""
    try:
        while sock.recv(65536):
            pass
        return "eof"
    except ConnectionError:
        return "reset"
    except socket.timeout:
        return "open"


def sockets(g):
    """how many sockets the gateway has open"""
    n = 0
    for fd in os.listdir(f"/proc/{g.pid}/fd"):
        try:
            n += os.readlink(f"/proc/{g.pid}/fd/{fd}").startswith("socket:")
        except OSError:
            pass
    return n


def none_left(g, before):
    """all flows have ended, with their sockets; `before` as sockets(g) said at rest"""
    until("all flows have ended", lambda: sockets(g) <= before)


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Host:
    def __init__(self, label, backlog=512):
        self.label, self.s = label, socket.create_server(("127.0.0.1", free_port()), backlog=backlog)
        self.s.settimeout(WAIT)
        self.at = "127.0.0.1:%d" % self.s.getsockname()[1]

    def accept(self, confirm=True):
        sock = self.s.accept()[0]
        sock.settimeout(WAIT)
        head = exactly(sock, 4)
        exactly(sock, int.from_bytes(head[2:], "big") - 4)
        if confirm:
            sock.sendall(rdp_text.confirm(True))
        return sock


def connect(g, service="desktops"):
    host, port = g.at(service).rsplit(":", 1)
    sock = socket.create_connection((host, int(port)), timeout=WAIT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def request(user):
    return rdp_text.request(rdp_text.cookie(user.encode()))


def confirmed(sock):
    check(exactly(sock, 19) == rdp_text.confirm(True), "no Confirm")
    return sock


def open_pair(g, host, user="alice"):
    """a relayed connection: (the desktop's end, the host's end)"""
    c = connect(g)
    c.sendall(request(user))
    h = host.accept()
    return confirmed(c), h
