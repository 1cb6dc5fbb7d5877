"""sipp against sipp with the gateway between: each call checks inside itself, twice and at its end, that the server of its first answer still
answers, while a server joins, one drains and one is weighed anew."""
from _sipp import all_good, callers, server
from scenario import FULL, need, until

TIMEOUT = 120


def run(s):
    need("sipp")
    servers = [server(s, f"uas{i}") for i in (1, 2, 3)]
    lines = [line for _, line in servers]
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_sip(lines[:2]))
    n = 2000 if FULL else 400
    p = callers(s, g.at(), n, n // 2, 4000)
    up = lambda most: until(f"{most} calls are up", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) > most)
    up(n / 2)                                              # each is up for eight seconds
    g.reload(head + s.ini_sip(lines))
    g.ctl("drain", "uas1")
    up(n * 2 / 3)
    g.ctl("weight", "uas2", "10")
    all_good(s, p, n, "calls while the pool changes")
    until("no session is left", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
    print(f"{n} calls, none moved", end="")
