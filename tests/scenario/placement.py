"""Where new sessions go: a table's balances by their rules and within bounds, and those of who is not remembered; who has left by the session that
he still has; a server that came up by its slow start, a full table or a greedy source by the hash, and what has no key by the fallback. Without balance
in the engine's conf, ledger_count in hf_engine_hold, the ramp at a tick, or the answer by the hash alone, it fails."""
from scenario import check, equal, until

TIMEOUT = 120


def balances(s, hosts):
    for balance, spread in (("round-robin", {"ts1": 10, "ts2": 20, "ts3": 10}), ("least-sessions", {"ts1": 10, "ts2": 20, "ts3": 10}), ("random", None)):
        lines = [hosts[0], (hosts[1], "weight=200"), hosts[2]]
        g = s.gateway(s.ini_gateway(f"gw-{balance}") + s.ini_rdp(lines, f"probe = none\nbalance = {balance}\nload-factor = off"), name=f"gw-{balance}")
        d = s.desktops(g, name=f"desktops-{balance}")
        got = d.ask("many 40")
        equal((got.get("confirm"), got["split"]), (40, 0), f"{balance}: {got}")
        seen = {x["name"]: x["sessions"] for x in g.ctl("servers")["servers"]}
        if spread:
            equal(seen, spread, balance)
        check(all(n > 0 for n in seen.values()), balance, seen)
        equal(g.where("user:nobody-yet", "farm")["why"], "balance", f"{balance}: why")
        told = g.ctl("explain", "user:nobody-yet", "--pool", "farm")
        check("balance" in str(told["stories"][0]["steps"]), f"{balance}: explained", told)
        got = d.ask("many 40")
        equal((got.get("confirm"), got["split"], {x["name"]: x["sessions"] for x in g.ctl("servers")["servers"]}), (40, 0, seen), f"{balance}: everybody comes back")
        d.ask("close")
        d.end()
        g.stop()


def lingering(s, hosts):
    """who has left counts as long as his host keeps his session: for who has the fewest, and for max-sessions, which a known user passes"""
    def ini(bound):
        return s.ini_gateway("gw-linger") + s.ini_rdp([(hosts[0], bound), hosts[1]], "probe = none\nbalance = least-sessions\nload-factor = off\nlinger = 1h")

    def leave():
        d.ask("close")
        until("all have gone", lambda: not any(x["flows"] for x in g.ctl("servers")["servers"]))
    g = s.gateway(ini(""), name="gw-linger")
    d = s.desktops(g, name="desktops-linger")
    g.ctl("drain", "ts2")
    equal(d.ask("many 10 prefix=early")["hosts"], {"ts1": 10}, "while ts2 drains")
    leave()
    g.ctl("undrain", "ts2")
    equal(d.ask("many 10 prefix=next")["hosts"], {"ts2": 10}, "ten sessions linger at ts1")
    equal(d.ask("many 10 prefix=more")["hosts"], {"ts1": 5, "ts2": 5}, "as many here as there")
    leave()
    g.reload(ini("max-sessions=15"))
    equal((g.server("ts1")["sessions"], g.server("ts1")["cap"]), (15, 15), "lingering sessions of ts1")
    equal(d.ask("many 6 prefix=late")["hosts"], {"ts2": 6}, "ts1 is full of who has left")
    got = d.ask("many 10 prefix=early")
    equal((got["hosts"], got["split"]), ({"ts1": 10}, 0), "they come back to their sessions all the same")
    d.end()
    g.stop()


def a_filled_service(s, hosts):
    """max-sessions of a service: a new user is refused as when no host is left, whoever is bound, or is sent by a host, is not; who is not remembered counts
    while connected"""
    def ini(more=""):
        return s.ini_gateway("gw-filled") + s.ini_rdp(hosts, f"probe = none\nlinger = 1h\n{more}", "max-sessions = 10")

    def leave():
        d.ask("close")
        until("all have gone", lambda: not any(x["flows"] for x in g.ctl("servers")["servers"]))
    g = s.gateway(ini(), name="gw-filled")
    d = s.desktops(g, name="desktops-filled")
    equal(d.ask("many 10 prefix=first").get("confirm"), 10, "users of a service with max-sessions = 10")
    equal({k: v for k, v in d.ask("many 5 prefix=new").items() if k in ("confirm", "refused")}, {"refused": 5}, "five more")
    leave()
    equal(d.ask("many 5 prefix=new").get("refused"), 5, "who has left keeps his place")
    got = d.ask("many 10 prefix=first")
    equal((got.get("confirm"), got["split"]), (10, 0), f"they come back: {got}")
    equal(d.ask("connect user=else token=192.0.2.9:3389")["answer"], "refused", "a new user with a token of no member")
    got = d.ask(f"connect user=sent token={hosts[1].at}")
    equal((got["answer"], got["host"]), ("confirm", "ts2"), "a new user whom a host has sent")
    until("refusals are counted", lambda: g.drops("desktops").get("max-sessions") == 11)
    leave()
    g.stop()
    g = s.gateway(ini("affinity = none").replace("gw-filled", "gw-filled-none"), name="gw-filled-none")
    d.end()
    d = s.desktops(g, name="desktops-filled-none")
    for _ in range(2):                                      # who has left has no place any more
        got = d.ask("many 15 prefix=any")
        check(10 <= got.get("confirm", 0) <= 11 and got["confirm"] + got["refused"] == 15, "connections that nobody remembers, two workers:", got)
        leave()
    d.end()
    g.stop()


def weights(s, hosts):
    """the hash, too, goes by weight, within the load factor"""
    g = s.gateway(s.ini_gateway("gw-weights") + s.ini_rdp([(hosts[0], "weight=50"), (hosts[1], "weight=150")], "probe = none"), name="gw-weights")
    d = s.desktops(g, name="desktops-weights")
    got = d.ask("many 200 prefix=w")["hosts"]
    check(20 <= got["ts1"] <= 63 and got["ts1"] + got["ts2"] == 200, "a quarter, at most 1.25 of it:", got)   # 50, sigma 6.1; cap 62.5
    d.end()
    g.stop()


def nobody_remembered(s, hosts):
    """affinity = none: who is connected is what balances and bounds go by"""
    for name, lines, pool, want in (("fewest", [hosts[0], (hosts[1], "weight=200"), hosts[2]], "balance = least-sessions\nload-factor = off", {"ts1": 10, "ts2": 20, "ts3": 10}),
                                    ("bounds", [(hosts[0], "max-sessions=3"), (hosts[1], "weight=200"), hosts[2]], "load-factor = 1", None)):
        g = s.gateway(s.ini_gateway(f"gw-{name}", workers=1) + s.ini_rdp(lines, f"affinity = none\nprobe = none\n{pool}"), name=f"gw-{name}")
        d = s.desktops(g, name=f"desktops-{name}")
        equal(d.ask("many 40").get("confirm"), 40, f"{name}: users")
        seen = {x["name"]: x["sessions"] for x in g.ctl("servers")["servers"]}
        if want:
            equal(seen, want, name)
        else:
            check(seen["ts1"] == 3 and 23 <= seen["ts2"] <= 25 and sum(seen.values()) == 40, name, seen)  # 37 as 2 to 1
        d.ask("close")
        until("all have gone", lambda: not any(x["sessions"] for x in g.ctl("servers")["servers"]))
        d.end()
        g.stop()


def slow_start(s, hosts):
    probe = "probe = connect\nprobe-interval = 200ms\nprobe-timeout = 3s\nprobe-fall = 1\nprobe-rise = 1"
    g = s.gateway(s.ini_gateway("gw-slow") + s.ini_rdp(hosts, f"{probe}\nload-factor = 1\nslow-start = 15s"), name="gw-slow")
    for h in hosts:
        g.wait_state(h.label, "up")
    d = s.desktops(g, name="desktops-slow")
    equal(d.ask("many 99").get("confirm"), 99, "users")
    hosts[0].ask("set mode=down")
    g.wait_state("ts1", "down")
    equal(g.server("ts1")["cap"], 0, "its cap while it is down")
    hosts[0].ask("set mode=up")
    g.wait_state("ts1", "up")
    first = g.server("ts1")["cap"]
    check(5 <= first <= 20, "a tenth of a share, and what came since:", first)          # 100 * 0.1 / 2.1 = 4.8 at once
    until("its slots are its own, whatever its cap", lambda: g.server("ts1")["slots"] > 10000, 5)
    until("half of the ramp", lambda: g.server("ts1")["cap"] >= 20, 20)
    until("its whole share", lambda: g.server("ts1")["cap"] == 34, 30)
    d.end()
    g.stop()


def full(s):
    a, b = s.sip_server("pbx1"), s.sip_server("pbx2")
    for name, pool, reason in (("gw-full", "max-entries = 40\nmax-entries-source = off", "entries-full"), ("gw-quota", "max-entries = 40\nmax-entries-source = 5", "entry-quota")):
        g = s.gateway(s.ini_gateway(name) + s.ini_sip([a, b], f"probe = none\nload-factor = 1\n{pool}"), name=name)
        phones = s.phones(g, name=f"phones-{name}")
        if name == "gw-full":
            s.all_home(phones.ask("call 32"), "calls that leave room")
            until("the log says that the table fills", lambda: g.text().count("event=table-fills"), 10)
            equal(g.text().count("event=table-full"), 0, "it is not full yet")
        s.all_home(phones.ask("call 200"), f"{reason}: calls")
        s.all_home(phones.ask("ask all"), f"{reason}: what follows")
        check(g.drops().get(reason, 0) >= 50, reason, g.drops())
        pools = g.status()["pools"]
        check(pools[0]["entries"] <= 40, "entries:", pools)
        if name == "gw-full":
            until("the log says that it is", lambda: g.text().count("event=table-full"), 10)
            equal(g.text().count("event=table-fills"), 1, "what was said is not said again")
        s.all_home(phones.ask("bye all"), f"{reason}: hanging up")
        phones.end()
        g.stop()


def fallbacks(s):
    a, b = s.sip_server("pbx3"), s.sip_server("pbx4")
    for how in ("round-robin", "least-sessions", "source"):
        name = f"gw-{how}-unplaced"
        g = s.gateway(s.ini_gateway(name) + s.ini_sip([a, b], f"probe = none\nload-factor = off\nfallback = {how}", "key = header:X-Room"), name=name)
        phones = s.phones(g, name=f"phones-{how}")
        got = phones.ask("call 20")
        s.all_home(got, f"{how}: calls without the header")
        want = [20] if how == "source" else [10, 10]
        equal(sorted(got["by_server"].values()), want, f"{how}: spread")
        s.all_home(phones.ask("ask all"), f"{how}: what follows")
        s.all_home(phones.ask("bye all"), f"{how}: hanging up")
        phones.end()
        g.stop()


def run(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3)]
    balances(s, hosts)
    lingering(s, hosts)
    a_filled_service(s, hosts)
    weights(s, hosts)
    nobody_remembered(s, hosts)
    slow_start(s, hosts)
    full(s)
    fallbacks(s)
    s.no_strangers()
