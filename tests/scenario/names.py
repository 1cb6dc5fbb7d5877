"""Servers written by name: found at start and when what was said expires or the file is read again, moved without a session that moves, kept when no
name server answers and over a restart, and looked for at the next of their addresses when they do not answer themselves; nothing that a phone sends is looked up. Without the last answers kept, a name server that is down takes the servers along."""
from scenario import Peer, check, equal, until


def at(g, name):
    x = g.server(name)
    return x["state"], x["address"]


def found(g, name, where):
    until(f"{name} is at {where}", lambda: at(g, name) == ("up", where), 15)


def run(s):
    dns = Peer(s, "dns", "dns_server.py")
    one = s.sip_server("pbx1", host="127.0.0.2")
    two = s.sip_server("pbx2")
    moved = f"127.0.0.3:{one.port}"
    servers = [f"pbx1 pbx1.example.com:{one.port}", f"pbx2 PBX2.example.com:{two.port}"]
    ini = s.ini_gateway(extra=f"resolver = {dns.at}") + s.ini_sip(servers, "probe = options\nprobe-interval = 1s\nprobe-timeout = 300ms\nprobe-fall = 2\nprobe-rise = 1", listen="udp://0.0.0.0:0")
    dns.ask("set host=pbx2.example.com at=127.0.0.1,2001:db8::2")
    g = s.gateway(ini)

    found(g, "pbx2", two.at)
    until("it is said why pbx1 is down", lambda: "pbx1.example.com" in (g.server("pbx1").get("last_failure") or ""))
    equal(at(g, "pbx1"), ("down", "pbx1.example.com"), "a server whose name is not there")
    port = g.uris["calls"][0].rsplit(":", 1)[1]
    phones = s.phones_at(f"127.0.0.1:{port}", "phones")
    got = phones.ask("call 50")
    equal((got["by_server"], got["lost"]), ({"pbx2": 50}, 0), "calls while one of two was found")

    dns.ask(f"set host=pbx1.example.com at=127.0.0.2 ttl=1")
    g.reload(ini)
    found(g, "pbx1", one.at)
    got = phones.ask("call 50")
    s.all_home(got, "calls when both were found")
    check(got["by_server"].get("pbx1", 0) > 5, "its share:", got["by_server"])
    theirs = [c["id"] for c in phones.ask("calls")["calls"] if c["server"] == "pbx1"][0]

    g.ctl("weight", "pbx1", "70")
    third = s.sip_server("pbx1", host=moved)
    dns.ask("set host=pbx1.example.com at=127.0.0.3,127.0.0.4 ttl=3600")
    found(g, "pbx1", moved)                               # what was said expires
    equal(g.where(theirs)["server"], "pbx1", "a call that was there")
    equal(g.server("pbx1")["weight"], 70, "a weight that was given by hand")
    got = phones.ask("call 50")
    s.all_home(got, "calls when it has moved")
    check(third.stats()["held"] > 0, "calls at the new place:", third.stats())

    dns.ask(f"set host=pbx2.example.com at=127.0.0.6,{two.host},127.0.0.5 ttl=3600")
    g.reload(ini)
    equal(at(g, "pbx2"), ("up", two.at), "an address that is among others")
    other = s.sip_server("pbx2", host=f"127.0.0.5:{two.port}")
    two.end()
    found(g, "pbx2", other.at)                            # the next in order that answers probes
    s.all_home(phones.ask("call 50"), "calls at another address of the name")

    dns.ask("mute on=yes")
    asked = dns.stats()["asked"]
    g.reload(ini)
    until("it is asked again", lambda: dns.stats()["asked"] != asked)
    s.all_home(phones.ask("call 20 uri=sip:bob@elsewhere.example.net"), "calls while nobody answers")
    equal([at(g, n) for n in ("pbx1", "pbx2")], [("up", moved), ("up", other.at)], "what was said last")
    g.reload(ini.replace("PBX2.example.com", "new.example.com"))
    equal([at(g, n) for n in ("pbx1", "pbx2")], [("up", moved), ("up", other.at)], "a server whose line has a name that nobody has looked up yet")
    s.all_home(phones.ask("call 20"), "calls meanwhile")
    g.reload(ini)
    g.stop()
    g = s.gateway(ini)
    equal([at(g, n) for n in ("pbx1", "pbx2")], [("up", moved), ("up", other.at)], "what was said before the restart")
    equal(set(dns.stats()["asked"]), {"pbx1.example.com", "pbx2.example.com", "new.example.com"}, "names that were looked up")
    g.stop()
