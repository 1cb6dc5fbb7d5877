"""A server that fails what it is asked, and answers probes: Retry-After takes it out for that time, five failures in a row for half a minute, and then
one is enough. Four in a row, with an answer between them and the next, are a caller's own doing. Without look_at_busy or look_at_failures it is asked
for ever; without the count set back there it would never come back."""
import sys, time

from _ends import endpoint, hop, request
from scenario import PEERS, SLOW, check, equal, until

sys.path.insert(0, PEERS)
from sip_text import Message

TIMEOUT = 90
REST = 30                                                  # s, of src/net/probe.c


def run(s):
    a, b = s.sip_server("rest1"), s.sip_server("rest2")
    g = s.gateway(s.ini_gateway() + s.ini_sip([a, b], "probe = options\nprobe-interval = 300ms\nprobe-timeout = 3s\nload-factor = off"))
    at_home = lambda n: g.where(f"call-id:rest{n}@lab.example")["server"] == "rest1"
    numbers = [n for n in range(1, 60) if at_home(n)]
    c, me = endpoint()

    def ask(count=1):
        """requests of rest1; the client has its 200 from whomever"""
        for _ in range(count):
            n = numbers.pop()
            until("the slots are rest1's", lambda: at_home(n))
            c.sendto(request(me, n, "REGISTER", mark="rest"), hop(g.at()))
            m = Message(c.recv(65535))
            equal((m.code, m.get("call-id")), (200, f"rest{n}@lab.example"), "the answer")

    with c:
        a.ask("set register=503 retry=5")
        begin = time.monotonic()
        ask()
        g.wait_state("rest1", "drain")
        g.wait_state("rest1", "up")
        check(time.monotonic() - begin > 4.9, "it was back before its Retry-After")
        a.ask("set register=503 retry=0")
        ask(4)
        a.ask("set register=200")
        ask()
        a.ask("set register=503")
        ask(4)
        time.sleep(0.8 * SLOW)                             # some looks
        equal(g.state("rest1"), "up", "after four failures, an answer and four failures")
        begin = time.monotonic()
        ask()
        g.wait_state("rest1", "drain")
        g.wait_state("rest1", "up", REST + 10)
        check(time.monotonic() - begin > REST - 1, "it was back too early")
        time.sleep(0.8 * SLOW)
        equal(g.state("rest1"), "up", "half a minute later, and nobody has asked")
        ask()
        g.wait_state("rest1", "drain")
    g.stop()
