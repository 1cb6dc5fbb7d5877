"""key = user: what a phone registers, publishes and subscribes, and the calls to and from it, meet on one server, through a server that joins, one that is
drained and one that dies. A registration that is renewed leaves a server that drains, and the calls to its user follow, and his other phones; calls that
are up stay. Then a chain of keys: tenants by a header, else by the domain. And a phone that comes back over another connection."""
import re, socket, sys

from scenario import PEERS, SLOW, check, equal, until

sys.path.insert(0, PEERS)
from sip_text import Message

TIMEOUT = 120
USERS = [f"user{n}" for n in range(24)]
PROBE = "probe = options\nprobe-interval = 300ms\nprobe-timeout = 1s\nprobe-rise = 1\nprobe-fall = 2"


class Phone:
    """one socket; every request that it sends has a Call-ID and a CSeq of its own, unless it renews"""
    def __init__(self, at):
        host, port = at.rsplit(":", 1)
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.connect((host, int(port)))
        self.s.settimeout(0.5 * SLOW)
        self.me, self.n = "%s:%d" % self.s.getsockname(), 0

    def ask(self, method, uri, frm="nobody", to=None, call_id=None, extra="", want=200):
        """-> the name of the server that answered"""
        self.n += 1
        mark = f"{self.me}-{self.n}".replace(":", "-")
        data = (f"{method} sip:{uri} SIP/2.0\r\nVia: SIP/2.0/UDP {self.me};branch=z9hG4bK{mark};rport\r\nMax-Forwards: 70\r\nFrom: <sip:{frm}@lab.example>;tag={self.n}\r\n"
                f"To: <sip:{to or uri}>\r\nCall-ID: {call_id or mark}\r\nCSeq: {self.n} {method}\r\nContact: <sip:{frm}@{self.me}>\r\n{extra}Content-Length: 0\r\n\r\n").encode()
        return self.answer(data, method, uri, to or uri, want)

    def answer(self, data, method, uri, to, want):
        self.last = data, method, uri, to, want
        for _ in range(30):
            self.s.send(data)
            try:
                while True:
                    m = Message(self.s.recv(65535))
                    if m.code >= 200 and m.get("cseq").split()[0] == str(self.n):
                        equal(m.code, want, f"the answer to {method} {uri}")
                        if method == "INVITE":
                            self.s.send(data.replace(b"INVITE sip:", b"ACK sip:").replace(b" INVITE\r\n", b" ACK\r\n").replace(b"z9hG4bK", b"z9hG4bKack").replace(
                                f"To: <sip:{to}>".encode(), f"To: {m.get('to')}".encode()))
                        return m.get("x-server")
            except socket.timeout:
                pass
        check(False, f"no answer to {method} {uri}")

    def again(self):
        """the last one once more, as if its answer had been lost"""
        return self.answer(*self.last)

    def register(self, user, phone="", **k):
        return self.ask("REGISTER", "lab.example", user, f"{user}@lab.example", call_id=f"registration-of-{user}{phone}", **k)


def everything_of(p, user, home, what):
    for method, uri, frm, to in (("INVITE", f"{user}@lab.example", "nobody", None), ("MESSAGE", f"{user}@other.example", "nobody", None), ("INVITE", "nobody@lab.example", user, None),
                                 ("SUBSCRIBE", f"{user}@lab.example", user, None), ("PUBLISH", "lab.example", user, f"{user}@lab.example")):
        equal(p.ask(method, uri, frm, to), home, f"{what}: {method} {uri} from {frm}")


def users(s):
    servers = [s.sip_server(f"pbx{n}") for n in range(4)]
    head = s.ini_gateway("users")
    ini = lambda some: head + s.ini_sip(some, PROBE, "key = user")
    g = s.gateway(ini(servers[:3]), name="users")
    p = Phone(g.at())
    for x in servers:
        x.ask("set expires=600")
    home = {u: p.register(u) for u in USERS}
    check(len(set(home.values())) == 3, "servers with registrations:", home)
    got = g.where("user:user0")
    equal((got["server"], got["why"], got["key"]), (home["user0"], "bond", "user:user0"), "where user0")
    check(600 < got["expires_s"] <= 640, "a bond of 600 s and 32:", got)
    for u in USERS[:6]:
        everything_of(p, u, home[u], "registered")
    g.reload(ini(servers))
    for u in USERS:
        equal(p.ask("INVITE", f"{u}@lab.example"), home[u], f"{u} behind a server that joined")
        equal(p.register(u), home[u], f"{u} renews")

    # drained: calls that are up stay, registrations leave when they are renewed, calls follow
    old = home["user0"]
    mine = [u for u in USERS if home[u] == old]
    phones = s.phones(g, name="users-phones")
    s.all_home(phones.ask("call 5 uri=sip:user0@lab.example"), "calls to user0")
    for u in mine:
        equal(p.register(u, "-elsewhere"), old, f"another phone of {u}")
    g.ctl("drain", old)
    equal(p.again(), old, "a registration that was answered before the drain, sent again")
    for u in mine:
        equal(p.ask("INVITE", f"{u}@lab.example"), old, f"{u} is still registered at a server that drains")
    for u in mine:
        new = p.register(u)
        check(new != old, f"{u} renews at {old}, which drains")
        equal(p.ask("INVITE", f"{u}@lab.example"), new, f"a call to {u}, who has moved")
        equal(g.where(f"user:{u}")["server"], new, f"where {u}")
        home[u] = new
    for u in USERS:
        equal(p.register(u), home[u], f"{u} renews again")
    s.all_home(phones.ask("ask all"), "calls that were up")
    s.all_home(phones.ask("bye all"), "calls that were up")
    g.ctl("undrain", old)
    for u in mine:
        equal(p.register(u, "-elsewhere"), home[u], f"the other phone of {u}, that was at {old}, renews")
        equal(p.register(u), home[u], f"{u} renews behind the other phone")

    # dead: who renews is registered elsewhere
    dead = home["user1"]
    next(x for x in servers if x.label == dead).ask("set all=silent")
    g.wait_state(dead, "down")
    for u in (u for u in USERS if home[u] == dead):
        new = p.register(u)
        check(new != dead, f"{u} renews at {dead}, which is down")
        equal(p.ask("INVITE", f"{u}@lab.example"), new, f"a call to {u} of a dead server")
    g.stop()


def chain(s):
    servers = [s.sip_server(f"t{n}") for n in range(3)]
    g = s.gateway(s.ini_gateway("chain") + s.ini_sip(servers, "probe = none\nload-factor = off", "key = header:X-Tenant uri-param:tenant domain"), name="chain")
    p = Phone(g.at())
    for what, of in (("tenant", lambda t, n: p.ask("INVITE", f"u{n}@lab.example", extra=f"X-Tenant: tenant{t}\r\n")),
                     ("parameter", lambda t, n: p.ask("INVITE", f"u{n}@lab.example;tenant=T{t}")),
                     ("domain", lambda t, n: p.ask("INVITE", f"u{n}@tenant{t}.example"))):
        at = [{of(t, n) for n in range(6)} for t in range(9)]
        check(all(len(x) == 1 for x in at), f"one server a {what}:", [sorted(x) for x in at])
        check(len(set().union(*at)) > 1, f"every {what} at one server:", [sorted(x) for x in at])
    equal(g.where("header:x-tenant:tenant3")["server"], p.ask("INVITE", "x@y", extra="X-Tenant: tenant3\r\n"), "where a tenant is")
    equal(g.where("domain:Tenant4.example")["server"], p.ask("INVITE", "x@tenant4.example"), "where a domain is")
    g.stop()


def no_key(s):
    """none of the chain's keys: the pool's fallback deals, and what it dealt is remembered"""
    servers = [s.sip_server(f"f{n}") for n in range(3)]
    g = s.gateway(s.ini_gateway("nokey") + s.ini_sip(servers, "probe = none\nfallback = round-robin", "key = header:X-Tenant"), name="nokey")
    p = Phone(g.at())
    got = [p.ask("INVITE", "x@lab.example", call_id=f"call-{n}") for n in range(9)]
    equal(sorted(got.count(x.label) for x in servers), [3, 3, 3], "calls dealt in turns")
    for n in range(9):
        equal(p.ask("INVITE", "x@lab.example", call_id=f"call-{n}"), got[n], "the same call again")
    equal(sum(x["sessions"] for x in g.ctl("servers")["servers"]), 9, "sessions counted")
    g.stop()


def failing_over(s):
    """a registrar that falls silent, before any probe knows: who renews is registered elsewhere after try-timeout, and is called there"""
    servers = [s.sip_server(f"h{n}") for n in range(3)]
    g = s.gateway(s.ini_gateway("over") + s.ini_sip(servers, "probe = none", "key = user\nfailover = yes\ntry-timeout = 3s"), name="over")
    p = Phone(g.at())
    home = {u: p.register(u) for u in USERS[:12]}
    dead = home["user0"]
    next(x for x in servers if x.label == dead).ask("set all=silent")
    for u in (u for u in home if home[u] == dead):
        new = p.register(u)
        check(new != dead, f"{u} renews at {dead}, which is silent")
        equal(g.where(f"user:{u}")["server"], new, f"where {u}")
        equal(p.ask("INVITE", f"{u}@lab.example"), new, f"a call to {u} of a silent server")
    g.stop()


class Connection:
    """a phone behind a NAT: reached by the connection that it opened, and by nothing else"""
    def __init__(self, at):
        host, port = at.rsplit(":", 1)
        self.s = socket.create_connection((host, int(port)), 5 * SLOW)
        self.s.settimeout(10 * SLOW)
        self.buf = b""

    def message(self):
        while b"\r\n\r\n" not in self.buf:
            got = self.s.recv(65536)
            check(got, "the phone's connection is closed")
            self.buf += got
        text, _, self.buf = self.buf.partition(b"\r\n\r\n")
        return Message(text + b"\r\n\r\n")

    def register(self, n):
        self.s.sendall((f"REGISTER sip:lab.example SIP/2.0\r\nVia: SIP/2.0/TCP 192.0.2.{n};branch=z9hG4bKreg{n}\r\nMax-Forwards: 70\r\nFrom: <sip:alice@lab.example>;tag={n}\r\n"
                        f"To: <sip:alice@lab.example>\r\nCall-ID: from-connection-{n}\r\nCSeq: 1 REGISTER\r\nSupported: path\r\nContact: <sip:alice@192.0.2.{n};transport=tcp>;expires=600\r\n"
                        "Content-Length: 0\r\n\r\n").encode())


def b84_newest_flow(s):
    """A phone registers, loses its connection without a word, and registers over a new one under another Call-ID: both registrations meet on one server, whose
    message to the user goes over the newer connection by the newer Path; by the older one it is answered 430 once that is gone."""
    registrars = []
    for _ in range(3):
        r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        r.bind(("127.0.0.1", 0))
        r.settimeout(0.05)
        registrars.append(r)
    g = s.gateway(s.ini_gateway("b84") + s.ini_sip([f"r{i} 127.0.0.1:{r.getsockname()[1]}" for i, r in enumerate(registrars)], service="key = user",
                                                   listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"), name="b84")

    def registered(n):
        """the registrar that takes it, its gateway, and the Path"""
        for _ in range(int(150 * SLOW)):
            for r in registrars:
                try:
                    data, source = r.recvfrom(65535)
                except socket.timeout:
                    continue
                m = Message(data)
                equal((m.method, m.get("call-id")), ("REGISTER", f"from-connection-{n}"), "what a registrar gets")
                lines = "".join(f"{h}: {v}\r\n" for h in ("via", "from", "call-id", "cseq") for v in m.all(h))
                r.sendto(f"SIP/2.0 200 OK\r\n{lines}To: {m.get('to')};tag=r\r\nContact: {m.get('contact')}\r\nContent-Length: 0\r\n\r\n".encode(), source)
                return r, source, m.get("path")
        check(False, "no registrar gets the registration")

    def message(r, to, path, n):
        me = "%s:%d" % r.getsockname()
        r.sendto((f"MESSAGE sip:alice@192.0.2.{n};transport=tcp SIP/2.0\r\nVia: SIP/2.0/UDP {me};branch=z9hG4bKmsg{n};rport\r\nMax-Forwards: 70\r\nFrom: <sip:r@lab.example>;tag=m{n}\r\n"
                  f"To: <sip:alice@lab.example>\r\nRoute: {path}\r\nCall-ID: message-{n}\r\nCSeq: 1 MESSAGE\r\nContent-Length: 0\r\n\r\n").encode(), to)

    one, two = Connection(g.at("calls", "tcp")), Connection(g.at("calls", "tcp"))
    one.register(1)
    r1, to, old = registered(1)
    equal(one.message().code, 200, "the first registration")
    two.register(2)
    r2, to, new = registered(2)
    equal(two.message().code, 200, "the second registration")
    check(r1 is r2 and old != new, "both registrations on one server, with Paths of their own:", old, new)
    message(r2, to, new, 2)
    equal(two.message().get("call-id"), "message-2", "what the newer connection gets")
    one.s.close()
    def gone():
        message(r2, to, old, 1)
        try:
            return re.match(rb"SIP/2.0 430", r2.recv(65535))
        except socket.timeout:
            return None
    until("the older flow is known to be gone", gone)
    two.s.settimeout(0.2 * SLOW)
    try:
        check(False, "the newer connection got what was for the older:", two.message().start)
    except socket.timeout:
        pass
    g.stop()


def run(s):
    users(s)
    chain(s)
    no_key(s)
    failing_over(s)
    b84_newest_flow(s)
