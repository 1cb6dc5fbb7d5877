"""A name server on loopback that says what it is told to: A, AAAA and SRV over UDP (RFC 1035, RFC 2782).

dns_server.py [HOST:PORT]
  set host=NAME at=ADDRESS[,ADDRESS...] [ttl=S]    these are its addresses
  set host=NAME                                    there is no such name
  srv host=NAME to=PRIORITY:WEIGHT:PORT:NAME[,...] [ttl=S]   ... nor addresses of it: these are whom it names, in this order
  mute on=yes|no [host=NAME]                       nothing (of this name) is answered
  stats                                            {"asked": {NAME: times}}"""
import argparse, asyncio, ipaddress, struct

from control import host_port, serve

A, AAAA, SRV, IN = 1, 28, 33, 1
NO_ERROR, NO_NAME = 0, 3


def name_at(data, at):
    labels = []
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode().lower())
        at += 1 + data[at]
    return ".".join(labels), at + 1


def packed(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"


def target(text):
    priority, weight, port, name = text.split(":")
    return struct.pack(">HHH", int(priority), int(weight), int(port)) + packed(name)


def answer(query, addresses, ttl):
    """addresses None: there is no such name; of an SRV question they are targets"""
    (ident,) = struct.unpack_from(">H", query)
    name, end = name_at(query, 12)
    kind, _ = struct.unpack_from(">HH", query, end)
    if kind == SRV:
        found = [target(a) for a in addresses or []]
    else:
        found = [ip.packed for ip in map(ipaddress.ip_address, addresses or []) if ip.version == {A: 4, AAAA: 6}.get(kind)]
    head = struct.pack(">HHHHHH", ident, 0x8580 | (NO_NAME if addresses is None else NO_ERROR), 1, len(found), 0, 0)
    return head + query[12:end + 4] + b"".join(struct.pack(">HHHIH", 0xc00c, kind, IN, ttl, len(x)) + x for x in found)


class Server(asyncio.DatagramProtocol):
    def __init__(self):
        self.names, self.asked, self.mute = {}, {}, set()

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, source):
        name, _ = name_at(data, 12)
        self.asked[name] = self.asked.get(name, 0) + 1
        if not self.mute & {name, None}:
            self.transport.sendto(answer(data, *self.names.get(name, (None, 0))), source)

    def do_set(self, host, at=None, ttl="1"):
        self.names[host] = (at.split(",") if at else None, int(ttl))

    def do_srv(self, host, to, ttl="1"):
        self.do_set(host, to, ttl)

    def do_mute(self, on, host=None):
        (self.mute.add if on == "yes" else self.mute.discard)(host)

    def do_stats(self):
        return dict(asked=self.asked)


async def main(at):
    host, port = host_port(at)
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(Server, local_addr=(host, port))
    await serve(server, dict(host=host, port=transport.get_extra_info("sockname")[1]))


if __name__ == "__main__":
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("at", nargs="?", default="127.0.0.1:0")
    asyncio.run(main(p.parse_args().at))
