"""Calls that a server opens towards a phone, through the gateway: what the phone sends inside them reaches the server that opened them, after any
change of the pool; what that server sends reaches the phone. Without the cookie's side, or with a new INVITE of a member balanced like a
client's, they go astray."""
from scenario import check, equal, until

N = 100


def session(s, g, servers, phones):
    for p in servers:
        got = p.ask(f"call {N} uri=sip:phone@{phones.at}")
        equal((got["answered"], got["lost"]), (N, 0), f"calls that {p.label} opened: {got}")
    equal(phones.stats()["held"], N * len(servers), "calls at the phones")
    sessions = {x["name"]: x["sessions"] for x in g.ctl("servers")["servers"]}
    for p in servers:
        equal(sessions[p.label], N, f"sessions of {p.label}")
    s.all_home(phones.ask("ask all"), "phones ask")
    g.ctl("drain", servers[0].label)
    g.ctl("weight", servers[1].label, "3")
    s.all_home(phones.ask("ask all method=INVITE"), "phones re-INVITE after changes")
    for p in servers:
        s.all_home(p.ask("ask all method=INVITE"), f"{p.label} re-INVITEs")
    s.all_home(phones.ask(f"bye {N // 2} server={servers[0].label}"), "phones hang up")
    for p in servers:
        s.all_home(p.ask("bye all"), f"{p.label} hangs up")
    equal(phones.stats()["held"], 0, "calls left at the phones")
    until("no session is left", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
    g.ctl("undrain", servers[0].label)
    g.ctl("weight", servers[1].label, "file")


def run(s):
    servers = [s.sip_server(f"pbx{i}", "--hop", "127.0.0.1:1") for i in (1, 2)]
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_sip(servers, listen="udp://127.0.0.1:0 udp://127.0.0.2:0 inside"))
    phones = s.phones(g, "--sockets", "1")
    inside = [u for u in g.uris["calls"] if "127.0.0.2" in u][0].partition("://")[2]
    for hop in (g.at(), inside):                         # by the source address of a member; by the listener's side
        for p in servers:
            p.ask(f"hop at={hop}")
        session(s, g, servers, phones)
    s.no_strangers()
    s.no_strangers(phones)
    check(phones.stats()["via_wrong"] == 0, "phones saw wrong Vias:", phones.stats())
