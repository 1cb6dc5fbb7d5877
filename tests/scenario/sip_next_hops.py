"""Servers call by names: what SRV and address records say decides where a request goes, it waits while they are asked for, once for all that ask, and goes
on in order; a name that leads nowhere is refused, one that leads here is balanced. Nobody but a server makes us ask. Without the wait each first request
to a name is refused; without its tag one that is sent again goes out twice."""
import socket, ssl, sys

from _certs import Authority, Server
from _ends import endpoint, hop, request
from explain import explain
from scenario import PEERS, Peer, check, equal, until

sys.path.insert(0, PEERS)
from sip_text import Message

N = 30


def ask_for(c, me, g, n, uri, again=1, **k):
    data = request(me, n, mark="hops", **k).replace(b"sip:service@lab.example SIP", uri.encode() + b" SIP")
    for _ in range(again):
        c.sendto(data, hop(g.at()))
    return data


def asked(dns, name):
    return dns.stats()["asked"].get(name, 0)


def over_tls(s, g, dns, ca, raw, me):
    """who is found by a name must prove that one, whatever else lives at the address; a connection is used again by that name alone"""
    srv = Server(ca.make("edge", "DNS:edge.example.com").load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)))
    port = srv.at.rsplit(":", 1)[1]
    for n, (name, code) in enumerate((("edge", 200), ("else", 503), ("edge", 200)), 20):
        dns.ask(f"set host={name}.example.com at=127.0.0.1 ttl=600")
        ask_for(raw, me, g, n, f"sip:x@{name}.example.com:{port};transport=tls", method="OPTIONS")
        got = Message(raw.recv(65535))
        equal((got.code, got.get("call-id")), (code, f"hops{n}@lab.example"), f"{name}.example.com over TLS: {g.text()[-300:]}")
    equal((srv.names, len(srv.calls())), (["edge.example.com", "else.example.com"], 2), "the names that were asked for, and what came")
    srv.close()


def run(s):
    dns = Peer(s, "dns", "dns_server.py")
    servers = [s.sip_server(f"pbx{i}", "--hop", "127.0.0.1:1") for i in (1, 2)]
    raw, me = endpoint()                                    # a server that writes what it likes
    ca = Authority(s)
    ini = s.ini_gateway(extra=f"resolver = {dns.at}") + s.ini_sip(servers + [(f"raw {me}", "weight=0")], listen="udp://127.0.0.1:0 tcp://127.0.0.1:0 tls://127.0.0.1:0",
                                                                  service=f"tls-certificate = {ca.make('gw', 'DNS:gw.example.com').line()}", pool=f"probe = none\ntls-ca = {ca.cert}")
    g = s.gateway(ini)
    phones = s.phones(g, "--sockets", "1")
    dns.ask(f"srv host=_sip._udp.phones.example.com ttl=600 to=20:0:9:nobody.example.com,10:0:{phones.port}:ua.example.com")
    dns.ask("set host=ua.example.com at=127.0.0.1 ttl=600")

    for p in servers:
        p.ask(f"hop at={g.at()}")
        got = p.ask(f"call {N} uri=sip:phone@phones.example.com")
        equal((got["answered"], got["lost"]), (N, 0), f"calls of {p.label} to a name: {got}")
    equal((asked(dns, "_sip._udp.phones.example.com"), asked(dns, "ua.example.com")), (1, 2), "questions for both servers' calls")
    equal(phones.stats()["held"], 2 * N, "calls at the phones")
    for p in servers:
        s.all_home(p.ask("ask all"), f"requests of {p.label} within them")
    s.all_home(phones.ask("ask all"), "requests of the phones")
    s.all_home(phones.ask("bye all"), "hanging up")
    s.no_strangers(*servers)

    phone, at = endpoint()
    port = at.rsplit(":", 1)[1]
    ask_for(raw, me, g, 1, f"sip:x@nowhere.example.com:{port}")
    equal(Message(raw.recv(65535)).code, 503, "a name without an address")
    ask_for(raw, me, g, 2, f"sip:x@ff01.invalid")
    equal(Message(raw.recv(65535)).code, 503, "a name that nobody is asked for")
    equal(asked(dns, "ff01.invalid"), 0, "questions for it")

    dns.ask("set host=late.example.com at=127.0.0.1 ttl=600")
    dns.ask("mute on=yes host=late.example.com")
    dns.ask("mute on=yes host=never.example.com")
    ask_for(raw, me, g, 3, "sip:x@never.example.com:5060")
    ask_for(raw, me, g, 4, f"sip:x@late.example.com:{port}", again=3)
    ask_for(raw, me, g, 5, f"sip:x@LATE.example.com.:{port}", method="MESSAGE")
    until("it waits", lambda: g.drops().get("sought") == 2)
    dns.ask("mute on=no host=late.example.com")             # who is asked again after two seconds
    equal([Message(phone.recv(65535)).method for _ in range(2)], ["INVITE", "MESSAGE"], "what has waited comes once, in order")
    equal(Message(raw.recv(65535)).get("call-id"), "hops3@lab.example", "what has waited in vain is refused")
    ask_for(raw, me, g, 6, f"sip:x@late.example.com:{port}")
    equal(Message(phone.recv(65535)).get("call-id"), "hops6@lab.example", "the name is known")

    dns.ask("set host=here.example.com at=127.0.0.1 ttl=600")
    ask_for(raw, me, g, 7, f"sip:x@here.example.com:{g.at().rsplit(':', 1)[1]}", method="OPTIONS")
    got = Message(raw.recv(65535))
    equal((got.code, got.get("call-id")), (200, "hops7@lab.example"), "a name that leads here is balanced")

    over_tls(s, g, dns, ca, raw, me)
    said = explain(s, g, request(me, 30, mark="hops").replace(b"sip:service@lab.example SIP", b"sip:x@told.example.com SIP"), "--from", me)[0]["steps"]
    check(any(x["step"] == "seek" and "told.example.com" in x["text"] for x in said), "explained:", said)
    equal(asked(dns, "told.example.com"), 0, "questions by who explains")

    stranger, other = endpoint()                            # a client, whatever it writes
    stranger.sendto(request(other, 8, method="OPTIONS").replace(b"sip:service@lab.example SIP", b"sip:x@evil.example.com SIP").replace(b"Contact:", b"Route: <sip:evil.example.com;lr>\r\nContact:"), hop(g.at()))
    equal(Message(stranger.recv(65535)).code, 200, "a client's request to a name is a server's to answer")
    equal([x for x in dns.stats()["asked"] if "evil" in x], [], "questions that a client has caused")

    dns.ask("set host=late.example.com at=127.0.0.9 ttl=600")
    elsewhere = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    elsewhere.bind(("127.0.0.9", int(port)))
    elsewhere.settimeout(10)
    g.reload(ini)
    ask_for(raw, me, g, 9, f"sip:x@late.example.com:{port}")
    equal(Message(elsewhere.recv(65535)).get("call-id"), "hops9@lab.example", "a reload asks anew")
    equal(g.drops().get("unresolved"), 2, "counted")
