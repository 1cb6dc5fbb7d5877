"""What an operator sees and does of single sessions, and what a change would do before it is done: users at their hosts, connected or lingering; one is
moved and comes to the other host from the next connection on, one is forgotten; calls are listed by fingerprint; and a simulated change moves the
sessions that the change then moves, none, and leaves the pool as it was."""
from scenario import check, equal, until


def pool_of(got, name):
    return next(p for p in got["pools"] if p["name"] == name)


def desks(s, g, hosts):
    d = s.desktops(g)
    home = d.ask("connect user=alice")["host"]
    d.ask("connect user=bob")
    got = pool_of(g.ctl("sessions", "--pool", "farm"), "farm")
    users = {x["key"]: x for x in got["sessions"] if (x["key"] or "").startswith("user:")}
    equal(set(users), {"user:alice", "user:bob"}, "users")
    names = [x for x in got["sessions"] if not x["counted"]]
    equal((got["counted"], got["connected"], got["matching"], len(names)), (2, 2, len(got["sessions"]), len(got["sessions"]) - 2), "two users are two sessions, whatever their names")
    said = g.run_ctl("sessions", "--pool", "farm").stdout
    check(names and f"pool farm: 2 sessions, 2 of them live; {len(names)} more entr" in said and said.count("(other name)") == len(names), "the same for people:", said)
    equal((users["user:alice"]["server"], users["user:alice"]["state"], users["user:alice"]["flows"]), (home, "connected", 1), "alice")
    other = next(h.label for h in hosts if h.label != home)
    equal(g.ctl("move", "user:alice", other)["from"], home, "where she was")
    equal(d.ask("check")["moved"], 0, "a live session is not cut")
    equal(d.ask("connect user=alice")["host"], other, "alice's next connection")
    equal(g.where("user:alice", "farm")["server"], other, "where she is now")
    d.ask("close")
    until("they linger", lambda: all(x["state"] == "lingering" for x in pool_of(g.ctl("sessions", "--pool", "farm"), "farm")["sessions"]))
    equal(g.ctl("forget", "user:bob")["ok"], True, "forget")
    check(not any(x["key"] == "user:bob" for x in pool_of(g.ctl("sessions"), "farm")["sessions"]), "bob is still listed")
    for args in (("forget", "user:bob"), ("move", "user:bob", other), ("move", "user:alice", "nobody"), ("sessions", "--pool", "nobody")):
        equal(g.run_ctl(*args).returncode, 1, f"exit code of {' '.join(args)}")
    for args in (("move", "alice"), ("forget",), ("simulate", "add")):
        equal(g.run_ctl(*args).returncode, 2, f"exit code of {' '.join(args)}")
    check("user:alice" in g.run_ctl("sessions").stdout, "for people")


def calls(s, g, servers):
    phones = s.phones(g)
    s.all_home(phones.ask("call 300"), "calls")
    got = pool_of(g.ctl("sessions", "--pool", "pbx", "--limit", "50"), "pbx")
    equal((len(got["sessions"]), got["matching"], got["connected"]), (50, 300, 300), "calls listed")
    check("and 250 more" in g.run_ctl("sessions", "--pool", "pbx", "--limit", "50").stdout, "the rest is told")
    before = [(x["name"], x["slots"], x["sessions"], x["state"]) for x in g.ctl("servers")["servers"]]
    told = g.ctl("simulate", "drain", "pbx1")
    equal((told["entries"], told["entries_moved"], told["slots_astray"]), (300, 0, 0), "foreseen of a drain")
    equal([(x["name"], x["slots"], x["sessions"], x["state"]) for x in g.ctl("servers")["servers"]], before, "servers after a simulation")
    g.ctl("drain", "pbx1")
    after = {x["name"]: x["slots_after"] for x in told["servers"]}
    until("the slots are as foreseen", lambda: {x["name"]: x["slots"] for x in g.ctl("servers")["servers"] if x["pool"] == "pbx"} == after)
    equal(next(p["exceptions"] for p in g.status()["pools"] if p["name"] == "pbx"), told["exceptions_after"], "exceptions, foreseen and come")
    s.all_home(phones.ask("ask all"), "calls after the drain")
    equal(g.run_ctl("simulate", "--pool", "pbx", "add", "pbx2").returncode, 1, "a server that is there already")
    text = g.run_ctl("simulate", "add", "pbx9", "weight=50", "--pool", "pbx").stdout
    check("would move             0 of 300" in text and "pbx9" in text, "for people:", text)


def run(s):
    servers, hosts = [s.sip_server(f"pbx{i}") for i in (1, 2, 3)], [s.rdp_host(f"ts{i}") for i in (1, 2)]
    g = s.gateway(s.ini_gateway() + s.ini_sip(servers) + s.ini_rdp(hosts, "probe = none", "key = token user source"))
    desks(s, g, hosts)
    calls(s, g, servers)
