#!/usr/bin/env python3
"""rdp_host.py NAME HOST[:PORT] [--pid FILE]

A scripted RDP host for tests and the demonstration: it reads the Connection Request, answers a Confirm, and from there on takes lines of
text instead of TLS and a desktop. `login USER` opens or finds that user's session, which stays here when the connection ends, as on a
real host; the answer says the host's name and whether the session is new. `logoff` ends it. Any other line is echoed.

Commands: stats, requests (the last Connection Requests, in hex), sessions, drop (cuts all connections), logoff user=U, lose (all sessions),
set mode=confirm | silence | close | refuse | failure.CODE | down (nobody listens) | up."""
import argparse, asyncio, collections, sys

sys.dont_write_bytecode = True
import rdp_text
from control import host_port, pid_file, serve


class Host:
    def __init__(self, name, host, port):
        self.name, self.host, self.port = name, host, port
        self.mode, self.server, self.live = "confirm", None, set()
        self.sessions = collections.Counter()               # user: how often it came
        self.requests = collections.deque(maxlen=200)
        self.count = collections.Counter()

    async def listen(self):
        self.server = await asyncio.start_server(self.connection, self.host, self.port, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]

    async def connection(self, reader, writer):
        self.count["connections"] += 1
        self.live.add(writer)
        try:
            await self.session(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        finally:
            self.live.discard(writer)
            writer.close()

    async def session(self, reader, writer):
        user, pdu = None, await rdp_text.read_pdu(reader)
        self.requests.append(dict(hex=pdu.hex(), line=rdp_text.read_line(pdu)[0].decode("latin-1"), source="%s:%d" % writer.get_extra_info("peername")[:2]))
        self.count["requests"] += 1
        if self.mode == "silence":
            await reader.read()
        if self.mode in ("silence", "close"):
            return
        answer = rdp_text.REFUSED if self.mode == "refuse" else rdp_text.failure(int(self.mode[8:])) if self.mode.startswith("failure") else \
            rdp_text.confirm(rdp_text.read_line(pdu)[1])
        writer.write(answer)
        if self.mode != "confirm":
            return
        while line := await reader.readline():
            word, _, rest = line.rstrip(b"\n").partition(b" ")
            if word == b"login":
                user, _, padding = rest.partition(b" ")
                user = user.decode("latin-1")
                self.sessions[user] += 1
                line = f"host {self.name} session {'new' if self.sessions[user] == 1 else 'again'} ".encode() + padding + b"\n"
            elif word == b"logoff":
                self.sessions.pop(user, None)
            elif word == b"who":
                line = f"host {self.name}\n".encode()
            writer.write(line)
            await writer.drain()

    def do_stats(self):
        return dict(connections=self.count["connections"], requests=self.count["requests"], live=len(self.live), users=len(self.sessions),
                    say=f"{self.name} holds the sessions of {len(self.sessions)} users, {len(self.live)} connected")

    def do_sessions(self):
        return dict(sessions=dict(self.sessions))

    def do_requests(self):
        return dict(requests=list(self.requests))

    def do_logoff(self, user):
        return dict(found=self.sessions.pop(user, 0) > 0)

    def do_lose(self):
        self.sessions.clear()
        return {}

    def do_drop(self):
        n = len(self.live)
        for w in list(self.live):
            w.transport.abort()
        return dict(dropped=n)

    async def do_set(self, mode):
        if mode == "down" and self.server:
            self.server.close()
            self.server = None
            self.do_drop()
        elif mode != "down" and not self.server:
            await self.listen()
        self.mode = "confirm" if mode in ("up", "down") else mode
        return dict(mode=mode)


async def main(a):
    host = Host(a.name, *host_port(a.at if ":" in a.at else a.at + ":0"))
    await host.listen()
    await serve(host, dict(name=a.name, host=host.host, port=host.port))


if __name__ == "__main__":
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("name")
    p.add_argument("at")
    p.add_argument("--pid")
    args = p.parse_args()
    pid_file(args.pid)
    asyncio.run(main(args))
