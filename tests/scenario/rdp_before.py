"""What stands before a request, or in place of it. xfreerdp's pre-connection blobs (/pcb, /pcid) reach the host as they were sent, with the request behind
them, and are no RDP to a service that does not forward them; TLS at once (a Hyper-V console) goes to the host of its source, both ways; and a client
that offers less than `require` is told by a negotiation failure and reaches no host. Without the blob's length in keys_again (protocols/rdp/ask.c) the
second dial is a fault of ours; without read_hello a hello in two pieces waits for ever."""
import socket

from _desk import Host, connect, ended, exactly
from _screens import screen, xfreerdp
from scenario import check, equal, need, until

TIMEOUT = 90
HELLO = bytes.fromhex("160301003c0100003803034a5b") + bytes(52)     # a record of 60 octets
WIDE = "vm-1;x".encode("utf-16-le")


def blobs(s, g, host, display):
    """the real client, which writes version 2 for both"""
    for n, (word, text) in enumerate((("/pcid:7", b"\x07\0\0\0"), ("/pcb:vm-1;x", WIDE))):
        c = xfreerdp(s, display, g.at("console"), f"blob{n}", "alice", "/sec:tls", word)
        host.s.settimeout(40)                                # a client of X takes its time to start
        h = host.s.accept()[0]
        h.settimeout(20)
        size = int.from_bytes(exactly(h, 4), "little")
        check(18 <= size < 64, f"{word}: octets of a blob:", size)
        blob = exactly(h, size - 4)
        check(text in blob, f"{word}: the host saw", blob)
        equal(exactly(h, 2), b"\x03\0", f"{word}: and behind it a request")
        h.close()
        c.end(3)
    c = xfreerdp(s, display, g.at("plain"), "refused", "alice", "/sec:tls", "/pcid:7")
    until("a blob to a service that forwards none", lambda: g.drops("plain").get("not-rdp", 0) > 0)
    c.end(3)


def tls_at_once(g, host):
    c = connect(g, "console")
    c.sendall(HELLO[:20])
    c.sendall(HELLO[20:])
    h = host.s.accept()[0]
    h.settimeout(20)
    equal(exactly(h, len(HELLO)), HELLO, "the hello at the host")
    h.sendall(b"\x16\x03\x03\0\x01x" + b"y" * 100)
    equal(exactly(c, 106), b"\x16\x03\x03\0\x01x" + b"y" * 100, "what the host says")
    c.sendall(b"more")
    equal(exactly(h, 4), b"more", "and on")
    equal(g.where("source:127.0.0.1", "farm")["why"], "bond", "its source has a bond")
    c.close()
    h.close()
    c = connect(g, "plain")
    c.sendall(HELLO)
    equal((c.recv(64), ended(c)), (b"", "eof"), "TLS at once where it is dropped")


def required(s, g, host, display):
    c = xfreerdp(s, display, g.at("strict"), "weak", "bob", "/sec:tls", wait=True)
    check("HYBRID_REQUIRED" in c.stdout + c.stderr, "what xfreerdp reads:", c.stdout + c.stderr)
    until("it is counted", lambda: g.drops("strict").get("security", 0) > 0)
    host.s.settimeout(0.2)
    try:
        host.s.accept()
        check(False, "a client that was refused reached the host")
    except socket.timeout:
        pass


def run(s):
    need("xfreerdp")
    display = screen(s)
    host = Host("ts1")
    pool = "probe = none\nsource-limit = off"
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host], pool, "pre-connection = forward\ndirect-tls = source", name="console") +
                  s.ini_rdp([host], pool, name="plain", pool_name="farm2") + s.ini_rdp([host], pool, "require = nla", name="strict", pool_name="farm3"))
    blobs(s, g, host, display)
    tls_at_once(g, host)
    required(s, g, host, display)
    g.stop()
