"""A user's session lives on one host: every spelling of the name, every reconnect, a drain, a busy farm and a reload lead there again. A host that
is down loses a user only after on-down. Without the bond, or the folding of names, users are split; without on_down in enact() (src/net/snapshot.c)
she is placed anew at once."""
import time

from scenario import FULL, check, equal, until

TIMEOUT = 90


def run(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3)]
    probe = "probe = connect\nprobe-interval = 300ms\nprobe-timeout = 3s\nprobe-fall = 1\nprobe-rise = 1"
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_rdp(hosts, f"{probe}\non-down = hold 2s\nlinger = 1h", "key = token user source"))
    for h in hosts:
        g.wait_state(h.label, "up")
    d = s.desktops(g)

    def come(user, **k):
        got = d.ask(f"connect user={user} " + " ".join(f"{a}={b}" for a, b in k.items()))
        equal(got["answer"], "confirm", f"{user} {k}")
        return got

    home = come("alice")["host"]
    for spelling in ("OFFICE\\alice", "alice@lab.example", "ALICE", "Alice", "office\\ALICE"):
        got = come("alice", cookie=spelling, at="127.0.0.9")
        equal((got["host"], got["session"]), (home, "again"), spelling)
    long = come("christopher", cookie="christopher")["host"]
    equal(come("christopher", cookie="christoph")["host"], long, "the name as a Microsoft client cuts it")
    equal(g.where("user:alice", "farm")["server"], home, "where user:alice")

    n = 600 if FULL else 150
    got = d.ask(f"many {n}")
    equal((got.get("confirm"), got["split"]), (n, 0), f"users: {got}")
    check(len(got["hosts"]) == 3 and max(got["hosts"].values()) <= n / 3 * 1.25 + 4, "spread within the load factor:", got["hosts"])
    equal(d.ask("check")["same"], n + 8, "live desktops")
    d.ask("close")
    sessions = lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"])
    until("lingering users are counted", lambda: sessions() == n + 2)
    got = d.ask(f"many {n}")
    equal((got.get("confirm"), got["split"]), (n, 0), f"everybody comes back: {got}")

    g.ctl("drain", home)                                     # keeps its users, takes no new ones
    equal(come("alice")["host"], home, "alice while her host drains")
    got = d.ask("many 40 prefix=fresh")
    check(got.get("confirm") == 40 and home not in got["hosts"], "new users while a host drains:", got)
    g.ctl("undrain", home)

    extra = s.rdp_host("ts4")
    g.reload(head + s.ini_rdp([*hosts, extra], f"{probe}\non-down = hold 2s\nlinger = 1h", "key = token user source"))
    g.wait_state("ts4", "up")
    d.ask("close")
    got = d.ask(f"many {n}")
    equal((got.get("confirm"), got["split"]), (n, 0), f"everybody comes back with one host more: {got}")

    token = hosts[1]
    got = come("tina", token=token.at)
    equal(got["host"], "ts2", "a token names a member")
    equal(come("sole", cookie="none", at="127.0.0.77")["host"], come("sole", cookie="none", at="127.0.0.77")["host"], "the same source without a name")

    victim = next(h for h in hosts if h.label == home)
    begin = time.monotonic()
    victim.ask("set mode=down")
    g.wait_state(home, "down")
    got = d.ask("connect user=alice wait=9")                 # within on-down she waits for her host, then is placed anew
    check(got["answer"] in ("confirm", "refused") and got["host"] != home, "alice, her host down:", got)
    until("alice is placed anew after on-down", lambda: d.ask("connect user=alice wait=9")["answer"] == "confirm")
    check(time.monotonic() - begin >= 2, "alice was placed anew within on-down")
    check(d.ask("check")["moved"] == 0, "live desktops were moved")
    victim.ask("set mode=up")
    g.wait_state(home, "up")
    equal(d.ask("check")["moved"], 0, "live desktops that were moved")
