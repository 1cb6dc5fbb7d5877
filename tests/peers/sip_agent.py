"""A scripted SIP user agent over UDP: both what it sends (calls, requests inside them) and what it answers. sip_server.py and sip_client.py
are this with a command line. No product code, no media.

Every message that it sends names it in an X-Server header. An agent remembers who took each of its calls and compares with who answers later:
`moved` counts requests of a live call that reached another agent, `strangers` counts requests that came for a call that this one does not hold.
Transactions are those of RFC 3261 section 17: retransmissions from 500 ms on, ACK with the INVITE's branch for a refusal, a new one for a 2xx."""
import asyncio, collections, hashlib, itertools, json, os, re, socket, time

from sip_text import Message, address, bare, compose, param, user

T1, GIVE_UP = 0.5, 16.0   # first retransmission; when a request without any answer is lost (64*T1 would hold a failing test for 32 s)
KEEP = 40.0               # how long finished transactions answer retransmissions: a little above 64*T1
now = time.monotonic


def mark():
    """what tells this agent's Call-IDs, branches and tags from another's: drawn, or made of what a test says, so that its calls are the same each time"""
    said = os.environ.get("HOLDFAST_PEER")
    return hashlib.sha256(said.encode()).hexdigest()[:8] if said else os.urandom(4).hex()


class Ask:
    """a client transaction"""
    __slots__ = ("data", "addr", "sock", "next", "gap", "end", "future", "seen", "invite", "ack")

    def __init__(self, data, addr, sock, future, invite, t1):
        self.data, self.addr, self.sock, self.future, self.invite = data, addr, sock, future, invite
        self.gap, self.seen, self.ack = t1, [], None
        self.next, self.end = now() + t1, now() + GIVE_UP


class Take:
    """a server transaction"""
    __slots__ = ("request", "source", "sock", "last", "code", "born", "next", "gap", "tag")

    def __init__(self, request, source, sock, tag, t1):
        self.request, self.source, self.sock, self.tag = request, source, sock, tag
        self.last, self.code, self.born, self.next, self.gap = None, 0, now(), None, t1


class Call:
    """one dialog, whoever opened it"""
    __slots__ = ("id", "local", "remote", "target", "routes", "cseq", "peer", "sock", "hop", "blind", "ours")

    def __init__(self, **k):
        self.routes, self.cseq, self.blind, self.ours, self.hop, self.target, self.peer = [], 1, False, True, None, "", ""
        for name, value in k.items():
            setattr(self, name, value)


class Agent:
    def __init__(self, name, host, port=0, hop=None, sockets=1, log=None):
        self.name, self.hop, self.socks = name, hop, []
        self.log = open(log, "w", buffering=1) if log else None
        self.asks, self.takes, self.calls, self.ended = {}, {}, {}, {}
        self.acks = {}                                    # (Call-ID, CSeq): the ACK of a 2xx, for its retransmissions
        self.bound = {}                                   # user: Contact and Path of the last REGISTER
        self.waiting = {}                                 # (Call-ID, CSeq number): a 2xx that waits for its ACK
        self.count = collections.Counter()
        self.heard = collections.Counter()                # requests received, by method
        self.mode = dict(options="200", invite="", all="", register="200", retry="", expires="3600",
                         ring="120",                     # s that an INVITE that was answered 1xx may ring
                         t1=str(T1))
        self.serial, self.ids, self.mark = itertools.count(1), itertools.count(1), mark()     # ids: of calls, in the order in which they are opened
        for i in range(sockets):
            s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                s.setsockopt(socket.SOL_SOCKET, option, 4 << 20)
            s.bind((host, port if i == 0 else 0))
            s.setblocking(False)
            self.socks.append(s)
        self.at = [s.getsockname()[:2] for s in self.socks]
        self.me = [f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in self.at]

    def start(self):
        loop = asyncio.get_running_loop()
        for i, s in enumerate(self.socks):
            loop.add_reader(s, self.drain, i)
        self.ticker = loop.create_task(self.tick())

    # ---- the wire

    def send(self, sock, data, addr):
        try:
            self.socks[sock].sendto(data, addr)
        except OSError:                                   # refused by a dead peer, or a full buffer: the retransmission's business
            self.count["send_errors"] += 1

    def drain(self, sock):
        for _ in range(64):
            try:
                data, source = self.socks[sock].recvfrom(65535)
            except BlockingIOError:
                return
            except OSError:
                continue
            if not data.strip(b"\r\n\0") or self.mode["all"] == "silent":
                continue
            try:
                m = Message(data)
                self.response(m, sock) if m.code else self.request(m, sock, source[:2])
            except (ValueError, IndexError) as e:
                self.count["unreadable"] += 1
                self.note(event="unreadable", why=str(e), text=data.decode("latin-1"))

    async def tick(self):
        while True:
            await asyncio.sleep(0.05)
            t = now()
            for branch, a in list(self.asks.items()):
                if a.future.done():
                    if t > a.end:
                        del self.asks[branch]
                elif t > a.end:
                    a.future.set_result(None)
                    a.end = t + KEEP
                elif t > a.next:
                    a.gap = a.gap * 2 if a.invite else min(a.gap * 2, 4.0)
                    a.next = t + a.gap
                    self.count["retransmissions"] += 1
                    self.send(a.sock, a.data, a.addr)
            for key, x in list(self.takes.items()):
                if x.next and t > x.next:                 # a final answer to INVITE, until its ACK comes
                    x.gap = min(x.gap * 2, 4.0)
                    x.next = t + x.gap if t < x.born + KEEP else None
                    self.count["retransmissions"] += 1
                    self.send(x.sock, *x.last)
                elif not x.next and t > x.born + KEEP and x.code:
                    del self.takes[key]

    def note(self, **what):
        if self.log:
            self.log.write(json.dumps(dict(t=round(time.time(), 3), **what)) + "\n")

    # ---- asking

    def branch(self):
        return f"z9hG4bK{self.mark}{next(self.serial)}"

    def via(self, sock, branch):
        return f"SIP/2.0/UDP {self.me[sock]};branch={branch};rport"

    async def ask(self, data, addr, sock, branch, invite=False):
        """-> the final response, or None; and the transaction"""
        a = self.asks[branch] = Ask(data, addr, sock, asyncio.get_running_loop().create_future(), invite, float(self.mode["t1"]))
        self.send(sock, data, addr)
        return await a.future, a

    def response(self, m, sock):
        vias = m.all("via")
        a = self.asks.get(param(vias[0], "branch") if vias else None)
        if not a or len(vias) != 1 or a.sock != sock:
            self.count["via_wrong" if vias else "unreadable"] += 1
            return
        if m.method == "CANCEL":                          # has the INVITE's branch (RFC 3261 section 9.1) and a future of its own
            a = self.asks.get(param(vias[0], "branch") + "/cancel", a)
        a.seen.append(m.code)
        if m.code < 200:
            a.next, a.end = (float("inf"), now() + float(self.mode["ring"])) if a.invite else (a.next, a.end)
        elif a.invite and m.code >= 300:
            if a.ack is None:
                a.ack = self.refused_ack(a, m)
            self.send(sock, a.ack, a.addr)
        elif a.invite and a.future.done():
            ack = self.acks.get((m.get("call-id"), m.get("cseq")))
            if ack:
                self.send(sock, *ack)
        if m.code >= 200 and not a.future.done():
            a.end = now() + KEEP
            a.future.set_result(m)

    def refused_ack(self, a, m):
        r = Message(a.data)
        h = [("Via", r.get("via"))] + [("Route", x) for x in r.all("route")] + [("Max-Forwards", "70"), ("From", r.get("from")), ("To", m.get("to")),
             ("Call-ID", r.get("call-id")), ("CSeq", r.get("cseq").split()[0] + " ACK")]
        return compose(f"ACK {r.uri} SIP/2.0", h)

    def opening(self, method, uri, sock, frm, to, branch, extra=(), call_id=None, body=b""):
        call_id = call_id or f"{self.mark}-{next(self.ids)}@{self.at[0][0]}"
        h = [("Via", self.via(sock, branch)), ("Max-Forwards", "70"), ("From", f"<{frm}>;tag={next(self.serial)}{self.mark}"), ("To", f"<{to}>"),
             ("Call-ID", call_id), ("CSeq", f"1 {method}"), ("Contact", f"<sip:{user(frm)}@{self.me[sock]}>"), ("X-Server", self.name)]
        return compose(f"{method} {uri} SIP/2.0", h + list(extra), body)

    async def place(self, uri, frm, blind=False, extra=(), into=None):
        """-> "answered", "lost" or the refusal's code; the call is kept, and appended to `into`"""
        sock, branch = next(self.serial) % len(self.socks), self.branch()
        data = self.opening("INVITE", uri, sock, frm, bare(uri), branch, extra)
        m, a = await self.ask(data, self.hop, sock, branch, True)
        if m is None:
            return "lost"
        if m.code >= 300:
            return str(m.code)
        r = Message(data)
        c = Call(id=r.get("call-id"), local=r.get("from"), remote=m.get("to"), target=bare(m.get("contact")), routes=m.all("record-route")[::-1],
                 peer=m.get("x-server"), sock=sock, hop=self.hop, blind=blind)
        self.calls[c.id] = c
        if into is not None:
            into.append(c)
        self.acknowledge(c, 1)
        return "answered"

    def inside(self, c, method, branch, number, extra=()):
        """a request of the call; blind: as some agents do, without Route and to the gateway's own address"""
        uri = f"sip:service@{self.hop[0]}:{self.hop[1]}" if c.blind else c.target
        routes = [] if c.blind else c.routes
        addr = c.hop if c.blind or not (routes or c.target) else address(routes[0] if routes else c.target)
        h = [("Via", self.via(c.sock, branch))] + [("Route", x) for x in routes] + [("Max-Forwards", "70"), ("From", c.local), ("To", c.remote),
             ("Call-ID", c.id), ("CSeq", f"{number} {method}"), ("Contact", f"<sip:{self.name}@{self.me[c.sock]}>"), ("X-Server", self.name)]
        return compose(f"{method} {uri} SIP/2.0", h + list(extra)), addr

    def acknowledge(self, c, number):
        data, addr = self.inside(c, "ACK", self.branch(), number)
        self.acks[c.id, f"{number} INVITE"] = (data, addr)
        self.send(c.sock, data, addr)

    async def within(self, c, method, extra=()):
        """One request inside a call -> "answered", "moved", "lost" or the refusal's code."""
        c.cseq += 1
        number, branch = c.cseq, self.branch()
        data, addr = self.inside(c, method, branch, number, extra)
        m, _ = await self.ask(data, addr, c.sock, branch, method == "INVITE")
        if m is None:
            return "lost"
        if m.code < 300 and method == "INVITE":
            self.acknowledge(c, number)
        if m.get("x-server") and m.get("x-server") != c.peer:
            self.note(event="moved", call=c.id, held=c.peer, answered=m.get("x-server"), method=method, code=m.code)
            return "moved"
        if method == "BYE":
            self.ended[c.id] = self.calls.pop(c.id, c)
        return "answered" if m.code < 300 else str(m.code)

    # ---- answering

    def request(self, m, sock, source):
        self.heard[m.method] += 1
        branch = param(m.get("via"), "branch") or ""
        key = (branch, "INVITE" if m.method == "ACK" else m.method)
        old = self.takes.get(key)
        answer = self.ack(m, old) if m.method == "ACK" else "again" if old else None
        if old and m.method != "ACK":
            self.count["repeats"] += 1
            if old.last:
                self.send(old.sock, *old.last)
        elif m.method != "ACK":
            tag = param(m.get("to"), "tag")
            x = self.takes[key] = Take(m, source, sock, tag or f"{next(self.serial)}{self.mark}", float(self.mode["t1"]))
            answer = (self.cancel if m.method == "CANCEL" else self.known if tag else self.fresh)(x, m)
        if self.log:
            self.note(event="request", method=m.method, uri=m.uri, call_id=m.get("call-id"), cseq=m.get("cseq"), **{"from": m.get("from")}, to=m.get("to"), via=m.all("via"),
                      route=m.all("route"), record_route=m.all("record-route"), max_forwards=m.get("max-forwards"), contact=m.get("contact"),
                      source="%s:%d" % source, answer=answer)

    def ack(self, m, take):
        call = self.calls.get(m.get("call-id")) or self.ended.get(m.get("call-id"))
        if take and take.code >= 300:                     # same branch as the INVITE: the ACK of our refusal
            take.next = None
            return "refusal-acked"
        if call and param(m.get("to"), "tag") == param(call.local, "tag"):
            x = self.waiting.pop((call.id, m.get("cseq").split()[0]), None)
            if x:
                x.next = None
            return "acked"
        self.count["stray_acks"] += 1
        return "stray"

    def cancel(self, x, m):
        invite = self.takes.get((param(m.get("via"), "branch"), "INVITE"))
        if not invite:
            self.count["stray_cancels"] += 1
            return self.answer(x, 481)
        x.tag = invite.tag
        self.answer(x, 200)
        if invite.code < 200:
            self.answer(invite, 487)
        return 200

    def known(self, x, m):
        """a request with a To tag: of a call that is ours, or it came to the wrong agent"""
        c = self.calls.get(m.get("call-id")) or self.ended.get(m.get("call-id"))
        if not c or param(c.local, "tag") != x.tag:
            self.count["strangers"] += 1
            self.note(event="stranger", call=m.get("call-id"), method=m.method)
            return self.answer(x, 481)
        if m.get("x-server") != c.peer:
            self.count["moved"] += 1
        if m.method == "BYE":
            self.ended[c.id] = self.calls.pop(c.id, c)
        return self.answer(x, 200)

    def fresh(self, x, m):
        if m.method == "OPTIONS" and not user(m.uri):     # a probe, or a question to the server itself
            return self.moded(x, "options")
        if m.method == "REGISTER":
            self.bound[user(m.get("to"))] = bare(m.get("contact")), m.all("path")
            return self.moded(x, "register", [("Path", v) for v in m.all("path")] + [("Contact", f"{m.get('contact')};expires={self.mode['expires']}")])
        if m.method != "INVITE":
            return self.answer(x, 200)
        if self.mode["invite"]:
            return self.moded(x, "invite")
        want = re.fullmatch(r"(code|after|ring|silent)\.?(\d*)", user(m.uri))
        kind, number = (want[1], int(want[2] or 0)) if want else ("", 0)
        if kind == "silent":
            return None
        if kind == "code":
            return self.answer(x, number)
        self.answer(x, 180)
        if kind == "ring":
            return 180
        if kind == "after":
            asyncio.get_running_loop().call_later(number / 1000, self.take_call, x, m)
            return 180
        return self.take_call(x, m)

    def moded(self, x, what, extra=()):
        mode = self.mode[what]
        if mode == "silent":
            return None
        return self.answer(x, int(mode), list(extra) + ([("Retry-After", self.mode["retry"])] if mode == "503" and self.mode["retry"] else []))

    def take_call(self, x, m):
        if x.code >= 200:                                 # cancelled meanwhile
            return x.code
        c = Call(id=m.get("call-id"), local=f"{m.get('to')};tag={x.tag}", remote=m.get("from"), target=bare(m.get("contact")), routes=m.all("record-route"),
                 peer=m.get("x-server"), sock=x.sock, hop=self.hop, ours=False)
        self.calls[c.id] = c
        self.count["taken"] += 1
        return self.answer(x, 200)

    def answer(self, x, code, extra=()):
        m = x.request
        to = m.get("to")
        if code > 100 and param(to, "tag") is None:
            to += f";tag={x.tag}"
        h = [("Via", v) for v in m.all("via")]
        if m.method in ("INVITE", "SUBSCRIBE", "NOTIFY", "REFER") and code < 300:
            h += [("Record-Route", v) for v in m.all("record-route")]
        h += [("From", m.get("from")), ("To", to), ("Call-ID", m.get("call-id")), ("CSeq", m.get("cseq")), ("X-Server", self.name)]
        if not any(n == "Contact" for n, _ in extra):
            h.append(("Contact", f"<sip:{self.name}@{self.me[x.sock]}>"))
        via = m.get("via")
        host, port = re.match(r"\S+\s+(\[[^\]]*\]|[^:;\s]+)(?::(\d+))?", via).groups()
        addr = (x.source[0], x.source[1] if param(via, "rport") is not None else int(port or 5060))     # RFC 3261 18.2.2, RFC 3581 4
        x.last, x.code, x.born = (compose(f"SIP/2.0 {code} Scripted", h + list(extra)), addr), code, now()
        if m.method == "INVITE" and code >= 200:
            x.next = now() + x.gap
            if code < 300:
                self.waiting[m.get("call-id"), m.get("cseq").split()[0]] = x
        self.send(x.sock, *x.last)
        return code
