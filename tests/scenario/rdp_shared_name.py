"""A name of nine octets that many people log on by, since their clients cut longer ones: three of its addresses share a host, each further one is placed by the address too, and finds its host again whoever
else is connected; those who are connected stay. Without max_sources in ask() (protocols/rdp/ask.c) all are on one host; without `apart` the fourth, who
comes back when the third has left, goes to the others' host."""
from scenario import check, equal, until

TIMEOUT = 60
NAME = "reception"


def run(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3, 4)]
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_rdp(hosts, "probe = none\nlinger = 1h"))
    d = s.desktops(g)
    flows = lambda: {x["key"]: x["flows"] for x in g.ctl("sessions", "--pool", "farm")["pools"][0]["sessions"]}

    def come(n, cookie=NAME):
        got = d.ask(f"connect user=desk{n} cookie={cookie} at=127.0.0.{50 + n}")
        equal(got["answer"], "confirm", f"desk {n}")
        return got["host"]

    def leave(n, key):
        had = flows()[key]
        d.ask(f"close user=desk{n}")
        until(f"desk {n} is gone", lambda: flows()[key] == had - 1)

    user = f"user:{NAME}"
    at = [come(n, cookie) for n, cookie in enumerate((NAME, "RECEPTION", f"OFFICE\\{NAME}", *[NAME] * 9))]
    equal(len(set(at[:3])), 1, "three addresses, one host")
    check(len(set(at[3:])) > 1 and all(at.count(h) <= 6 for h in set(at)), "the others are spread:", at)
    equal((g.drops("desktops").get("key-shared"), g.text().count("event=key-shared")), (9, 1), "counted each time, logged once")
    equal(g.where(f"weak:{NAME} 127.0.0.53", "farm")["server"], at[3], "a bond of its own")
    equal(flows()[user], 3, "live connections on the name's own bond")

    other = next(n for n in range(3, 12) if at[n] != at[0])
    leave(2, user)
    leave(other, f"weak:{NAME} 127.0.0.{50 + other}")
    equal(come(other), at[other], "who was placed by the address comes back, though the name has room")
    equal(come(2), at[2], "who had the name's own bond, comes back to it")
    equal(d.ask("check")["moved"], 0, "live desktops that were moved")

    equal(len({come(40 + i, "kiosk") for i in range(8)}), 1, "a shorter name, which nobody has cut, is one user's from anywhere")
    g.reload(head + s.ini_rdp(hosts, "probe = none\nlinger = 1h\nuser-sources = off"))
    equal([come(20 + i) for i in range(5)], [at[0]] * 5, "user-sources = off")
    g.stop()
