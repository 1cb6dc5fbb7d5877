#!/usr/bin/env python3
"""rdp_client.py GATEWAY_HOST:PORT [--pid FILE]

Scripted RDP clients for tests and the demonstration. A connection sends a Connection Request, waits for the Confirm, logs its user in
with 1,500 octets each way and learns from the host who it is and whether the user's session was there before.

  connect user=U [cookie=TEXT|none] [token=HOST:PORT | line=TEXT] [at=127.0.0.9] [login=no]   one connection that stays; U is who logs in
  many N [prefix=user] [at=...] [from=0]   N users, one connection each
  check [user=U]      every live connection asks its host's name: same, moved or lost
  close [user=U]      ends connections (sessions stay at the host)
  list, stats         stats: `split` counts users whose session was opened at a second host
Answers of a connect: confirm, refused (X.224 Disconnect Request), failure.CODE, closed, silent, no-connection."""
import argparse, asyncio, collections, sys

sys.dont_write_bytecode = True
import rdp_text
from control import host_port, pid_file, serve

PADDING = b"x" * 1500      # a session counts as begun once 1 KB went each way
WAIT = 12.0                # longer than a gateway's default limit for the first message
CHECK_WAIT = 60            # of thousands that are asked at once on a busy machine the last answers late; one that was cut ends at once


class Connection:
    def __init__(self, user, reader, writer):
        self.user, self.reader, self.writer, self.host, self.session = user, reader, writer, "", ""

    async def line(self, text, wait=WAIT):
        self.writer.write(text + b"\n")
        return (await asyncio.wait_for(self.reader.readline(), wait)).decode("latin-1").split()


class Clients:
    def __init__(self, gateway):
        self.gateway, self.live, self.homes, self.split = gateway, [], collections.defaultdict(set), 0

    async def open(self, user, cookie=None, token=None, line=None, at=None, login="yes", wait=WAIT):
        text = rdp_text.token(*host_port(token)) if token else line.encode("latin-1") if line else \
            b"" if cookie == "none" else rdp_text.cookie((cookie if cookie is not None else user).encode())
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection(*self.gateway, local_addr=(at, 0) if at else None), float(wait))
        except (OSError, asyncio.TimeoutError):
            return dict(answer="no-connection", host="")
        c = Connection(user, reader, writer)
        writer.write(rdp_text.request(text))
        answer = await self.answer(c, float(wait))
        if answer == "confirm" and login == "yes":
            try:
                _, c.host, _, c.session, *_ = await c.line(b"login " + user.encode() + b" " + PADDING)
                if c.session == "new" and self.homes[user]:
                    self.split += 1
                self.homes[user].add(c.host)
            except (ValueError, OSError, asyncio.TimeoutError):
                answer = "closed"
        if answer == "confirm":
            self.live.append(c)
        else:
            writer.close()
        return dict(answer=answer, host=c.host, session=c.session)

    async def answer(self, c, wait):
        try:
            pdu = await asyncio.wait_for(rdp_text.read_pdu(c.reader), wait)
        except asyncio.TimeoutError:
            return "silent"
        except (asyncio.IncompleteReadError, OSError):
            return "closed"
        if pdu == rdp_text.REFUSED:
            return "refused"
        return f"failure.{pdu[15]}" if len(pdu) == 19 and pdu[11] == 3 else "confirm" if pdu[5] == 0xD0 else "unknown"

    async def do_connect(self, user, **k):
        got = await self.open(user, **k)
        return dict(got, say=f"{user} is at {got['host']}, " + ("in a new session" if got["session"] == "new" else "back in the old session") if got["host"] else f"{user}: {got['answer']}")

    async def do_many(self, n, prefix="user", at=None, window="16", **k):
        first, result, hosts = int(k.pop("from", 0)), collections.Counter(), collections.Counter()
        it = iter(range(first, first + int(n)))

        async def worker():
            for i in it:
                got = await self.open(f"{prefix}{i}", at=at, **k)
                result[got["answer"]] += 1
                hosts[got["host"]] += got["host"] != ""
        await asyncio.gather(*(worker() for _ in range(int(window))))
        return dict(result, hosts=dict(hosts), split=self.split, say=f"{n} users connected: " + ", ".join(f"{v} at {h}" for h, v in sorted(hosts.items())))

    async def do_check(self, user=None):
        result = collections.Counter()

        async def one(c):
            try:
                got = await c.line(b"who", CHECK_WAIT)
                result["same" if got == ["host", c.host] else "moved" if got else "lost"] += 1
            except (OSError, asyncio.TimeoutError):
                result["lost"] += 1
        mine = [c for c in self.live if user in (None, c.user)]
        await asyncio.gather(*(one(c) for c in mine))
        got = {k: result[k] for k in ("same", "moved", "lost")}
        return dict(live=len(mine), **got, say=f"{len(mine)} live desktops: {got['same']} at their own host, {got['moved']} at another, {got['lost']} cut")

    async def do_close(self, user=None):
        gone = [c for c in self.live if user in (None, c.user)]
        for c in gone:
            c.writer.close()
            self.live.remove(c)
        return dict(closed=len(gone))

    def do_list(self):
        return dict(live=[dict(user=c.user, host=c.host) for c in self.live])

    def do_stats(self):
        return dict(live=len(self.live), split=self.split, users=len(self.homes), homes={u: sorted(h) for u, h in self.homes.items()},
                    say=f"{len(self.homes)} users, {self.split} with a session at more than one host")


if __name__ == "__main__":
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("gateway")
    p.add_argument("--pid")
    args = p.parse_args()
    pid_file(args.pid)
    asyncio.run(serve(Clients(host_port(args.gateway)), {}))
