#!/usr/bin/env python3
"""sip_client.py GATEWAY_HOST:PORT [--at HOST] [--as HOST:PORT] [--sockets N] [--name NAME] [--log FILE] [--pid FILE]

Scripted SIP phones over UDP for tests and the demonstration: places calls through the gateway, holds them, asks and hangs up inside them, and
counts answers that came from another server than the call's own (`moved`). It also answers calls that come in. --sockets spreads the
calls over so many source ports. --as: what it writes into Via and Contact, as a phone behind NAT does that knows nothing of it. Commands: sip_drive.py."""
import argparse, asyncio, sys

sys.dont_write_bytecode = True
from control import host_port, pid_file, serve
from sip_drive import Driven


async def main(a):
    agent = Driven(a.name, a.at, hop=host_port(a.gateway), sockets=a.sockets, log=a.log)
    agent.me = [a.known] * a.sockets if a.known else agent.me
    agent.start()
    await serve(agent, dict(name=a.name, host=a.at, port=agent.at[0][1]))


if __name__ == "__main__":
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("gateway")
    p.add_argument("--at", default="127.0.0.1")
    p.add_argument("--as", dest="known")
    p.add_argument("--sockets", type=int, default=8)
    p.add_argument("--name", default="phones")
    p.add_argument("--log")
    p.add_argument("--pid")
    args = p.parse_args()
    pid_file(args.pid)
    asyncio.run(main(args))
