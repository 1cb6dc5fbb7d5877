"""Servers written by name: found at start and when what was said expires or the file is read again, moved without a session that moves, kept when no
name server answers and over a restart, and looked for at the next of their addresses when they do not answer themselves; nothing that a phone sends is looked up. Without the last answers kept, a name server that is down takes the servers along."""
import os, socket, ssl

from _certs import Authority
from scenario import Peer, check, equal, place, until


def at(g, name):
    x = g.server(name)
    return x["state"], x["address"]


def found(g, name, where):
    until(f"{name} is at {where}", lambda: at(g, name) == ("up", where))


def lost_files(s, dns):
    """an address that changes looks at no file: a certificate that is gone, and a program that cannot be run any more, do not keep it from being put in force;
    a reload refuses them, and changes nothing"""
    crt, script = Authority(s).make("gw", "DNS:gw.example.com"), s.path("probe")
    with open(script, "w") as f:
        f.write("#!/bin/sh\nexit 0\n")
    os.chmod(script, 0o755)
    ini = s.ini_gateway("lost", extra=f"resolver = {dns.at}") + s.ini_sip(
        ["pbx9 pbx9.example.com:5999"], f"probe = program\nprobe-program = {script}", f"tls-certificate = {crt.line()}", listen="udp://127.0.0.1:0 tls://127.0.0.1:0")
    dns.ask("mute on=no")
    dns.ask("set host=pbx9.example.com at=127.0.0.2 ttl=1")
    g = s.gateway(ini, name="lost")
    at = lambda: g.server("pbx9")["address"]
    until("it is found", lambda: at() == "127.0.0.2:5999")
    for gone in (crt.cert, script):
        os.unlink(gone)
    dns.ask("set host=pbx9.example.com at=127.0.0.3 ttl=1")
    until("it is found where it has moved", lambda: at() == "127.0.0.3:5999", 15)
    check(g.run_ctl("reload").returncode != 0, "a reload without its certificate was taken")
    with socket.create_connection(tuple(g.at(transport="tls").rsplit(":", 1)), 5) as c, ssl._create_unverified_context().wrap_socket(c) as t:
        check(t.version(), "a client meets the certificate as it was read")
    g.stop()


def run(s):
    dns = Peer(s, "dns", "dns_server.py")
    one = s.sip_server("pbx1", host=place("127.0.0.2"))
    two = s.sip_server("pbx2", host=place())
    moved = f"127.0.0.3:{one.port}"
    servers = [f"pbx1 pbx1.example.com:{one.port}", f"pbx2 PBX2.example.com:{two.port}"]
    ini = s.ini_gateway(extra=f"resolver = {dns.at}") + s.ini_sip(servers, "probe = options\nprobe-interval = 1s\nprobe-timeout = 1s\nprobe-fall = 2\nprobe-rise = 1", listen="udp://0.0.0.0:0")
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
    lost_files(s, dns)
