#!/usr/bin/env python3
"""rdp_farm.py GATEWAY_HOST:PORT [--users 400] [--seed 1] [--at-once 48] [--silent 0.12] [--base 127.60] [--domain CORP]

The users of a desktop farm, who come and go all day: each has a few devices, which write his name in ways of their own (plain, in capitals, with domain or UPN
suffix, cut to nine octets, or not at all where his address has told who he is); one in ten shares an address with nine others. The hosts are rdp_host.py's:
they know who it is from inside the session, and keep it until he logs off or they start anew. A user is split when a host opens a new session for
him while another still has one.

Commands: fill (everybody logs on once, half stay), play (from now on they come and go), pause (what is under way ends first), stats, splits,
host name=N state=down | lost | up (what happens to a host: down and up as the gateway knows it; lost: its sessions are gone)."""
import argparse, asyncio, collections, random, sys, time

sys.dont_write_bytecode = True
import rdp_text
from control import host_port, serve

FIRST = "jo max anna emil olga bruno clara dieter johanna christopher maximiliane".split()
SHARE = 10                 # users behind a shared address, and one in so many is
WAIT = 15.0                # a client's patience, longer than the gateway's for a host that is down
STAY = 0.5                 # of the users, so many are connected
PADDING = b" " + b"x" * 1100   # a session counts as begun once 1 KB went each way
now = time.monotonic


def digits(n):
    """a number in as few letters as can be, so that names differ within nine octets"""
    letters = "0123456789abcdefghijklmnopqrstuvwxyz"
    return (digits(n // 36) if n > 35 else "") + letters[n % 36]


class User:
    def __init__(self, n, a, rnd):
        self.name = f"{digits(n)}.{rnd.choice(FIRST)}"
        shared, number = n % SHARE == 0, n // (SHARE * SHARE) if n % SHARE == 0 else n
        self.home = self.address(a.base, 250 - number % 50 if shared else number // 250, number // 50 if shared else number % 250)
        self.away = self.address(a.base, 100 + n // 250, n % 250)
        upn, domain = f"{self.name}@corp.example", f"{a.domain}\\{self.name}"
        self.devices = [(self.home, x) for x in (self.name, self.name.upper(), domain, upn, self.name[:9])] + [(self.away, self.name), (self.away, domain)]
        self.whole = len(domain) == 9                 # looks cut and is not
        self.silent = not shared
        self.known, self.busy, self.link = False, False, None
        self.homes = set()                            # hosts that have a session of his

    @staticmethod
    def address(base, high, low):
        return f"{base}.{high}.{1 + low}"


class Farm:
    def __init__(self, a):
        self.a, self.rnd = a, random.Random(a.seed)
        self.users = [User(n, a, self.rnd) for n in range(1, a.users + 1)]
        self.down, self.up_since = set(), {}
        self.count, self.splits, self.live, self.longest = collections.Counter(), [], 0, 0.0
        self.tasks, self.playing = [], False

    # ---- one user's deeds

    def device(self, u):
        if u.silent and u.known and self.rnd.random() < self.a.silent:
            return u.home, None
        return self.rnd.choice(u.devices)

    async def enter(self, at, text, name):
        reader, writer = await asyncio.open_connection(*self.a.gateway, local_addr=(at, 0))
        try:
            writer.write(rdp_text.request(rdp_text.cookie(text.encode()) if text is not None else b""))
            if (await rdp_text.read_pdu(reader))[5] & 0xF0 != 0xD0:
                raise ConnectionError("refused")
            writer.write(b"login " + name.encode() + PADDING + b"\n")
            words = (await reader.readline()).split()
            if len(words) < 4:
                raise ConnectionError("closed")
            return reader, writer, words[1].decode(), words[3] == b"new"
        except BaseException:
            writer.transport.abort()
            raise

    async def logon(self, u, device=None):
        (at, text), begin = device or self.device(u), now()
        self.count["tried"] += 1
        try:
            reader, writer, host, new = await asyncio.wait_for(self.enter(at, text, u.name), WAIT)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, IndexError) as e:
            self.count["refused"] += 1
            self.count[f"refused {type(e).__name__}"] += 1
            return
        self.longest = max(self.longest, now() - begin)
        self.count["logons"] += 1
        self.leave(u)
        u.link, u.known = (reader, writer), u.known or (at == u.home and text is not None)
        self.live += 1
        others = u.homes - {host}
        if new and others:
            excused = any(h in self.down or self.up_since.get(h, 0) > begin for h in others)
            self.splits.append(dict(user=u.name, told=text, at=at, host=host, others=sorted(others), excused=excused))
            u.homes = set()                           # what it left behind is told once
        u.homes.add(host)

    def leave(self, u):
        if u.link:
            u.link[1].close()
            u.link, self.live = None, self.live - 1

    async def log_off(self, u):
        reader, writer = u.link
        try:
            writer.write(b"logoff\n")
            if await asyncio.wait_for(reader.readline(), 5):
                u.homes.clear()
                self.count["logoffs"] += 1
        except (OSError, asyncio.TimeoutError):
            pass
        self.leave(u)

    async def act(self, u):
        if u.link and (u.link[0].at_eof() or u.link[1].transport.is_closing()):
            self.leave(u)                             # cut by a host or the gateway
        dice = self.rnd.random()
        if u.link is None or dice < 0.2:              # from nothing, or from one device to another
            return await self.logon(u)
        if dice < 0.3:
            return await self.log_off(u)
        self.leave(u)
        self.count["closed"] += 1

    # ---- everybody

    async def come_and_go(self):
        while self.playing:
            u = self.rnd.choice(self.users)
            if u.busy or (u.link is None and self.live > STAY * len(self.users)):
                await asyncio.sleep(0)
                continue
            u.busy = True
            try:
                await self.act(u)
            finally:
                u.busy = False
            await asyncio.sleep(0)

    async def do_fill(self):
        async def some(part):
            for n, u in part:
                await self.logon(u, u.devices[0] if u.whole else None)   # by two that look cut, from two places, nobody is known
                if n % 2:
                    self.leave(u)
        everybody = list(enumerate(self.users))
        await asyncio.gather(*(some(everybody[i::self.a.at_once]) for i in range(self.a.at_once)))
        return self.do_stats()

    def do_play(self):
        self.playing = True
        self.tasks = [asyncio.ensure_future(self.come_and_go()) for _ in range(self.a.at_once)]
        return {}

    async def do_pause(self):
        self.playing = False
        await asyncio.gather(*self.tasks)
        self.tasks = []
        return self.do_stats()

    def do_host(self, name, state):
        if state == "down":
            self.down.add(name)
        elif state == "up":
            self.down.discard(name)
            self.up_since[name] = now()
        else:
            for u in self.users:
                u.homes.discard(name)
        return {}

    def do_stats(self):
        bad = [x for x in self.splits if not x["excused"]]
        return dict(self.count, live=self.live, splits=len(self.splits), bad=len(bad), longest_ms=round(1e3 * self.longest))

    def do_splits(self):
        return dict(splits=sorted(self.splits, key=lambda x: x["excused"])[:20])


async def main(a):
    await serve(Farm(a), dict(users=a.users))


if __name__ == "__main__":
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("gateway", type=host_port)
    p.add_argument("--users", type=int, default=400)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--at-once", type=int, default=48)
    p.add_argument("--silent", type=float, default=0.12, help="share of logons without a cookie")
    p.add_argument("--base", default="127.60")
    p.add_argument("--domain", default="CORP")
    asyncio.run(main(p.parse_args()))
