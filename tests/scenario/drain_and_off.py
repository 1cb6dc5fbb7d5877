"""How a server goes: marks that hold are all shown, off ends what is at a server, a deadline makes an end of a drain and of a removed server, and who is
bound to a draining host moves only where drain-bound says so. Without flows_end_off desktops stay at a host that is off; without hf_engine_expire no
deadline ever comes."""
import re

from scenario import check, equal, until

PROBE = "probe = connect\nprobe-interval = 200ms\nprobe-timeout = 3s\nprobe-fall = 1\nprobe-rise = 1\nlinger = 1h"


def marks(g, desks, hosts):
    """drained, down and off at once; each ends on its own"""
    home = desks.ask("connect user=alice")["host"]
    victim = next(h for h in hosts if h.label == home)
    equal((g.server(home)["flows"], g.server(home)["marks"], g.server(home)["deadline_s"]), (1, [], None), "a host at work")
    g.ctl("drain", home)
    desks.ask("close")
    victim.ask("set mode=down")
    g.wait_state(home, "down")
    x = g.server(home)
    check(x["marks"] == ["down", "drain"] and x["last_failure"] and x["last_failure_s"] < 60, "a host that is drained and down:", x)
    shown = next(line for line in g.run_ctl("servers").stdout.splitlines() if f" {home} " in line)
    check(re.search(r" down,drain .*\(\d+s ago\)", shown), "for people:", shown)
    equal(g.ctl("off", home)["marks"], ["off", "down", "drain"], "marks")
    victim.ask("set mode=up")
    until("up again, and off", lambda: g.server(home)["marks"] == ["off", "drain"])
    equal(g.ctl("on", home)["state"], "drain", "on ends off, not the drain")
    equal(g.ctl("undrain", home)["state"], "up", "undrain")


def off(g, desks):
    """what is at a host that is switched off is told so, and comes back elsewhere"""
    got = desks.ask("many 40 prefix=off")
    home = max(got["hosts"], key=got["hosts"].get)
    g.ctl("off", home)
    until("connections to it have ended", lambda: g.server(home)["flows"] == 0)
    n = got["hosts"][home]
    equal(desks.ask("check")["lost"], n, "desktops that were cut")
    until("they are counted", lambda: g.drops("desktops").get("server-off") == n)
    desks.ask("close")
    got = desks.ask("many 40 prefix=off")
    check(got.get("confirm") == 40 and home not in got["hosts"], "users of a host that is off:", got)
    g.ctl("on", home)
    desks.ask("close")


def bound(g, desks, ini):
    """drain-bound: with keep a user comes back to his draining host, with move only while he is connected there"""
    home = desks.ask("connect user=bob")["host"]
    g.ctl("drain", home)
    equal(desks.ask("connect user=bob at=127.0.0.9")["host"], home, "keep")
    g.reload(ini(farm="drain-bound = move"))
    equal(desks.ask("connect user=bob at=127.0.0.10")["host"], home, "move, and he is connected")
    desks.ask("close")
    until("he is gone", lambda: g.server(home)["flows"] == 0)
    check(desks.ask("connect user=bob")["host"] != home, "move: he is placed anew")
    desks.ask("close")
    g.ctl("undrain", home)


def deadlines(s, g, phones, desks, ini, pbx):
    """a drain, and a removed server, have an end; calls go to others then, connections are cut"""
    s.all_home(phones.ask("call 60"), "calls")
    home = desks.ask("connect user=carol")["host"]
    g.reload(ini(farm="drain-deadline = 6s"))
    g.ctl("drain", home)
    x = g.server(home)
    check(0 < x["deadline_s"] <= 6 and x["flows"] == 1, "the countdown, and who is left:", x)
    g.wait_state(home, "off")
    until("carol is cut", lambda: g.server(home)["flows"] == 0)
    check(re.search(rf"event=server-off pool=farm server={home} reason=drain-deadline sessions=\d+ flows=1\b", g.text()), "the event")
    check(desks.ask("connect user=carol")["host"] not in ("", home), "carol is placed anew")
    g.ctl("undrain", home)
    equal(g.state(home), "up", "undrain ends the off that the deadline made")

    held = phones.ask("calls server=pbx1")["held"]
    check(held > 5, "calls at pbx1:", held)
    g.reload(ini(servers=pbx[1:], pbx="removed-expiry = 6s"))
    s.all_home(phones.ask("ask all server=pbx1"), "calls of a removed server")
    check(g.server("pbx1")["removed"] and 0 < g.server("pbx1")["deadline_s"] <= 6, "a removed server:", g.server("pbx1"))
    until("it is forgotten", lambda: g.server("pbx1") is None)
    check("event=server-off pool=pbx server=pbx1 reason=removed-expiry" in g.text() and "event=forget pool=pbx" in g.text(), "the events")
    phones.ask("forget server=pbx1")
    s.all_home(phones.ask("ask all"), "calls of the others")


def run(s):
    pbx = [s.sip_server(f"pbx{i}") for i in (1, 2, 3)]
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3)]

    def ini(servers=pbx, farm="", pbx=""):
        return s.ini_gateway() + s.ini_sip(servers, "probe = none\n" + pbx) + s.ini_rdp(hosts, PROBE + "\n" + farm)
    g = s.gateway(ini())
    for h in hosts:
        g.wait_state(h.label, "up")
    phones, desks = s.phones(g), s.desktops(g)
    marks(g, desks, hosts)
    off(g, desks)
    bound(g, desks, ini)
    deadlines(s, g, phones, desks, ini, pbx)
    text = g.run_ctl("off", "nobody").stderr
    check("no server" in text, "off of nobody:", text)
