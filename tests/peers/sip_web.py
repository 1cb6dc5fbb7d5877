#!/usr/bin/env python3
"""sip_web.py GATEWAY_HOST:PORT [--tls] [--sockets N] [--name NAME] [--text] [--cut]
sip_web.py GATEWAY_HOST:PORT --plain [--tls] [--as HOST] ...

Scripted SIP phones, each of the N on a connection of its own, where all that comes has to come: over WebSocket (RFC 7118), as pages in a browser are, with
an `.invalid` host in Via and Contact; --plain: over TCP, naming the connection's own end, or HOST at its port. Nobody can dial either.
--text: text frames, else binary; --cut: messages in fragments, with pings between. Commands: sip_drive.py, `drop`: all connections end without a word,
and `again`. It counts pongs, and closes that the gateway began."""
import argparse, asyncio, random, re, ssl, sys

sys.dont_write_bytecode = True
import web
from control import host_port, pid_file, serve
from sip_drive import Driven
from sip_text import Message

NAMES = {web.PONG: "pongs", web.CLOSE: "closes", web.TEXT: "texts", web.BINARY: "binaries"}


class Page(Driven):
    def __init__(self, gateway, a):
        super().__init__(a.name, "127.0.0.1", hop=gateway, sockets=0)
        self.gateway, self.a, self.opcode = gateway, a, web.TEXT if a.text else web.BINARY
        self.socks, self.at, self.rng = [None] * a.sockets, [gateway] * a.sockets, random.Random(7)
        self.me = [f"{self.mark}x{i}.invalid" for i in range(a.sockets)]
        self.transport = {(0, 0): "WS", (0, 1): "WSS", (1, 0): "TCP", (1, 1): "TLS"}[a.plain, a.tls]

    def via(self, sock, branch):
        return f"SIP/2.0/{self.transport} {self.me[sock].partition(';')[0]};branch={branch}"

    async def open(self):
        context = ssl._create_unverified_context() if self.a.tls else None
        for i in range(len(self.socks)):
            reader, self.socks[i] = await asyncio.open_connection(*self.gateway, ssl=context)
            if self.a.plain:
                host, port = self.socks[i].get_extra_info("sockname")[:2]
                self.me[i] = f"{self.a.known or host}:{port};transport={self.transport.lower()}"
            else:
                await self.upgrade(reader, self.socks[i])
            asyncio.ensure_future((self.messages if self.a.plain else self.frames)(i, reader))
        self.ticker = asyncio.ensure_future(self.tick())

    async def upgrade(self, reader, writer):
        head, key = web.request("%s:%d" % self.gateway)
        writer.write(head)
        answer = await reader.readuntil(b"\r\n\r\n")
        if not web.accepts(answer, key):
            raise ValueError(f"not opened: {answer.decode('latin-1')}")

    async def frames(self, sock, reader):
        frames = web.Reader()
        while data := await reader.read(65536):
            for opcode, payload in frames.feed(data):
                self.count[NAMES.get(opcode, "odd")] += 1
                if opcode in (web.TEXT, web.BINARY):
                    self.took(sock, payload)
        self.count["ended"] += 1

    async def messages(self, sock, reader):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                n = re.search(rb"(?im)^(?:content-length|l)[ \t]*:[ \t]*(\d+)", head)
                self.took(sock, head + await reader.readexactly(int(n[1])))
        except asyncio.IncompleteReadError:
            self.count["ended"] += 1

    def took(self, sock, data):
        m = Message(data)
        self.response(m, sock) if m.code else self.request(m, sock, self.gateway)

    def send(self, sock, data, addr):
        out = data if self.a.plain else web.fragments(self.opcode, data, self.rng) if self.a.cut else web.frame(self.opcode, data)
        if not self.socks[sock].is_closing():
            self.socks[sock].write(out)

    def do_stats(self):
        return dict(super().do_stats(), **{k: self.count[k] for k in ("pongs", "closes", "texts", "binaries", "odd", "ended")})

    async def do_drop(self):
        for s in self.socks:
            s.transport.abort()
        await asyncio.sleep(0.1)
        return {}

    async def do_again(self):
        self.ticker.cancel()
        await self.open()
        return {}


async def main(a):
    page = Page(host_port(a.gateway), a)
    await page.open()
    await serve(page, dict(name=a.name))


if __name__ == "__main__":
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("gateway")
    p.add_argument("--as", dest="known")
    p.add_argument("--sockets", type=int, default=4)
    p.add_argument("--name", default="pages")
    p.add_argument("--pid")
    for o in ("--tls", "--text", "--cut", "--plain"):
        p.add_argument(o, action="store_true")
    args = p.parse_args()
    pid_file(args.pid)
    asyncio.run(main(args))
