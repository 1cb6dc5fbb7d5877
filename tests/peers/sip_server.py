#!/usr/bin/env python3
"""sip_server.py NAME HOST[:PORT] [--hop HOST:PORT] [--log FILE] [--pid FILE]

A scripted SIP server over UDP for tests and the demonstration; it is no product and moves no media. It answers what its user part says
(sip_drive.py), keeps its calls, names itself in X-Server, and refuses with 481 what belongs to a call that it does not hold. With --hop
it opens calls itself through that next hop. --log writes a line of JSON for each request. Commands: sip_drive.py."""
import argparse, asyncio, sys

sys.dont_write_bytecode = True
from control import host_port, pid_file, serve
from sip_drive import Driven


async def main(a):
    host, port = host_port(a.at if ":" in a.at else a.at + ":0")
    agent = Driven(a.name, host, port, hop=host_port(a.hop) if a.hop else None, log=a.log)
    agent.start()
    await serve(agent, dict(name=a.name, host=host, port=agent.at[0][1]))


if __name__ == "__main__":
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("name")
    p.add_argument("at")
    for o in ("--hop", "--log", "--pid"):
        p.add_argument(o)
    args = p.parse_args()
    pid_file(args.pid)
    asyncio.run(main(args))
