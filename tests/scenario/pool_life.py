"""A pool's whole life under traffic: thousands of calls and hundreds of desktops are up while servers join, drain, are weighed anew, die, return and are
renamed, and the gateway itself is killed and comes back with another pool. Not one request reaches a server that does not hold its call, and every user
is back at his own host. Entries that name no server, ids that are given anew too early, or a start that forgets who left make it fail."""
import os, signal

from scenario import FULL, SLOW, check, equal, place, until

TIMEOUT = 240
CALLS = int(os.environ.get("HOLDFAST_CALLS") or (20000 if FULL else 5000))
USERS = 2000 if FULL else 500
PROBE = "probe = %s\nprobe-interval = 400ms\nprobe-timeout = 1s\nprobe-fall = 2\nprobe-rise = 1\nload-factor = 1.2\n%s"


def everybody(s, what, riders, blind, desks, method="INFO"):
    blind.tell(f"ask all method={method}")
    s.all_home(riders.ask(f"ask all method={method}"), f"riders {what}")
    s.all_home(blind.answer(), f"without Route {what}")
    got = desks.ask("check")
    equal((got["moved"], got["lost"]), (0, 0), f"desktops {what}")


def back(desks, what):
    """all users connect anew: nobody gets a second session"""
    desks.ask("close")
    got = desks.ask(f"many {USERS} wait={20 * SLOW}")
    equal((got.get("confirm"), got["split"]), (USERS, 0), f"users {what}: {got}")


def run(s):
    pbx = {i: s.sip_server(f"pbx{i}") for i in range(1, 6)}
    ts = {i: s.rdp_host(f"ts{i}") for i in range(1, 5)}

    def ini(servers, hosts, at=(place(), place())):
        return (s.ini_gateway() + s.ini_sip(servers, PROBE % ("options", ""), listen=f"udp://{at[0]}")
                + s.ini_rdp(hosts, PROBE % ("connect", "linger = 1h"), listen=f"tcp://{at[1]}"))

    def up(*names):
        for name in names:
            g.wait_state(name, "up")

    g = s.gateway(ini([pbx[1], pbx[2], pbx[3]], [ts[1], ts[2], ts[3]]))
    up("pbx1", "pbx2", "pbx3", "ts1", "ts2", "ts3")
    riders, blind, desks = s.phones(g, name="riders"), s.phones(g, name="blind"), s.desktops(g)
    blind.tell(f"call {CALLS * 2 // 5} route=no")
    s.all_home(riders.ask(f"call {CALLS // 2}"), "calls")
    s.all_home(blind.answer(), "calls without Route")
    got = desks.ask(f"many {USERS}")
    equal((got.get("confirm"), got["split"]), (USERS, 0), f"users: {got}")

    riders.tell(f"call {CALLS // 10}")                       # a server and a host join while calls are being opened
    g.reload(ini([pbx[1], pbx[2], pbx[3], pbx[4]], [ts[1], ts[2], ts[3], ts[4]]))
    s.all_home(riders.answer(), "calls while pbx4 joins")
    up("pbx4", "ts4")

    riders.tell("ask all")
    for name in ("pbx1", "ts1"):
        g.ctl("drain", name)
    for name in ("pbx2", "ts2"):
        g.ctl("weight", name, "20")
    s.all_home(riders.answer(), "while pbx1 begins to drain and pbx2 is weighed anew")
    everybody(s, "after a drain and a weight", riders, blind, desks)

    pbx[3].ask("set all=silent")                             # dies, and returns with what it held
    ts[3].ask("set mode=down")
    for name in ("pbx3", "ts3"):
        g.wait_state(name, "down")
    got = riders.ask(f"call {CALLS // 50}")
    check(got["lost"] == 0 and set(got["by_server"]) <= {"pbx2", "pbx4"}, "new calls while pbx3 is down:", got)
    pbx[3].ask("set all=")
    ts[3].ask("set mode=up")
    up("pbx3", "ts3")
    back(desks, "after ts3 came back")
    everybody(s, "after pbx3 came back", riders, blind, desks)

    riders.tell("ask all")                                   # renamed, and again; then the lines tell nothing of it any more
    for name, was in (("7", "2"), ("9", "7")):
        new = (f"pbx{name} {pbx[2].at}", f"was=pbx{was}"), (f"ts{name} {ts[2].at}", f"was=ts{was}")
        g.reload(ini([pbx[1], new[0], pbx[3], pbx[4]], [ts[1], new[1], ts[3], ts[4]]))
    g.reload(ini([pbx[1], new[0][0], pbx[3], pbx[4]], [ts[1], new[1][0], ts[3], ts[4]]))
    s.all_home(riders.answer(), "while pbx2 is renamed")
    everybody(s, "after the rename", riders, blind, desks, "INVITE")

    g.kill(signal.SIGKILL)                                   # and another pool: pbx1 and ts1 are gone from the file, pbx5 is new
    until("it is gone", lambda: not g.alive())
    g = s.gateway(ini([pbx[5], new[0][0], pbx[3], pbx[4]], [new[1][0], ts[3], ts[4]]))
    check(g.server("pbx1")["removed"] and g.server("ts1")["removed"], "who left the file:", g.server("pbx1"), g.server("ts1"))
    back(desks, "after the gateway was killed")
    everybody(s, "after the gateway was killed", riders, blind, desks)
    held = sum(x.ask("calls")["held"] for x in (riders, blind))
    equal(sum(x["sessions"] for x in g.ctl("servers")["servers"] if x["pool"] == "pbx"), held, "sessions counted and calls held")

    blind.tell("bye all")
    s.all_home(riders.ask("bye all"), "hanging up")
    s.all_home(blind.answer(), "hanging up without Route")
    until("pbx1 and ts1 are all that is left of the old pool", lambda: g.server("pbx1", "pbx") is None or g.server("pbx1")["sessions"] == 0, 20)
    g.stop()
    s.no_strangers()
