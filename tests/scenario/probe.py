"""Health: a SIP server that is silent to OPTIONS goes down and comes back, one that answers 503 drains itself, a host that does not confirm goes down;
traffic follows, live calls stay named. What a probe asks, from whom, and which answers are good are the pool's settings. Without rise and fall, with
503 taken for death, or with settings that are not heard, it fails."""
import json

from scenario import check, equal, until

PROBE = "probe-interval = 200ms\nprobe-timeout = 1s\nprobe-rise = 2\nprobe-fall = 2"


def sip(s, g, phones, a, b):
    s.all_home(phones.ask("call 100"), "calls with two servers")
    at_a = phones.ask("calls server=pbx1")["held"]
    check(20 < at_a < 80, f"{at_a} of 100 calls at pbx1")

    a.ask("set options=503 retry=1")
    g.wait_state("pbx1", "drain")
    s.all_home(phones.ask("ask all"), "calls while pbx1 drains itself")
    got = phones.ask("call 50")
    equal(got["by_server"], {"pbx2": 50}, "new calls while pbx1 drains itself")
    a.ask("set options=200")
    g.wait_state("pbx1", "up")

    a.ask("set options=silent")
    g.wait_state("pbx1", "down")
    got = g.server("pbx1")
    check(got["last_failure"] and got["sessions"] == at_a, "a server that is down:", got)
    got = phones.ask("call 50")
    equal(got["by_server"], {"pbx2": 50}, "new calls while pbx1 is down")
    s.all_home(phones.ask("ask all"), "down is a judgement about new calls: pbx1 still answers its own")
    a.ask("set options=200")
    g.wait_state("pbx1", "up")
    until("half of the slots is pbx1's again", lambda: g.server("pbx1")["slots"] > 65536 * 0.45)
    got = phones.ask("call 100")
    check(got["by_server"].get("pbx1", 0) > 20, "pbx1 takes calls again:", got["by_server"])
    check(b.stats()["heard"]["OPTIONS"] > 5, "pbx2 is probed all the time:", b.stats()["heard"])


def rdp(g, x, y):
    x.ask("set mode=silence")
    g.wait_state("ts1", "down")
    equal(g.state("ts2"), "up", "the other host")
    x.ask("set mode=confirm")
    g.wait_state("ts1", "up")
    x.ask("set mode=down")
    g.wait_state("ts1", "down")
    x.ask("set mode=up")
    g.wait_state("ts1", "up")


def settings(s, g, a, b, rest):
    """another method from another user; answers that were good are bad now"""
    def probes():
        with open(s.path("pbx1.jsonl")) as f:
            return [x for x in map(json.loads, f) if x["method"] == "INFO" and "sip:monitor@lab.example" in x["from"]]

    more = "probe-method = INFO\nprobe-from = sip:monitor@lab.example"
    g.reload(s.ini_gateway() + s.ini_sip([a, b], f"probe = options\n{PROBE}\n{more}") + rest)
    until("pbx1 is asked by INFO from the monitor", lambda: len(probes()) > 2)
    equal(g.state("pbx1"), "up", "pbx1, which answers INFO")
    a.ask("set options=404")
    g.reload(s.ini_gateway() + s.ini_sip([a, b], f"probe = options\n{PROBE}\nprobe-codes = 200-299") + rest)
    g.wait_state("pbx1", "down")
    equal(g.state("pbx2"), "up", "pbx2, which answers 200")
    g.reload(s.ini_gateway() + s.ini_sip([a, b], f"probe = options\n{PROBE}\nprobe-codes = 200-299 404") + rest)
    g.wait_state("pbx1", "up")
    a.ask("set options=200")


def run(s):
    a, b = s.sip_server("pbx1", "--log", s.path("pbx1.jsonl")), s.sip_server("pbx2")
    x, y = s.rdp_host("ts1"), s.rdp_host("ts2")
    rest = s.ini_rdp([x, y], f"probe = confirm\n{PROBE}")
    g = s.gateway(s.ini_gateway() + s.ini_sip([a, b], f"probe = options\n{PROBE}") + rest)
    for name in ("pbx1", "pbx2", "ts1", "ts2"):
        g.wait_state(name, "up")
    phones = s.phones(g)
    sip(s, g, phones, a, b)
    rdp(g, x, y)
    settings(s, g, a, b, rest)
    s.all_home(phones.ask("bye all"), "at the end")
    s.no_strangers()
