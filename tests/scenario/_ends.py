"""Ends that a scenario plays itself, and who holds how many sessions: helpers of the scenarios that send literal messages."""
import socket

from scenario import SLOW


def endpoint(kind=socket.SOCK_DGRAM):
    """a socket on a port of its own, and that place as text"""
    c = socket.socket(socket.AF_INET, kind)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    c.bind(("127.0.0.1", 0))
    c.settimeout(4 * SLOW)
    return c, "%s:%d" % c.getsockname()


def hop(at):
    host, port = at.rsplit(":", 1)
    return host, int(port)


def sessions(g):
    return {x["name"]: x["sessions"] for x in g.ctl("servers")["servers"]}
