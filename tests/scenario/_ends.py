"""Ends that a scenario plays itself, and who holds how many sessions: helpers of the scenarios that send literal messages."""
import socket, struct

from scenario import SLOW


def endpoint(kind=socket.SOCK_DGRAM, port=0, host="127.0.0.1"):
    """a socket on a port of its own, and that place as text"""
    c = socket.socket(socket.AF_INET, kind)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    c.bind((host, port))
    c.settimeout(10 * SLOW)
    return c, "%s:%d" % c.getsockname()


def read_and_reset(listener, end=b"", times=1):
    """what the next connection says, until so many of `end` have come; it is reset then"""
    conn, _ = listener.accept()
    conn.settimeout(10 * SLOW)
    got = conn.recv(65535)
    while end and got.count(end) < times:
        got += conn.recv(65535)
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    conn.close()
    return got


def hop(at):
    host, port = at.rsplit(":", 1)
    return host, int(port)


def sessions(g):
    return {x["name"]: x["sessions"] for x in g.ctl("servers")["servers"]}


def request(me, n, method="INVITE", kind="UDP", mark="fail"):
    """an opening request, whose Call-ID is mark and number"""
    return (f"{method} sip:service@lab.example SIP/2.0\r\nVia: SIP/2.0/{kind} {me};branch=z9hG4bK{mark}{n};rport\r\nMax-Forwards: 70\r\nFrom: <sip:a@lab.example>;tag=a{n}\r\n"
            f"To: <sip:b@lab.example>\r\nCall-ID: {mark}{n}@lab.example\r\nCSeq: 1 {method}\r\nContact: <sip:a@{me}>\r\nContent-Length: 0\r\n\r\n").encode()


def homes(g, mark, wanted):
    """so many numbers of `request` for each server that their Call-IDs have as home: the keys are other ones at each start"""
    found = {name: [] for name in wanted}
    for n in range(1, 100 * sum(wanted.values())):
        at = found.get(g.where(f"call-id:{mark}{n}@lab.example")["server"], [])
        at.append(n)
        if all(len(found[name]) >= k for name, k in wanted.items()):
            return {name: found[name][:k] for name, k in wanted.items()}
    raise AssertionError(f"no {wanted} among so many numbers")
