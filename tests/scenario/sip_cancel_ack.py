"""CANCEL and the ACK of a refusal go where their INVITE went, with its branch, whatever became of the pool in between (RFC 3261 9.1, 17.1.1.3). A
branch that is drawn anew, or a CANCEL that is placed by the pool of now, leaves stray CANCELs and ACKs at the servers."""
from scenario import check, equal, until

N = 120


def run(s):
    a, b, c = (s.sip_server(f"pbx{i}", "--log", s.path(f"pbx{i}.json")) for i in (1, 2, 3))
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_sip([a, b], service="failover = no"))
    phones = s.phones(g)
    changes = [lambda: g.reload(head + s.ini_sip([a, b, c], service="failover = no")), lambda: g.ctl("drain", "pbx1"), lambda: g.ctl("weight", "pbx2", "5"),
               lambda: g.reload(head + s.ini_sip([b, c], service="failover = no"))]
    for copies, change in enumerate(changes, 1):
        equal(phones.ask(f"ring {N}")["ringing"], N, "ringing calls")
        change()
        got = phones.ask(f"cancel copies={min(copies, 3)}")
        equal({k: v for k, v in got.items() if k != "ok"}, {"cancel-200": N, "invite-487": N}, f"CANCEL after change {copies}")
    got = phones.ask(f"call {N} user=code.486")
    equal(got["refused"], {"486": N}, "refusals")
    got = phones.ask(f"call {N} user=code.603 route=no")
    equal(got["refused"], {"603": N}, "refusals")
    until("every refusal was acknowledged at its server", lambda: all(x.stats()["unacked"] == 0 for x in s.servers))
    s.no_strangers()
    for x in s.servers:
        got = x.stats()
        check(got["heard"].get("ACK", 0) >= 1, f"{x.label} heard no ACK:", got)
    equal(g.run_ctl("status").returncode, 0, "status")
    until("refused calls are no sessions", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
