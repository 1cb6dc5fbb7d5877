"""A gateway that is killed and comes back with another pool: what was drained, re-weighted or down still is, a server that left the file meanwhile
still serves its own, a renamed one keeps calls and users, also those that only its old cookie names. Without addresses in the kept tables the calls of
the server that left are lost; with marks that a start forgets, new calls go to servers that are drained or dead."""
import signal

from scenario import check, equal, place, until

CALLS, USERS = 300, 60
PROBE = "probe = %s\nprobe-interval = 300ms\nprobe-timeout = 1s\nprobe-fall = 2\nprobe-rise = 1\nload-factor = 1.1"


def run(s):
    a, b, c, d, e = (s.sip_server(f"pbx{i}") for i in (1, 2, 3, 4, 5))
    x, y, z = (s.rdp_host(f"ts{i}") for i in (1, 2, 3))

    def ini(servers, hosts, at=(place(), place())):
        return (s.ini_gateway() + s.ini_sip(servers, PROBE % "options", listen=f"udp://{at[0]}") + s.ini_rdp(hosts, PROBE % "connect", listen=f"tcp://{at[1]}"))
    g = s.gateway(ini([a, b, c, d], [x, y, z]))
    for name in ("pbx1", "pbx2", "pbx3", "pbx4", "ts1", "ts2", "ts3"):
        g.wait_state(name, "up")
    riders, blind, desks = s.phones(g, name="riders"), s.phones(g, name="blind"), s.desktops(g)
    s.all_home(riders.ask(f"call {CALLS}"), "calls")
    s.all_home(blind.ask(f"call {CALLS} route=no"), "calls without Route")
    where = {u: desks.ask(f"connect user={u}")["host"] for u in (f"user{i}" for i in range(USERS))}
    desks.ask("close")
    check(set(where.values()) == {"ts1", "ts2", "ts3"}, "users everywhere:", where)
    g.ctl("drain", "pbx2")
    g.ctl("weight", "pbx3", "20")
    d.ask("set options=silent")                              # it is down, and lives
    g.wait_state("pbx4", "down")

    g.kill(signal.SIGKILL)
    until("it is gone", lambda: not g.alive())
    renamed = f"pbx9 {c.at}"
    g = s.gateway(ini([b, (renamed, "was=pbx3"), d, e], [y, z]))
    listed = {v["name"]: v for v in g.ctl("servers")["servers"]}
    check(listed["pbx1"]["removed"] and listed["pbx1"]["address"] == a.at and listed["pbx1"]["state"] == "drain", "the server that left:", listed["pbx1"])
    equal((listed["pbx2"]["state"], listed["pbx4"]["state"]), ("drain", "down"), "what was drained and what was down")
    equal((listed["pbx9"]["weight"], listed["pbx9"]["file_weight"]), (20, 100), "the weight given at run time")
    check(listed["ts1"]["removed"] and listed["ts1"]["address"] == x.at, "the host that left:", listed["ts1"])
    got = riders.ask("call 100")
    s.all_home(got, "new calls at once after the start")
    check(set(got["by_server"]) <= {"pbx3", "pbx5"}, "new calls only to servers that are up:", got["by_server"])
    for _ in range(2):
        s.all_home(riders.ask("ask all"), "riders after the restart")
        s.all_home(blind.ask("ask all"), "without Route after the restart")
        g.reload(ini([b, renamed, d, e], [y, z]))        # the line does not tell its old name any more: old cookies do
    for user, host in where.items():
        got = desks.ask(f"connect user={user}")
        equal((got["host"], got["session"]), (host, "again"), f"{user} comes back")
    desks.ask("close")

    d.ask("set options=200")
    g.wait_state("pbx4", "up")
    g.ctl("weight", "pbx9", "file")
    g.reload(ini([(b, "weight=90"), renamed, d, e], [y, z]))
    equal(g.state("pbx2"), "up", "a change of its own line ends a drain")
    equal(g.server("pbx9")["weight"], 100, "the file's weight")
    s.all_home(riders.ask("bye all"), "hanging up")
    s.all_home(blind.ask("bye all"), "hanging up without Route")
    g.stop()
    s.no_strangers()
