"""The hash outlives the process and is the same in every gateway that has the secret: after a restart each call's requests reach its server, by
cookie or by hash alone, and a second gateway with the servers in another order and at other lines answers the same. A key that is drawn at
each start fails here."""
from scenario import check, equal, place

CALLS, KEYS = 300, [f"call-{i}@lab.example" for i in range(150)]


def answers(g):
    return [(x["server"], x["slot"]) for x in (g.where(k, "pbx") for k in KEYS)]


def run(s):
    a, b, c = (s.sip_server(f"pbx{i}") for i in (1, 2, 3))
    with open(s.path("secret"), "w") as f:
        f.write("hash 000102030405060708090a0b0c0d0e0f\nsign 101112131415161718191a1b1c1d1e1f\n")
    secret = f"cluster-secret-file = {s.path('secret')}"
    pool = "probe = none\nload-factor = off"
    head = s.ini_gateway(extra=secret)
    ini = head + s.ini_sip([a, b, (c, "weight=50")], pool, listen=f"udp://{place()}")
    g = s.gateway(ini)
    before = answers(g)
    phones, blind = s.phones(g), s.phones(g, name="blind")
    s.all_home(phones.ask(f"call {CALLS}"), "calls")
    s.all_home(blind.ask(f"call {CALLS} route=no"), "calls without Route")
    g.stop()

    again = s.gateway(ini)
    equal(answers(again), before, "the hash after a restart")
    s.all_home(phones.ask("ask all"), "with Route after a restart")
    s.all_home(blind.ask("ask all"), "without Route after a restart")
    s.all_home(phones.ask("ask all method=INVITE"), "re-INVITE after a restart")

    other = s.gateway(s.ini_gateway("other", extra=secret) + s.ini_sip([(c, "weight=50"), a, b], pool), name="other")
    equal(answers(other), before, "the hash of a second gateway")
    ours = s.gateway(s.ini_gateway("ours", keys=False) + s.ini_sip([a, b, (c, "weight=50")], pool), name="ours")
    check(answers(ours) != before, "a gateway with another secret has another hash")
    first = answers(ours)
    ours.stop()
    ours = s.gateway(s.ini_gateway("ours", keys=False) + s.ini_sip([a, b, (c, "weight=50")], pool), name="ours")
    equal(answers(ours), first, "a secret that it made itself is kept in state-dir")
    s.all_home(phones.ask("bye all"), "hanging up")
    s.no_strangers()
