"""Servers join and leave by reload, one after the other, while calls are opened and held: no opening is refused, no request lost or moved. A gateway
whose engine offers a server before all workers know it refuses some calls here."""
from scenario import FULL, check, equal

TIMEOUT = 120


def run(s):
    fixed = [s.sip_server(f"pbx{i}") for i in (1, 2)]
    joins = [s.sip_server(f"join{i}") for i in range(8 if not FULL else 30)]
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_sip(fixed))
    phones, blind = s.phones(g), s.phones(g, name="blind")
    faults = []
    for n, p in enumerate(joins):
        phones.tell("call 250")
        blind.tell("call 250 route=no")
        g.reload(head + s.ini_sip([*fixed, *joins[max(0, n - 2):n + 1]]))      # three of them at a time: older ones leave with their calls
        for x in (phones, blind):
            got = x.answer()
            if got["answered"] != 250:
                faults.append(f"{p.label} joins: {250 - got['answered']} of 250 calls not taken: {got['refused']}, {got['lost']} lost")
    check(not faults, "; ".join(faults))
    for x in (phones, blind):
        s.all_home(x.ask("ask all"), "after all changes")
        s.all_home(x.ask("ask all method=INVITE"), "after all changes")
    held = sum(x.ask("calls")["held"] for x in (phones, blind))
    equal(sum(x["sessions"] for x in g.ctl("servers")["servers"]), held, "sessions, those of removed servers included")
    for x in (phones, blind):
        s.all_home(x.ask("bye all"), "hanging up")
    s.no_strangers()
