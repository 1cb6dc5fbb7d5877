"""When a call counts and when it does not, from outside: it counts from its INVITE, whoever opened it, until BYE or a refusal; an ACK or an answer that comes
when BYE has passed brings nothing back, and subscriptions in its dialog, begun and ended, take nothing away. A session that is left behind by
any of these is never ended by anybody."""
import sys

from _ends import endpoint, hop, sessions
from scenario import PEERS, equal, until

sys.path.insert(0, PEERS)
from sip_text import Message, compose


class Talk:
    """a phone and a server, and one call between them through the gateway"""
    def __init__(self, g, phone, server, n):
        self.g, self.n, self.end = g, n, {"phone": phone, "server": server}
        self.routes, self.cseq, self.invite = [], 1, None

    def place(self, who):
        c, at = self.end[who]
        return c, at

    def send(self, who, method, extra=(), to_tag=None, cseq=None):
        """a request in the dialog (or, without a to-tag, before it); -> what came out at the other side"""
        c, at = self.place(who)
        mine, theirs = ("a", "b") if who == "phone" else ("b", "a")
        self.cseq += 1
        uri = f"sip:{theirs}@{self.end['server' if who == 'phone' else 'phone'][1]}"
        h = [("Via", f"SIP/2.0/UDP {at};branch=z9hG4bK{self.n}{method}{self.cseq};rport"), ("Max-Forwards", "70"), *(("Route", x) for x in self.routes),
             ("From", f"<sip:{mine}@lab.example>;tag={mine}{self.n}"), ("To", f"<sip:{theirs}@lab.example>" + (f";tag={theirs}{self.n}" if to_tag else "")),
             ("Call-ID", f"life{self.n}@lab.example"), ("CSeq", f"{cseq or self.cseq} {method}"), ("Contact", f"<sip:{mine}@{at}>"), *extra]
        c.sendto(compose(f"{method} {uri} SIP/2.0", h), hop(self.g.at()))
        return self.heard("server" if who == "phone" else "phone")

    def heard(self, who):
        return Message(self.place(who)[0].recv(65535))

    def answer(self, who, m, code, extra=()):
        """-> what the other side hears"""
        c, at = self.place(who)
        tag = ("a" if who == "phone" else "b") + str(self.n)
        to = m.get("to") if ";tag=" in m.get("to") else m.get("to") + f";tag={tag}"
        h = [("Via", v) for v in m.all("via")] + [("Record-Route", v) for v in m.all("record-route")] + [("From", m.get("from")), ("To", to),
             ("Call-ID", m.get("call-id")), ("CSeq", m.get("cseq")), ("Contact", f"<sip:x@{at}>"), *extra]
        c.sendto(compose(f"SIP/2.0 {code} Scripted", h), hop(self.g.at()))
        return self.heard("server" if who == "phone" else "phone")

    def up(self):
        m = self.send("phone", "INVITE")
        self.routes, self.invite = m.all("record-route"), m
        equal(self.answer("server", m, 200).code, 200, "the answer")
        return m

    def both(self, who, method, extra=(), code=200, answer=()):
        m = self.send(who, method, extra, to_tag=True)
        equal(m.method, method, "what arrives")
        equal(self.answer("server" if who == "phone" else "phone", m, code, answer).code, code, "its answer")


def count(g, want, what):
    until(f"{what}: {want} sessions, not {sessions(g)}", lambda: sum(sessions(g).values()) == want)


def run(s):
    phone, server = endpoint(), endpoint()
    g = s.gateway(s.ini_gateway() + s.ini_sip([f"pbx1 {server[1]}"], "probe = none", service="failover = no"))

    t = Talk(g, phone, server, 1)
    m = t.send("phone", "INVITE")
    count(g, 1, "a call that rings")
    t.answer("server", m, 486)
    count(g, 0, "a call that was refused")

    t = Talk(g, phone, server, 2)                       # hung up by the server before the ACK, which comes all the same, as does a second 200
    invite = t.up()
    count(g, 1, "a call that is up")
    t.both("server", "BYE")
    count(g, 0, "a call that was hung up")
    t.send("phone", "ACK", to_tag=True, cseq=2)
    t.answer("server", invite, 200)
    t.send("phone", "ACK", to_tag=True, cseq=2)
    count(g, 0, "an ACK and a second answer behind BYE")

    t = Talk(g, phone, server, 3)                       # a subscription within the call, from its begin to its end, by either side
    t.up()
    t.send("phone", "ACK", to_tag=True, cseq=2)
    for who, other in (("phone", "server"), ("server", "phone")):
        t.both(who, "SUBSCRIBE", [("Event", "kpml"), ("Expires", "60")], answer=[("Expires", "60")])
        t.both(other, "NOTIFY", [("Event", "kpml"), ("Subscription-State", "active;expires=60")])
        count(g, 1, "a subscription in a call")
        t.both(other, "NOTIFY", [("Event", "kpml"), ("Subscription-State", "terminated")])
        count(g, 1, "a subscription that has ended in a call")
    t.both("phone", "BYE", code=401)                    # challenged: the call goes on until the next one
    t.both("phone", "INFO")
    count(g, 1, "a call whose BYE was challenged")
    t.both("phone", "BYE")
    count(g, 0, "a call that was hung up in the end")

    t = Talk(g, phone, server, 4)                       # on its own it is no session
    m = t.send("phone", "SUBSCRIBE", [("Event", "presence"), ("Expires", "600")])
    t.routes = m.all("record-route")
    t.answer("server", m, 200, [("Expires", "600")])
    t.both("server", "NOTIFY", [("Event", "presence"), ("Subscription-State", "active;expires=600")])
    count(g, 0, "a subscription")
    equal(g.where("call-id:life4@lab.example")["why"], "entry", "a subscription is remembered")

    t = Talk(g, phone, server, 5)                       # opened by the server
    m = t.send("server", "INVITE", [("Route", f"<sip:{g.at()};lr>")])
    t.routes = m.all("record-route")
    count(g, 1, "a call that a server opens")
    t.answer("phone", m, 200)
    t.both("phone", "BYE")
    count(g, 0, "a server's call that was hung up")
    g.stop()
