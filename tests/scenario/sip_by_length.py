"""udp-to-tcp: of requests to one UDP server the long ones come over TCP and the short ones as datagrams, each with a Via that says so, whatever came before;
answers reach the client from either. When the server takes no connection all come as datagrams. CANCEL goes the way of its INVITE (RFC 3261 18.1.1, 9.1).
Towards a phone likewise, by a connection that it has open: nobody dials it."""
import re, socket, struct, sys, time

from _ends import endpoint, hop, request
from scenario import PEERS, SLOW, check, equal, free_port, until

sys.path.insert(0, PEERS)
from sip_text import Message

LIMIT = 1300


def answer(octets, status):
    kept = [line for line in octets.decode().split("\r\n") if re.match(r"(Via|Record-Route|From|Call-ID|CSeq):", line)]
    return (f"SIP/2.0 {status}\r\n" + "\r\n".join(kept) + "\r\nTo: <sip:b@lab.example>;tag=s\r\nContent-Length: 0\r\n\r\n").encode()


def long_one(octets):
    return octets.replace(b"Contact:", b"X-Pad: " + b"0" * LIMIT + b"\r\nContact:")


def take(c):
    """a message without a body, of a connection"""
    octets = b""
    while b"\r\n\r\n" not in octets:
        more = c.recv(65535)
        check(more, "the connection has ended")
        octets += more
    return octets


class Server:
    """UDP, and TCP at the same port where `tcp`"""
    def __init__(self, tcp):
        self.udp, self.at = endpoint(port=free_port())
        self.listener = socket.create_server(hop(self.at)) if tcp else None
        self.conn = None

    def over_udp(self):
        octets, where = self.udp.recvfrom(65535)
        return octets, lambda text: self.udp.sendto(text, where)

    def over_tcp(self):
        if not self.conn:
            self.listener.settimeout(10 * SLOW)
            self.conn, _ = self.listener.accept()
            self.conn.settimeout(10 * SLOW)
        return take(self.conn), self.conn.sendall


def exchange(c, g, octets, take, kind, what):
    c.sendto(octets, hop(g.at()))
    got, back = take()
    check(got.split(b"\r\n")[1].startswith(b"Via: SIP/2.0/%s " % kind), f"{what}: the Via is", got[:200].decode())
    check(b";transport=" not in got, f"{what}: Record-Route names a transport", got[:600].decode())
    back(answer(got, "200 OK"))
    equal(Message(c.recv(65535)).code, 200, what)


def to_phone(s):
    """a server calls a phone that has a connection from where its datagrams come from too, and again when it has ended"""
    server, at = endpoint()
    port = free_port()
    phone, here = endpoint(port=port)
    conn = endpoint(socket.SOCK_STREAM, port)[0]         # whoever dials the phone is refused: it is bound, and does not listen

    def calls(n):
        return request(at, n, mark="out").replace(b"sip:service@lab.example", b"sip:phone@" + here.encode())

    with server, phone, conn:
        g = s.gateway(s.ini_gateway("phone", workers=2) + s.ini_sip([f"a udp://{at}"], "probe = none", f"udp-to-tcp = {LIMIT}", listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"),
                      name="phone")
        tcp = next(u for u in g.uris["calls"] if u.startswith("tcp")).partition("//")[2]
        conn.connect(hop(tcp))
        until("the connection is there", lambda: g.ctl("status")["services"][0]["flows"] == 1)
        for n in range(4):
            invite = calls(n)
            server.sendto(invite if n % 2 else long_one(invite), hop(g.at()))
            got = phone.recv(65535) if n % 2 else take(conn)
            via = got.split(b"\r\n")[1]
            check(via.startswith(b"Via: SIP/2.0/%s " % (b"UDP" if n % 2 else b"TCP")), f"INVITE {n}: the Via is", via)
            (phone.sendto(answer(got, "180 Ringing"), hop(g.at())) if n % 2 else conn.sendall(answer(got, "180 Ringing")))
            equal(Message(server.recv(65535)).code, 180, f"INVITE {n}")
            server.sendto(invite.replace(b"INVITE", b"CANCEL"), hop(g.at()))
            cancel = phone.recv(65535) if n % 2 else take(conn)
            equal(cancel.split(b"\r\n")[1].split(b";hf=")[0], via.split(b";hf=")[0], f"the Via of CANCEL {n}")
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        conn.close()                                         # by a reset: a half that is closed would be waited for
        until("the connection has gone", lambda: g.ctl("status")["services"][0]["flows"] == 0)
        server.sendto(long_one(calls(4)), hop(g.at()))
        check(phone.recv(65535).split(b"\r\n")[1].startswith(b"Via: SIP/2.0/UDP "), "without a connection it is a datagram")
        equal(g.drops().get("no-tcp"), 1, "requests that found no connection")
        g.stop()


def run(s):
    to_phone(s)
    c, me = endpoint()
    with c:
        a = Server(True)
        g = s.gateway(s.ini_gateway("both") + s.ini_sip([f"a udp://{a.at}"], "probe = none\nconnections = 1", f"udp-to-tcp = {LIMIT}"), name="both")
        for n in range(6):
            r = request(me, n, mark="both")
            exchange(c, g, r if n % 2 else long_one(r), a.over_udp if n % 2 else a.over_tcp, b"UDP" if n % 2 else b"TCP", f"request {n}")
        invite = request(me, 100, mark="both")
        c.sendto(long_one(invite), hop(g.at()))
        got, back = a.over_tcp()
        back(answer(got, "180 Ringing"))
        equal(Message(c.recv(65535)).code, 180, "INVITE")
        c.sendto(invite.replace(b"INVITE", b"CANCEL"), hop(g.at()))
        cancel, _ = a.over_tcp()
        equal(cancel.split(b"\r\n")[1].split(b";hf=")[0], got.split(b"\r\n")[1].split(b";hf=")[0], "the Via of CANCEL")
        g.stop()
        b = Server(False)
        g = s.gateway(s.ini_gateway("udp") + s.ini_sip([f"b udp://{b.at}"], service=f"udp-to-tcp = {LIMIT}"), name="udp")
        for n in range(6):
            exchange(c, g, long_one(request(me, n, mark="udp")), b.over_udp, b"UDP", f"request {n} to a server without TCP")
        equal(g.drops().get("no-tcp"), 6, "requests that found no connection")
        time.sleep(0.6 * SLOW)                             # failed dials are judged every 250 ms: these say nothing against it
        equal(g.state("b"), "up", "the server, which is well")
        g.stop()
    print("long and short by their own ways", end="")
