"""A power cut takes run-dir and leaves state-dir: every user is back on his host, also when another pool begins, when a server left the file, and
when a drain was set by hand; registrations likewise. Tables of another hash key are set aside. A gateway without state on disk fails here."""
import os, shutil, signal

from scenario import check, equal, place, until


def run(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3, 4)]
    a, b = s.sip_server("pbx1"), s.sip_server("pbx2")
    run_dir = s.path("gateway.run")

    def ini(servers, at=(place(), place())):
        return (s.ini_gateway(extra="sync-interval = 100ms") + s.ini_rdp(servers, "probe = none\nload-factor = 1", listen=f"tcp://{at[0]}")
                + s.ini_sip([a, b], "probe = none\npersist = yes\nload-factor = 1", listen=f"udp://{at[1]}"))
    g = s.gateway(ini(hosts[:3]))
    desks, phones = s.desktops(g), s.phones(g, name="blind")
    where = {u: desks.ask(f"connect user={u}")["host"] for u in (f"user{i}" for i in range(60))}
    s.all_home(phones.ask("call 60 route=no"), "calls")
    desks.ask("close")
    g.ctl("drain", "farm/ts2")

    def cut(servers, keep_run=False):
        nonlocal g
        g.synced("farm", "pbx")
        g.kill(signal.SIGKILL)
        until("it is gone", lambda: not g.alive())
        if not keep_run:
            shutil.rmtree(run_dir)
            os.makedirs(run_dir)
        g = s.gateway(ini(servers))

    def back(what):
        for user, host in where.items():
            equal(g.where(f"user:{user}", "farm")["server"], host, f"{user} after {what}")
        s.all_home(phones.ask("ask all"), f"calls after {what}")
    cut(hosts[:3])
    check("event=state-loaded pool=farm" in g.text() and "event=state-loaded pool=pbx" in g.text(), "what the log says of the state")
    back("a power cut")
    equal(g.state("ts2"), "drain", "what was set by hand")
    cut([hosts[3], hosts[2], hosts[1]])
    back("a power cut and another pool")
    equal(g.server("ts1")["removed"], True, "a server that is not in the file any more")
    for user, host in list(where.items())[:20]:
        equal(desks.ask(f"connect user={user}")["host"], host, f"{user} comes back")
    desks.ask("close")
    cut(hosts[:3], keep_run=True)
    check("event=tables-kept pool=farm" in g.text() and "event=state-loaded" not in g.text(), "tables of this boot win")
    cut(hosts[:3])
    back("a restart and a power cut")
    s.all_home(phones.ask("bye all"), "hanging up")
    g.stop()

    os.remove(s.path("gateway.state/cluster.secret"))      # another hash key: what was kept is of no use, and not lost
    refused = s.start("refused", [s.program("HOLDFAST_BIN", "holdfast"), "-c", g.ini])
    until("a start with another key is refused", lambda: not refused.alive())
    g = s.gateway(ini(hosts[:3]), name="new", arguments=["--accept-new-hash"])
    check("event=tables-aside pool=farm" in g.text() and "event=state-aside pool=farm" in g.text(), "tables and state of another key")
    for aside in (run_dir + "/farm.tables.aside", s.path("gateway.state/farm.state.aside")):
        check(os.path.exists(aside), f"{aside} is not lost")
    g.stop()
