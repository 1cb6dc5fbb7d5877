"""An office behind one address whose clients bring no name: four share a host, the next four get another one, and who alone has left finds her place.
A session of nobody known is claimed by the first user of its address who has no bond, once: she finds her desktop, the next user is placed by his own
name. Without source-limit's check in the engine all twelve are on one host; without settle_claim (protocols/rdp/ask.c) both users are taken to it."""
from scenario import check, equal, until

TIMEOUT = 60
OFFICE, HOME = "127.0.0.50", "127.0.0.60"


def run(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3, 4)]
    g = s.gateway(s.ini_gateway() + s.ini_rdp(hosts, "probe = none\nsource-limit = 4\nsource-linger = 10m"))
    d = s.desktops(g)

    def come(user, at, cookie="none"):
        got = d.ask(f"connect user={user} cookie={cookie} at={at}")
        equal(got["answer"], "confirm", f"{user} from {at}")
        return got

    at = [come(f"desk{i}", OFFICE)["host"] for i in range(12)]
    groups = [set(at[i:i + 4]) for i in (0, 4, 8)]
    check(all(len(x) == 1 for x in groups) and len(set(at)) == 3, "twelve clients without a name, four a host:", at)
    equal(g.drops("desktops").get("source-crowded"), 8, "clients that found a crowded bond")
    equal(g.where(f"source:{OFFICE}#2", "farm")["server"], at[4], "the second bond of the office")
    equal(come("named", OFFICE, "named")["answer"], "confirm", "a named one beside them")
    d.ask("close user=desk5")
    until("her place is free", lambda: any(x["key"] == f"source:{OFFICE}#2" and x["flows"] == 3 for x in g.ctl("sessions", "--pool", "farm")["pools"][0]["sessions"]))
    back = come("desk5", OFFICE)
    equal((back["host"], back["session"]), (at[5], "again"), "who has left alone and comes back")

    first = come("first", HOME)["host"]                      # nobody knows whose
    d.ask("close user=first")
    away = [u for u in (f"user{i}" for i in range(40)) if g.where(f"user:{u}", "farm")["server"] != first]
    equal(come("first", HOME, away[0])["session"], "again", "her next connection brings her name, and finds her desktop")
    equal(g.where(f"user:{away[0]}", "farm")["server"], first, "where she is bound")
    expected = g.where(f"user:{away[1]}", "farm")["server"]
    got = come("second", HOME, away[1])
    equal((got["host"], got["session"]), (expected, "new"), "the next user of her address")
    equal(come("first", HOME)["host"], first, "a client without a name, where its address had one")
    equal(d.ask("check")["moved"], 0, "live desktops that were moved")
    g.stop()
