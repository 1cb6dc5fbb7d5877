"""The commands of a scripted SIP agent (control.py runs them). Each returns a dict of counts; nothing raises for what a peer did.

  call N [user=U] [uri=URI] [from=U] [route=no] [window=200] [replaces=CALL-ID]   opens calls, keeps those that were answered
  call N bound=a,b                       calls those who have registered here, by their Path
  ask N|all [method=INFO] [server=S]     one request inside each held call (method=INVITE: a re-INVITE)
  bye N|all [server=S]                   ends calls
  ring N [user=ring], cancel [copies=1]  opens calls that ring until `cancel` takes them back
  transfer N [window=50]                 attended transfers, each of two held calls: REFER in the one names the other, then comes an INVITE with Replaces
  register users=a,b [expires=60] [path=no], options, message user=U
  calls [server=S], stats, forget server=S, hop at=HOST:PORT, set options=503 retry=2 | options=silent | invite=503 | all=silent | ring=SECONDS | t1=SECONDS ...
User parts that steer the callee: code.486 refuses with it, after.500 answers so many ms late, ring rings, silent says nothing."""
import asyncio, collections
from urllib.parse import quote

from control import host_port
from sip_agent import Agent
from sip_text import Message, compose, param


class Driven(Agent):
    async def each(self, things, window, do):
        """do(thing) for all, `window` at once -> Counter of what each returned"""
        result, it = collections.Counter(), iter(things)

        async def worker():
            for x in it:
                result[await do(x)] += 1
        await asyncio.gather(*(worker() for _ in range(int(window))))
        return result

    def tally(self, result, asked):
        known = {k: result.pop(k, 0) for k in ("answered", "moved", "lost")}
        return dict(asked=asked, **known, refused=dict(result))

    def held(self, n="all", server=None):
        calls = [c for c in self.calls.values() if server in (None, c.peer)]
        return calls if n == "all" else calls[:int(n)]

    def by_server(self, calls):
        return dict(sorted(collections.Counter(c.peer for c in calls).items()))

    async def do_call(self, n="1", user="service", uri=None, route="yes", window="200", replaces=None, bound=None, **k):
        uri, frm, before = uri or f"sip:{user}@{self.hop[0]}:{self.hop[1]}", k.get("from"), set(self.calls)
        extra = [("Replaces", f"{replaces};to-tag=a;from-tag=b")] if replaces else []
        whom = [(contact, [("Route", p) for p in path]) for contact, path in map(self.bound.__getitem__, bound.split(","))] if bound else [(uri, [])]

        def place(i):
            to, routes = whom[i % len(whom)]
            return self.place(to, f"sip:{frm or f'caller{i}'}@lab.example", route == "no", routes + extra)
        got = await self.each(range(int(n)), window, place)
        new = [c for i, c in self.calls.items() if i not in before]
        t = self.tally(got, int(n))
        return dict(t, by_server=self.by_server(new), ids=[c.id for c in new[:50]], say=f"placed {n} calls: {t['answered']} answered" +
                    "".join(f", {v} refused with {c}" for c, v in t["refused"].items()) + (f", {t['lost']} lost" if t["lost"] else "") +
                    "; " + ", ".join(f"{s} took {v}" for s, v in self.by_server(new).items()))

    async def do_ask(self, n="all", word=None, method="INFO", server=None, window="200"):
        calls = self.held(word or n, server)
        t = self.tally(await self.each(calls, window, lambda c: self.within(c, method)), len(calls))
        return dict(t, by_server=self.by_server(calls), say=f"{len(calls)} live calls sent {method}: {t['answered']} answered by their own server, {t['moved']} by another"
                    + (f", {t['lost']} by none" if t["lost"] else "") + "".join(f", {v} refused with {c}" for c, v in t["refused"].items()))

    async def do_bye(self, n="all", word=None, server=None, window="200"):
        calls = self.held(word or n, server)
        t = self.tally(await self.each(calls, window, lambda c: self.within(c, "BYE")), len(calls))
        return dict(t, say=f"{len(calls)} calls hung up: {t['answered']} answered by their own server, {t['moved']} by another")

    async def do_transfer(self, n="1", window="50"):
        """right: the server of the named call took the INVITE; apart: of calls that two servers held. What is done with is hung up"""
        calls = sorted(self.calls.values(), key=lambda c: c.id.split("-")[1][::-1])     # not as they were answered: neighbours share a server then
        pairs = [(calls[2 * i], calls[2 * i + 1]) for i in range(min(int(n), len(calls) // 2))]

        async def one(pair):
            a, b = pair
            to_tag, from_tag, made = param(b.remote, "tag"), param(b.local, "tag"), []
            escaped = quote(f"{b.id};to-tag={to_tag};from-tag={from_tag}", safe="")
            got = await self.within(a, "REFER", [("Refer-To", f'"Carol" <sip:carol@{self.hop[0]}:{self.hop[1]}?Replaces={escaped}>')])
            if got != "answered":
                return f"refer-{got}"
            got = await self.place(f"sip:carol@{self.hop[0]}:{self.hop[1]}", f"sip:transferee{b.id[-3:]}@lab.example", False,
                                   [("Replaces", f"{b.id};to-tag={to_tag};from-tag={from_tag}")], made)
            if got != "answered":
                return f"invite-{got}"
            for c in (*made, a, b):
                if await self.within(c, "BYE") != "answered":
                    return "bye"
            return "right" if made[0].peer == b.peer else "wrong"
        got = await self.each(pairs, window, one)
        return dict({"right": 0, **got}, asked=len(pairs), apart=sum(a.peer != b.peer for a, b in pairs))

    async def do_ring(self, n="1", user="ring", window="200"):
        self.ringing = getattr(self, "ringing", [])
        for i in range(int(n)):
            sock, branch = i % len(self.socks), self.branch()
            data = self.opening("INVITE", f"sip:{user}@{self.hop[0]}:{self.hop[1]}", sock, "sip:caller@lab.example", "sip:ring@lab.example", branch)
            task = asyncio.ensure_future(self.ask(data, self.hop, sock, branch, True))
            self.ringing.append((task, branch, sock, data))
            await asyncio.sleep(0.001)
        for _ in range(400):
            rings = sum(180 in self.asks[b].seen for _, b, _, _ in self.ringing)
            if rings == len(self.ringing):
                break
            await asyncio.sleep(0.05)
        return dict(asked=int(n), ringing=rings)

    async def do_cancel(self, copies="1"):
        got = collections.Counter()

        async def take_back(task, branch, sock, data):
            m = Message(data)
            h = [("Via", m.get("via")), ("Max-Forwards", "70"), ("From", m.get("from")), ("To", m.get("to")), ("Call-ID", m.get("call-id")), ("CSeq", "1 CANCEL")]
            cancel = compose(f"CANCEL {m.uri} SIP/2.0", h)
            for _ in range(int(copies) - 1):
                self.send(sock, cancel, self.hop)
            ok, _ = await self.ask(cancel, self.hop, sock, branch + "/cancel")
            end, _ = await task
            got["cancel-" + str(ok.code if ok else "lost")] += 1
            got["invite-" + str(end.code if end else "lost")] += 1
        await asyncio.gather(*(take_back(*x) for x in self.ringing))
        self.ringing = []
        return dict(got)

    async def single(self, method, uri, to, extra=()):
        sock, branch = next(self.serial) % len(self.socks), self.branch()
        m, _ = await self.ask(self.opening(method, uri, sock, to, to, branch, extra), self.hop, sock, branch)
        return m

    async def do_register(self, users="alice", expires="60", path="yes"):
        out = {}
        for u in users.split(","):
            m = await self.single("REGISTER", "sip:lab.example", f"sip:{u}@lab.example", [("Expires", expires)] + [("Supported", "path, outbound")] * (path == "yes"))
            out[u] = dict(code=m.code, server=m.get("x-server")) if m else dict(code=0, server="")
        return dict(users=out)

    async def do_options(self):
        m = await self.single("OPTIONS", f"sip:{self.hop[0]}:{self.hop[1]}", "sip:caller@lab.example")
        return dict(code=m.code if m else 0, server=m.get("x-server") if m else "")

    async def do_message(self, user="service"):
        m = await self.single("MESSAGE", f"sip:{user}@{self.hop[0]}:{self.hop[1]}", "sip:caller@lab.example")
        return dict(code=m.code if m else 0, server=m.get("x-server") if m else "")

    def do_calls(self, server=None):
        calls = self.held(server=server)
        return dict(held=len(calls), by_server=self.by_server(calls), calls=[dict(id=c.id, server=c.peer, cookie=bool(c.routes)) for c in calls],
                    say=f"{len(calls)} calls are up: " + ", ".join(f"{v} at {s}" for s, v in self.by_server(calls).items()))

    def do_stats(self):
        c = self.count
        zero = ("moved", "strangers", "stray_acks", "stray_cancels", "via_wrong", "unreadable", "repeats", "retransmissions", "send_errors", "taken")
        return dict({k: c[k] for k in zero}, held=len(self.calls), unacked=sum(1 for x in self.takes.values() if x.next), heard=dict(self.heard),
                    say=f"{self.name} holds {len(self.calls)} calls, {c['strangers']} requests came for calls of others")

    def do_hop(self, at):
        self.hop = host_port(at)

    def do_forget(self, server=None, **_):
        gone = self.held(server=server)
        for c in gone:
            self.ended[c.id] = self.calls.pop(c.id)
        return dict(forgotten=len(gone))

    def do_set(self, **modes):
        unknown = set(modes) - set(self.mode)
        if unknown:
            raise ValueError(f"no such mode: {', '.join(unknown)}")
        self.mode.update(modes)
        return dict(self.mode)
