"""With `on-down = move` a user whose host is down is placed anew, unless it takes him: a dial to a host that refuses costs nothing, and one that is back is
found by its users before a probe comes to it, as they bring one. Without evidence_knocks (src/engine/evidence.h) who comes then has two sessions, without
look_at_back (src/net/probes.c) the host is down for an hour more. Nobody waits for a host whose machine is gone: without KNOCK_MS (src/net/dial.c) the user of
the hole has no desktop."""
import collections, threading

from _desk import Host, confirmed, connect, request
from scenario import check, equal, until

TIMEOUT = 60
HOUR = "probe = connect\nprobe-interval = 1h\nprobe-timeout = 3s\nprobe-fall = 1\nprobe-rise = 1\non-down = move"


def back_before_a_probe(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3)]
    ini = s.ini_gateway() + s.ini_rdp(hosts, HOUR)
    g = s.gateway(ini)
    for h in hosts:
        g.wait_state(h.label, "up")
    d, at = s.desktops(g), collections.defaultdict(list)
    for n in range(12):
        at[d.ask(f"connect user=user{n}")["host"]].append(f"user{n}")
    home, (anna, bert, *_) = max(at.items(), key=lambda x: len(x[1]))
    victim = next(h for h in hosts if h.label == home)
    d.ask("close")
    g.stop()
    victim.ask("set mode=down")
    g = s.gateway(ini)                                      # asks all hosts at once, and then for an hour none
    g.wait_state(home, "down")
    d = s.desktops(g, "again")
    got = d.ask(f"connect user={anna}")
    check(got["answer"] == "confirm" and got["host"] != home, "anna, her host down:", got)
    victim.ask("set mode=up")
    equal(g.state(home), "down", "the host, which nobody has asked")
    told = g.ctl("explain", "--hex", stdin=request(bert).hex())
    check("it decides, though it is down" in str(told), "what explain says of bert:", told)
    back = d.ask(f"connect user={bert}")
    equal((back["host"], back["session"]), (home, "again"), "bert, his host back")
    g.wait_state(home, "up")
    equal(d.ask(f"connect user={anna}")["host"], got["host"], "anna, whose session is elsewhere now")
    d.ask("close")
    g.stop()


class Dying(Host):
    """takes connections until it is gone: then its backlog, which the probes fill, takes no SYN any more"""
    def __init__(self, label):
        super().__init__(label, backlog=0)
        self.taken, self.gone = [], False
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while not self.gone:
            try:
                self.taken.append(self.accept())
            except Exception:                               # a probe, which says nothing
                continue


def machine_that_is_gone(s):
    hole, good = Dying("hole"), s.rdp_host("good")
    pool = "probe = connect\nprobe-interval = 100ms\nprobe-timeout = 100ms\nprobe-fall = 2\non-down = move\ndial-timeout = 2m\ndial-limit = 2m"
    g = s.gateway(s.ini_gateway("gone") + s.ini_rdp([hole, good], pool), name="gone")
    for name in ("hole", "good"):
        g.wait_state(name, "up")
    g.ctl("drain", "good")
    with connect(g) as c:
        c.sendall(request("anna"))
        confirmed(c)
    until("her host has her", lambda: hole.taken)
    hole.taken.pop().close()
    g.ctl("undrain", "good")
    until("anna's connection has ended", lambda: not any(x["flows"] for x in g.status()["services"]))
    equal(g.where("user:anna", "farm")["server"], "hole", "anna's host")
    hole.gone = True
    g.wait_state("hole", "down")
    with connect(g) as c:
        c.sendall(request("anna"))
        confirmed(c)                                        # in less time than dial-timeout by far
    equal(g.where("user:anna", "farm")["server"], "good", "anna's host, hers gone")
    g.stop()


def run(s):
    back_before_a_probe(s)
    machine_that_is_gone(s)
