#!/usr/bin/env python3
"""sip_web.py GATEWAY_HOST:PORT [--tls] [--sockets N] [--name NAME] [--text] [--cut]

Scripted SIP phones over WebSocket (RFC 7118), as pages in a browser are: each of the N sockets is a connection of its own, Via and Contact name an
`.invalid` host, and whatever comes has to come down the connection. --text: text frames, else binary; --cut: messages in fragments, with pings
between. Commands: sip_drive.py, and `drop`: all connections end without a word. It counts pongs, and closes that the gateway began."""
import argparse, asyncio, random, ssl, sys

sys.dont_write_bytecode = True
import web
from control import host_port, pid_file, serve
from sip_drive import Driven
from sip_text import Message


class Page(Driven):
    def __init__(self, name, gateway, sockets, tls=False, text=False, cut=False):
        super().__init__(name, "127.0.0.1", hop=gateway, sockets=0)
        self.gateway, self.tls, self.opcode, self.cut = gateway, tls, web.TEXT if text else web.BINARY, cut
        self.socks, self.at = [None] * sockets, [gateway] * sockets
        self.me = [f"{self.mark}x{i}.invalid" for i in range(sockets)]
        self.rng = random.Random(7)

    def via(self, sock, branch):
        return f"SIP/2.0/{'WSS' if self.tls else 'WS'} {self.me[sock]};branch={branch}"

    async def open(self):
        context = ssl._create_unverified_context() if self.tls else None
        for i in range(len(self.socks)):
            reader, self.socks[i] = await asyncio.open_connection(*self.gateway, ssl=context)
            head, key = web.request("%s:%d" % self.gateway)
            self.socks[i].write(head)
            answer = await reader.readuntil(b"\r\n\r\n")
            if not web.accepts(answer, key):
                raise ValueError(f"not opened: {answer.decode('latin-1')}")
            asyncio.ensure_future(self.listen(i, reader))
        self.ticker = asyncio.ensure_future(self.tick())

    async def listen(self, sock, reader):
        frames = web.Reader()
        while data := await reader.read(65536):
            for opcode, payload in frames.feed(data):
                self.took(sock, opcode, payload)
        self.count["ended"] += 1

    def took(self, sock, opcode, payload):
        self.count[{web.PONG: "pongs", web.CLOSE: "closes", web.TEXT: "texts", web.BINARY: "binaries"}.get(opcode, "odd")] += 1
        if opcode in (web.TEXT, web.BINARY):
            m = Message(payload)
            self.response(m, sock) if m.code else self.request(m, sock, self.gateway)

    def send(self, sock, data, addr):
        out = web.fragments(self.opcode, data, self.rng) if self.cut else web.frame(self.opcode, data)
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
    page = Page(a.name, host_port(a.gateway), a.sockets, a.tls, a.text, a.cut)
    await page.open()
    await serve(page, dict(name=a.name))


if __name__ == "__main__":
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("gateway")
    p.add_argument("--sockets", type=int, default=4)
    p.add_argument("--name", default="pages")
    p.add_argument("--pid")
    for o in ("--tls", "--text", "--cut"):
        p.add_argument(o, action="store_true")
    args = p.parse_args()
    pid_file(args.pid)
    asyncio.run(main(args))
