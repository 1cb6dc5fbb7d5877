"""sipp as callers and as three servers, one of which stops in its tracks (SIGSTOP) under traffic: its port takes datagrams and nothing comes back. Every call that
is set up from then on is answered by another, and what is asked within it comes to whoever answered."""
import signal

from scenario import FULL, check, need, until
from _sipp import all_good, callers, server, spoilt

TIMEOUT = 120


def run(s):
    need("sipp")
    n = 2000 if FULL else 300
    pairs = [server(s, f"sipp{i}") for i in (1, 2, 3)]
    ini = lambda wait: s.ini_gateway() + s.ini_sip([line for _, line in pairs], service=f"try-timeout = {wait}")
    g = s.gateway(ini("16s"))                              # nobody is silent yet, only late
    all_good(s, callers(s, g.at(), 30, 30, 200, name="before"), 30, "calls of three servers")
    g.reload(ini("2s"))
    stopped = pairs[0][0]
    stopped.kill(signal.SIGSTOP)
    try:
        for i in range(3):
            p = callers(s, g.at(), n, n // 6, 300, name=f"beside{i}")
            if not spoilt(s, p):
                break
        all_good(s, p, n, "calls beside a server that has stopped")
        check(g.drops().get("failover", 0) > 0, "nothing failed over:", g.drops())
        until("the server that has stopped rests", lambda: g.state("sipp1") == "drain")
    finally:
        stopped.kill(signal.SIGKILL)
    print(f"{n} calls, {g.drops()['failover']} of them failed over", end="")
