"""Attended transfers over four servers: a REFER names another call, and the INVITE with Replaces that follows reaches the server of that call, though both
calls are at servers of their own and the pool has changed since: exactly in auto and table, by its hash in hash. Without references half of them are at
servers that answer 481. A Call-ID that nobody knows goes by its hash. Small on each run, 12,500 transfers with --full."""
from scenario import FULL, check, equal, until

TIMEOUT = 900 if FULL else 120
N = 2500 if FULL else 150                               # transfers before the pool changes, and as many behind


def transfers(phones, n, what):
    got = phones.ask(f"transfer {n}")
    equal((got["right"], got["asked"]), (n, n), f"{what}: {got}; right")
    check(n // 2 < got["apart"] < n, f"{what}: calls of two servers:", got)


def servers_slots(g):
    """those of the server that drains, and whether the one with a tenth of its weight has about a tenth of another's"""
    first, second, third, _ = [x["slots"] for x in g.ctl("servers")["servers"]]
    return first, second < third / 5


def mode(s, affinity, change):
    servers = [s.sip_server(f"{affinity}{i}") for i in (1, 2, 3, 4)]
    head = s.ini_gateway(affinity)
    g = s.gateway(head + s.ini_sip(servers, f"probe = none\naffinity = {affinity}"), name=affinity)
    phones = s.phones(g, "--sockets", "16", name=f"{affinity}-phones")
    s.all_home(phones.ask(f"call {2 * N}"), "calls")
    transfers(phones, N, affinity)
    if change:
        s.all_home(phones.ask(f"call {2 * N}"), "calls")
        g.ctl("drain", f"{affinity}1")
        g.reload(head + s.ini_sip([servers[0], (servers[1], "weight=10"), *servers[2:]], f"probe = none\naffinity = {affinity}"))
        transfers(phones, N, f"{affinity}, a server drains and another has a tenth of its weight")
        until("the change of the pool is over", lambda: servers_slots(g) == (0, True))
    for i in range(20):
        unknown = f"nobody-{i}@192.0.2.9"
        got = phones.ask(f"call 1 replaces={unknown}")
        equal(got["by_server"], {g.where(f"call-id:{unknown}")["owner"]: 1}, "a call that names one which nobody knows is at the server of its hash")
    s.all_home(phones.ask("bye all"), "at the end")
    s.no_strangers(*servers)
    until("no session is left", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
    g.stop()


def run(s):
    mode(s, "auto", True)
    mode(s, "table", True)
    mode(s, "hash", False)
