"""Thousands of calls are held while the pool changes under them: a server joins, one drains, one is weighed anew, one is killed. Not one request
may reach a server that does not hold its call. Without the entries that remember exceptions, or the cookies, calls of moved slots go astray."""
import os

from scenario import FULL, check, equal, until

TIMEOUT = 180
CALLS = int(os.environ.get("HOLDFAST_CALLS") or (20000 if FULL else 5000))


def run(s):
    a, b, c = (s.sip_server(f"pbx{i}") for i in (1, 2, 3))
    probe = "probe = options\nprobe-interval = 500ms\nprobe-timeout = 1s\nprobe-fall = 2\nprobe-rise = 1"
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_sip([a, b, c], probe))
    for name in ("pbx1", "pbx2", "pbx3"):
        g.wait_state(name, "up")
    phones, blind = s.phones(g), s.phones(g, name="blind")     # the second half ignores Record-Route, as sipp's built-in client does
    part = CALLS // 10
    s.all_home(phones.ask(f"call {3 * part}"), "calls with three servers")
    s.all_home(blind.ask(f"call {3 * part} route=no"), "calls without Route")

    d = s.sip_server("pbx4")
    phones.tell(f"call {part}")                               # the pool changes while calls are being opened
    g.reload(head + s.ini_sip([a, b, c, d], probe))
    s.all_home(phones.answer(), "calls while pbx4 joins")
    g.wait_state("pbx4", "up")
    s.all_home(blind.ask("ask all"), "without Route after pbx4 joined")
    s.all_home(phones.ask("ask all"), "after pbx4 joined")

    blind.tell("ask all method=INVITE")
    g.ctl("drain", "pbx1")
    s.all_home(blind.answer(), "re-INVITEs while pbx1 begins to drain")
    got = phones.ask(f"call {part}")
    s.all_home(got, "calls while pbx1 drains")
    check("pbx1" not in got["by_server"] and got["by_server"].get("pbx4"), "new calls while pbx1 drains:", got["by_server"])

    g.ctl("weight", "pbx2", "20")
    s.all_home(blind.ask(f"call {part} route=no"), "calls after pbx2 was weighed anew")
    s.all_home(phones.ask("ask all method=INVITE"), "re-INVITEs after three changes")
    s.all_home(blind.ask("ask all"), "without Route after three changes")
    held = sum(x.ask("calls")["held"] for x in (phones, blind))
    sessions = sum(x["sessions"] for x in g.ctl("servers")["servers"])
    equal((held, sessions), (10 * part - part * 1, held), "calls held by phones and sessions counted by the gateway")
    s.no_strangers()

    c.kill()
    g.wait_state("pbx3", "down")
    lost = sum(x.ask("forget server=pbx3")["forgotten"] for x in (phones, blind))
    s.all_home(phones.ask("ask all"), "calls of the living after pbx3 died")
    s.all_home(blind.ask("ask all"), "without Route after pbx3 died")
    got = phones.ask(f"call {part}")
    s.all_home(got, "new calls after pbx3 died")
    check(not {"pbx1", "pbx3"} & set(got["by_server"]), "new calls went to:", got["by_server"])

    for x in (phones, blind):
        s.all_home(x.ask("bye all"), "hanging up")
    s.no_strangers()
    until("the sessions of the living are ended", lambda: {x["name"]: x["sessions"] for x in g.ctl("servers")["servers"] if x["name"] != "pbx3"} == dict(pbx1=0, pbx2=0, pbx4=0))
    equal(g.server("pbx3")["sessions"], lost, "the dead server's calls are still named")
    for x in (phones, blind):
        got = x.stats()
        check(got["moved"] == 0 and got["via_wrong"] == 0 and got["unreadable"] == 0, "what the phones saw:", got)
    print(f"{10 * part} calls, 0 requests at a wrong server, {g.rss_kb() // 1024} MB", end="")
