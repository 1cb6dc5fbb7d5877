"""Servers read in a header of their own choice where a client's request comes from, over UDP and behind a balancer that says so in a PROXY header; what
clients write there themselves is gone, and whom a server calls is not told. Without the cut a client has the address that it likes."""
import socket, sys

from _ends import endpoint, hop, request
from scenario import PEERS, check, equal

sys.path.insert(0, PEERS)
from sip_text import Message, compose

NAME = b"X-Client-Address"
FORGED = NAME + b": 10.0.0.1\r\nx-client-ADDRESS :\r\n 10.0.0.2\r\n"


def told(data):
    """what a request says there, line by line"""
    return [line.split(b":", 1)[1].strip().decode() for line in data.split(b"\r\n") if line.lower().startswith(NAME.lower())]


def answer(m):
    return compose("SIP/2.0 200 OK", [(n, v + ";tag=b" if n == "to" else v) for n, v in m.headers if n in ("via", "from", "to", "call-id", "cseq", "record-route")])


def run(s):
    server, at = endpoint()
    g = s.gateway(s.ini_gateway() + s.ini_sip([f"a {at}"], service="proxy-from = 127.0.0.1\nclient-address-header = X-Client-Address", listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"))

    def takes(want, what):
        data = server.recv(65535)
        equal(told(data), [want], f"what a server is told of {what}")
        server.sendto(answer(Message(data)), hop(g.at()))

    phone, me = endpoint()
    phone.sendto(request(me, 1).replace(b"Contact:", FORGED + b"Contact:"), hop(g.at()))
    takes("127.0.0.1", "a phone")
    equal(Message(phone.recv(65535)).code, 200, "the phone's answer")

    with socket.create_connection(hop(g.at("calls", "tcp")), 10) as c:
        c.sendall(b"PROXY TCP4 203.0.113.9 127.0.0.1 40001 5060\r\n" + request("203.0.113.9:40001", 2, kind="TCP").replace(b"Via:", FORGED + b"Via:"))
        takes("203.0.113.9", "a client behind a balancer")
        check(c.recv(65535).startswith(b"SIP/2.0 200 "), "its answer")

    out = request(at, 3).replace(b"sip:service@lab.example SIP", f"sip:service@{me} SIP".encode()).replace(b"Contact:", FORGED + b"Contact:")
    server.sendto(out, hop(g.at()))
    equal(told(phone.recv(65535)), [], "what a phone is told of who calls it")
