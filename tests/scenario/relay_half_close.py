"""A side that has closed still gets what the other has to say; FIN before the Confirm waits its turn and goes on; a flow whose both sides have closed ends
whatever the order. Without the FIN passed on a side waits for ever; without the look behind the first step a flow stays open."""
import hashlib, os, socket, threading

from _desk import Host, confirmed, connect, ended, exactly, none_left, open_pair, rdp_text, request, sockets
from scenario import equal, until

BULK = os.urandom(2 << 20)


def after_fin(first, other, what):
    """first closes its half; other sees that, and its answer arrives whole"""
    first.sendall(b"last words")
    first.shutdown(socket.SHUT_WR)
    equal(exactly(other, 10), b"last words", what)
    equal(other.recv(1), b"", f"FIN, {what}")
    t = threading.Thread(target=lambda: (other.sendall(BULK), other.close()))
    t.start()
    equal(hashlib.sha256(exactly(first, len(BULK))).digest(), hashlib.sha256(BULK).digest(), f"the answer, {what}")
    equal(first.recv(1), b"", f"FIN back, {what}")
    t.join()
    first.close()


def run(s):
    host = Host("ts1")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host]))
    rest = sockets(g)
    c, h = open_pair(g, host)
    after_fin(c, h, "the desktop first")
    c, h = open_pair(g, host)
    after_fin(h, c, "the host first")

    c = connect(g)
    c.sendall(request("early") + b"behind it")
    c.shutdown(socket.SHUT_WR)                               # before the host has said anything
    h = host.accept(confirm=False)
    h.sendall(rdp_text.confirm(True))
    equal(exactly(h, 9), b"behind it", "octets behind the request")
    equal(h.recv(1), b"", "an early FIN")
    confirmed(c)
    h.sendall(BULK)
    equal(exactly(c, len(BULK)), BULK, "the answer to an early FIN")
    h.close()
    equal(ended(c), "eof", "the host's FIN")

    c = connect(g)
    c.sendall(request("short"))
    c.shutdown(socket.SHUT_WR)
    h = host.accept(confirm=False)
    h.sendall(b"\x03\x00")                                   # no answer, and never will be
    h.close()
    equal(exactly(c, 2), b"\x03\x00", "what there was of an answer")
    equal(ended(c), "eof", "both have closed")
    none_left(g, rest)
    until("nothing else was wrong", lambda: g.drops("desktops") == {"no-confirm": 1})
