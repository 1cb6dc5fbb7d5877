"""What we sign, with one character changed, or in the hands of another, or over a restart: a response goes to whom our Via names and else nowhere; a flow token leads to its
phone, from a server, and to nobody when it is forged or of another boot; tags that are swapped, and cookies of another call, choose no address. A trap that stands in
every address that could be believed hears nothing (RFC 3261 18.1.2, 18.2.2, RFC 5626 5.3, 5.3.1; RULES 66, 72)."""
import re, socket

from _ends import endpoint, hop, request
from scenario import SLOW, check, equal, until

DIGITS = "0123456789abcdefghijklmnopqrstuv"                  # of base32hex


def forged(text):
    """each with another character of the alphabet at one place"""
    for i, c in enumerate(text):
        yield text[:i] + DIGITS[(DIGITS.index(c) + 1 + i % 30) % 32] + text[i + 1:]


def lines(octets, name):
    return [x for x in octets.decode().split("\r\n") if x.startswith(name + ":")]


def answer(octets, change=lambda via: via):
    vias = lines(octets, "Via")
    kept = [change(vias[0]), *vias[1:], *[x for n in ("Record-Route", "From", "Call-ID", "CSeq") for x in lines(octets, n)]]
    return ("SIP/2.0 200 OK\r\n" + "\r\n".join(kept) + "\r\nTo: <sip:b@lab.example>;tag=s\r\nContent-Length: 0\r\n\r\n").encode()


def silent(sock):
    """nothing has come. What could has been counted before"""
    sock.setblocking(False)
    try:
        check(False, "it was sent:", sock.recv(65535)[:400])
    except BlockingIOError:
        sock.settimeout(10 * SLOW)


class Bench:
    def __init__(self, s):
        self.s = s
        (self.server, at), (self.phone, self.me), (self.trap, self.trap_at) = endpoint(host="127.0.0.9"), endpoint(), endpoint()    # where servers live nobody else does
        self.ini = s.ini_gateway() + s.ini_sip([f"a udp://{at}"], "probe = none", "failover = no\nanswer-rate = 100000", listen="udp://127.0.0.1:0 tcp://127.0.0.1:0")
        self.at = at
        self.start()

    def start(self):
        self.g = self.s.gateway(self.ini)
        self.gw = hop(self.g.at())

    def counted(self, reason, n):
        until(f"{n} were {reason}", lambda: self.g.drops().get(reason, 0) >= n)

    def opens(self, mark, n=1):
        self.phone.sendto(request(self.me, n, mark=mark), self.gw)
        return self.server.recv(65535)


def responses(b):
    invite = b.opens("resp")
    branch, hf = re.search(r";branch=z9hG4bK(\w+);hf=(\w+)", lines(invite, "Via")[0]).groups()
    changes = [lambda via, x=x, was=was: via.replace(was, x) for was in (branch, hf) for x in forged(was)] + [lambda via: via.split(";hf=")[0], lambda via: via.replace(hf, hf[:-8])]
    for sender in (b.server, b.trap):                        # a server's word is worth no more than a stranger's
        for change in changes:
            sender.sendto(answer(invite, change), b.gw)
    b.counted("foreign-via", 2 * len(changes))
    silent(b.phone)
    silent(b.trap)
    b.server.sendto(answer(invite).replace(b"Via: SIP/2.0/UDP " + b.me.encode(), b"Via: SIP/2.0/UDP " + b.trap_at.encode()), b.gw)
    check(b.phone.recv(65535).startswith(b"SIP/2.0 200 "), "a Via below ours that names another place changes nothing")
    silent(b.trap)
    return 2 * len(changes)


def cookies(b):
    """a client that has a dialog of its own knows its tags and its cookie"""
    invite = b.opens("own")
    b.server.sendto(answer(invite), b.gw)
    b.phone.recv(65535)
    route = lines(invite, "Record-Route")[0].split(": ")[1]
    bye = request(b.me, 1, "BYE", mark="own").replace(b"sip:service@lab.example", b"sip:x@" + b.trap_at.encode()).replace(b"Max-Forwards", b"Route: " + route.encode() + b"\r\nMax-Forwards")
    swapped = bye.replace(b"From: <sip:a@lab.example>;tag=a1", b"From: <sip:b@lab.example>;tag=s").replace(b"To: <sip:b@lab.example>", b"To: <sip:a@lab.example>;tag=a1")
    for sender in (b.phone, b.trap):
        sender.sendto(swapped, b.gw)
    b.counted("not-a-member", 2)
    check(b.phone.recv(65535).startswith(b"SIP/2.0 503 "), "who speaks for a server and is none")
    check(b.trap.recv(65535).startswith(b"SIP/2.0 503 "), "a stranger")
    token, n = re.search(r"hfd-(\w+)@", route)[1], 0
    for x in [*forged(token), None]:                         # None: whole, in another call
        text = bye.replace(token.encode(), x.encode()) if x else bye.replace(b"Call-ID: own1@", b"Call-ID: else1@")
        b.phone.sendto(text, b.gw)
        check(b.server.recv(65535).startswith(b"BYE "), "it goes as if it had none")
        n += 1
    b.counted("bad-cookie", n)
    silent(b.trap)
    return n


def tokens(b):
    """a phone that a connection alone leads to"""
    c = socket.create_connection(hop(b.g.at("calls", "tcp")), timeout=10 * SLOW)
    c.sendall(request("ff4a8b.invalid", 1, "REGISTER", "TCP", "reg").replace(b"Contact:", b"Supported: path\r\nContact:"))
    path = lines(b.server.recv(65535), "Path")[0].split(": ")[1]

    def call(n, route):
        return request(b.at, n, mark="call").replace(b"sip:service@lab.example", b"sip:a@ff4a8b.invalid").replace(b"Max-Forwards", b"Route: " + route.encode() + b"\r\nMax-Forwards")

    token, before, n = re.search(r"hff-(\w+)@", path)[1], b.g.drops().get("bad-cookie", 0), 0
    for n, x in enumerate(forged(token), 1):
        b.server.sendto(call(n, path.replace(token, x)), b.gw)
        check(b.server.recv(65535).startswith(b"SIP/2.0 503 "), "a forged one leads nowhere")
    b.counted("bad-cookie", before + n)
    b.trap.sendto(call(900, path).replace(b.at.encode(), b.trap_at.encode()), b.gw)
    check(b.server.recv(65535).startswith(b"INVITE "), "a client's call goes to a server, whatever it brings")
    b.server.sendto(call(901, path), b.gw)
    check(c.recv(65535).startswith(b"INVITE sip:a@ff4a8b.invalid "), "the token leads to its phone, and has led nobody there before")
    b.g.stop()
    check(c.recv(1) == b"", "the connection ends with its gateway")
    b.start()
    again = socket.create_connection(hop(b.g.at("calls", "tcp")), timeout=10 * SLOW)
    again.sendall(b"\r\n\r\n")
    equal(again.recv(2), b"\r\n", "a keep-alive")
    b.server.sendto(call(902, path), b.gw)
    check(b.server.recv(65535).startswith(b"SIP/2.0 430 "), "a flow of another boot has failed")
    b.counted("flow-gone", 1)
    silent(again)
    return n


def run(s):
    b = Bench(s)
    print(", ".join(f"{part(b)} {part.__name__}" for part in (responses, cookies, tokens)), end="")
    silent(b.trap)
    b.g.stop()
