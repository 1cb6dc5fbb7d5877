"""xfreerdp and rdesktop in every spelling of one user reach one host, with the request as the client wrote it; a routing token in xfreerdp's
load-balance-info reaches the member that it names. Without the folding of names alice has a desktop on each host; a gateway that rebuilds the
request shows in the lines that the hosts have seen."""
import sys

from _screens import rdesktop, screen, xfreerdp
from scenario import PEERS, check, equal, need, until

sys.path.insert(0, PEERS)
from rdp_text import token

TIMEOUT = 120
CLIENTS = [(xfreerdp, "alice", "alice"), (xfreerdp, "alice@lab.example", "alice@lab.example"), (xfreerdp, "OFFICE\\alice", "alice"), (xfreerdp, "ALICE", "ALICE"),
           (rdesktop, "alice", "alice"), (rdesktop, "OFFICE\\alice", "OFFICE\\alice"), (rdesktop, "alice@lab.example", "alice@lab.example"), (rdesktop, "Alice", "Alice")]


def run(s):
    need("xfreerdp", "rdesktop")
    display = screen(s)
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3)]
    g = s.gateway(s.ini_gateway() + s.ini_rdp(hosts))
    at = g.at("desktops")
    seen = lambda: [(h.label, r["line"]) for h in hosts for r in h.ask("requests")["requests"]]
    homes = set()
    for n, (client, spelling, sent) in enumerate(CLIENTS, 1):
        before = len(seen())
        c = client(s, display, at, f"client{n}", spelling, *(["/sec:tls"] if client is xfreerdp else []))
        until(f"{client.__name__}'s request as {spelling} at a host", lambda: len(seen()) > before)
        c.end(3)
        check(any(line == f"Cookie: mstshash={sent}" for _, line in seen()), f"{client.__name__} as {spelling}: the hosts saw", seen())
        homes = {h for h, _ in seen()}
        equal(len(homes), 1, f"hosts that the user reached, the last time as {spelling} with {client.__name__}: {seen()}")
    equal(g.where("user:alice", "farm")["server"], homes.pop(), "where alice lives")
    for n, h in enumerate(hosts):
        before, line = h.stats()["requests"], token(h.host, h.port).decode()
        c = xfreerdp(s, display, at, f"token{n}", "bob", "/sec:tls", f"/load-balance-info:{line}")
        until(f"the token's request at {h.label}", lambda: h.stats()["requests"] > before)
        c.end(3)
        check((h.label, line) in seen(), "the token as it was sent:", seen())
    print(f"{len(CLIENTS)} spellings, one host; {len(hosts)} tokens", end="")
