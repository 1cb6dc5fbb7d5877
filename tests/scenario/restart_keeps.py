"""A gateway that is killed, or stopped, comes back with what it knew, also with another pool: calls of phones without Route reach their server, a
drained or re-weighted pool moves none, and a user who was away finds his desktop. A gateway that keeps its tables in its own memory fails here."""
import signal

from scenario import check, equal, place, until

CALLS = 400


def run(s):
    a, b, c, d = (s.sip_server(f"pbx{i}") for i in (1, 2, 3, 4))
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3)]
    pool = "probe = none\nload-factor = 1"                     # every second call is not where the hash would have it

    def ini(servers, at=(place(), place())):
        return s.ini_gateway() + s.ini_sip(servers, pool, listen=f"udp://{at[0]}") + s.ini_rdp(hosts, "probe = none\nload-factor = 1", listen=f"tcp://{at[1]}")
    g = s.gateway(ini([a, b, c]))
    phones, desks = s.phones(g, name="blind"), s.desktops(g)
    s.all_home(phones.ask(f"call {CALLS} route=no"), "calls")
    where = {u: desks.ask(f"connect user={u}")["host"] for u in (f"user{i}" for i in range(40))}
    desks.ask("close")
    moved = [x for x in where if g.where(f"user:{x}", "farm")["server"] != g.where(f"user:{x}", "farm")["owner"]]
    check(len(moved) > 3, "users beside the hash:", len(moved))

    for sig, servers in ((signal.SIGKILL, [a, b, c]), (signal.SIGTERM, [a, b, c, d]), (signal.SIGKILL, [d, (a, "weight=0"), (b, "weight=200"), c])):
        g.kill(sig)
        until("it is gone", lambda: not g.alive())
        g = s.gateway(ini(servers))
        check("event=tables-kept pool=pbx" in g.text(), "what the log says of the tables")
        s.all_home(phones.ask("ask all"), f"without Route after {sig.name}")
        for user, host in where.items():
            equal(g.where(f"user:{user}", "farm")["server"], host, f"{user} after {sig.name}")
    for user, host in list(where.items())[:10]:
        equal(desks.ask(f"connect user={user}")["host"], host, f"{user} comes back")
    s.all_home(phones.ask("bye all"), "hanging up")
