"""sipp's calls over every pair of transports, IPv4 and IPv6, one connection for all calls and one for each: the INVITE, an INFO, a re-INVITE and the BYE of
each reach the server of its first answer while a second server joins. A Via or Record-Route that names another socket than the one used, or
a response that is not sent over the connection of its request, loses calls here (RFC 3261 18.1.1, 18.2.2; RFC 5658)."""
import socket

from _sipp import all_good, callers, server
from scenario import FULL, need, until

TIMEOUT = 150
# of the callers, of the servers, the address of each
PAIRS = [("u1", "t1", "127.0.0.1", "127.0.0.1"), ("t1", "u1", "127.0.0.1", "127.0.0.1"), ("t1", "t1", "127.0.0.1", "127.0.0.1"), ("tn", "t1", "127.0.0.1", "127.0.0.1"), ("tn", "u1", "127.0.0.1", "127.0.0.1"),
         ("u1", "u1", "::1", "::1"), ("t1", "t1", "::1", "::1"), ("u1", "u1", "::1", "127.0.0.1"), ("t1", "u1", "127.0.0.1", "::1"), ("u1", "t1", "127.0.0.1", "::1")]


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def pair(s, n, caller, callee, caller_at, callee_at):
    what = f"{caller} from {caller_at} to {callee} at {callee_at}"
    servers = [server(s, f"uas{n}{x}", callee, callee_at) for x in "ab"]
    scheme = "udp" if caller[0] == "u" else "tcp"
    listen = f"{scheme}://{'[::1]' if ':' in caller_at else '127.0.0.1'}:0"
    if callee_at != caller_at or (callee[0] == "u" and caller[0] != "u"):        # a socket of the servers' family and, for datagrams, transport
        listen += f" {'udp' if callee[0] == 'u' else 'tcp'}://{'[::1]' if ':' in callee_at else '127.0.0.1'}:0"
    head = s.ini_gateway(f"gateway{n}")
    g = s.gateway(head + s.ini_sip([servers[0][1]], listen=listen), name=f"gateway{n}")
    calls = 400 if FULL else 60
    c = callers(s, g.at("calls", scheme), calls, calls, 500, caller, f"callers{n}")
    until("half of the calls are up", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) > calls / 2 or not c.alive())
    g.reload(head + s.ini_sip([line for _, line in servers], listen=listen))
    all_good(s, c, calls, what)
    until(f"no session is left ({what})", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
    g.stop()
    for p, _ in servers:
        p.kill()


def run(s):
    need("sipp")
    done = 0
    for n, x in enumerate(PAIRS):
        if ":" in x[2] + x[3] and not has_ipv6():
            continue
        pair(s, n, *x)
        done += 1
    print(f"{done} pairs of transports", end="")
