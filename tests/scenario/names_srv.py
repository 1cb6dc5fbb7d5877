"""Servers whom a domain's SRV records name: found and weighed by them, the same whatever the order of an answer; one that is named no longer keeps its calls
and gets no new ones; who has a higher priority number stands in while nobody else is up; an answer that names nobody, none at all and a restart take nobody
out. Without the last answer kept, or members by host and port, calls move or are refused."""
from scenario import Peer, check, equal, until

NAME = "_sip._udp.example.com"


def run(s):
    dns = Peer(s, "dns", "dns_server.py")
    peers = {n: s.sip_server(n, host=f"127.0.0.{i}") for i, n in enumerate(("alpha", "beta", "gamma"), 2)}
    member = {n: f"pbx:{n}.example.com:{p.port}" for n, p in peers.items()}
    for n, p in peers.items():
        dns.ask(f"set host={n}.example.com at={p.host} ttl=3600")

    def say(*targets, ttl=3600):
        dns.ask(f"srv host={NAME} ttl={ttl} to=" + ",".join(f"{priority}:{weight}:{peers[n].port}:{n}.example.com" for n, priority, weight in targets))

    ini = s.ini_gateway(extra=f"resolver = {dns.at}") + s.ini_sip(
        [f"pbx udp://{NAME}"], "probe = options\nprobe-interval = 500ms\nprobe-timeout = 300ms\nprobe-fall = 2\nprobe-rise = 1\nload-factor = off", listen="udp://0.0.0.0:0")
    say(("alpha", 10, 100), ("beta", 10, 300), ("gamma", 20, 100))
    g = s.gateway(ini)
    listed = lambda: {x["name"]: (x["state"], x["weight"]) for x in g.ctl("servers")["servers"]}

    def become(what, **want):
        until(f"{what}: {want}", lambda: {k: v[0] for k, v in listed().items()} == {member[n]: state for n, state in want.items()}, 20)

    become("servers by SRV", alpha="up", beta="up")
    equal({k: v[1] for k, v in listed().items()}, {member["alpha"]: 85, member["beta"]: 256}, "their weights, of which one is above 256")
    port = g.uris["calls"][0].rsplit(":", 1)[1]
    phones = s.phones_at(f"127.0.0.1:{port}", "phones")
    got = phones.ask("call 80")
    s.all_home(got, "calls")
    check(got["by_server"].get("beta", 0) > got["by_server"].get("alpha", 0) > 0, "by their weights:", got["by_server"])
    g.ctl("drain", member["alpha"])
    equal(set(phones.ask("call 10")["by_server"]), {"beta"}, "new calls while one is drained by hand")
    g.ctl("undrain", member["alpha"])
    say(("gamma", 20, 100), ("beta", 10, 300), ("alpha", 10, 100))    # in another order: nothing new
    asked = dns.stats()["asked"][NAME]
    g.reload(ini)
    until("it is asked again", lambda: dns.stats()["asked"][NAME] > asked)

    say(("beta", 10, 300), ("gamma", 20, 100))
    g.reload(ini)
    become("one is named no longer", alpha="drain", beta="up")
    equal(set(phones.ask("call 20")["by_server"]), {"beta"}, "new calls then")
    equal(g.text().count(f"event=resolved host={NAME} servers=3"), 1, "answers that said something new, before")
    s.all_home(phones.ask("ask all"), "requests in calls of both")

    dns.ask(f"set host={NAME}")
    g.reload(ini)
    until("nobody is named", lambda: f"event=resolve-failed host={NAME}" in g.text())
    dns.ask("mute on=yes")
    g.reload(ini)
    s.all_home(phones.ask("call 20"), "calls while nobody is named, and nobody answers")
    become("as before", alpha="drain", beta="up")
    g.stop()
    g = s.gateway(ini.replace("udp://0.0.0.0:0", f"udp://0.0.0.0:{port}"))
    become("after a restart without an answer", alpha="drain", beta="up")
    s.all_home(phones.ask("call 20"), "calls after the restart")
    s.all_home(phones.ask("ask all"), "requests in calls from before it")

    dns.ask("mute on=no")
    say(("alpha", 10, 100), ("gamma", 20, 100))
    g.reload()
    become("another one", alpha="up", beta="drain")
    s.all_home(phones.ask("bye all"), "hanging up")
    peers["alpha"].end()
    until("who has the higher number stands in", lambda: listed().get(member["gamma"], ("",))[0] == "up", 15)
    until("calls go there", lambda: phones.ask("call 5")["by_server"].get("gamma", 0) == 5, 15)
    again = s.sip_server("alpha", host=f"{peers['alpha'].host}:{peers['alpha'].port}")
    until("and goes when the other is up again", lambda: (listed()[member["alpha"]][0], listed()[member["gamma"]][0]) == ("up", "drain"), 15)
    got = phones.ask("call 20")
    equal((got["lost"], set(got["by_server"])), (0, {again.label}), "new calls then")
    s.all_home(phones.ask("ask all"), "requests in calls of both")
    g.stop()
