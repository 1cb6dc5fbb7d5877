"""What operators and strangers point at a SIP port: sipsak over UDP and TCP gets its OPTIONS answered; svmap, which says what it is, finds nothing; where
scanners are answered (deny-user-agent = off) it finds the port, and no scan, by any method, opens a session, disturbs a call, or makes the log grow with its size."""
import os, subprocess

from scenario import SLOW, check, equal, need, until


def tool(s, *argv):
    return subprocess.run(argv, capture_output=True, text=True, timeout=40 * SLOW, env=dict(os.environ, HOME=s.dir), cwd=s.dir)


def sipsak(s, g):
    for transport in ("udp", "tcp"):
        for user in ("", "service@"):                       # to the gateway or its server; to a user of its servers
            r = tool(s, "sipsak", "-v", "-v", "-E", transport, "-s", f"sip:{user}{g.at('calls', transport)}")
            equal(r.returncode, 0, f"sipsak over {transport} to {user or 'nobody'}: {r.stdout[-600:]} {r.stderr[-300:]}")
            check("SIP/2.0 200" in r.stdout, "its answer:", r.stdout[-600:])


def scan(s, g, phones, answered):
    host, port = g.at("calls", "udp").rsplit(":", 1)
    log, dropped = len(g.text()), g.drops().get("scanner", 0)
    for method in ("OPTIONS", "INVITE", "REGISTER"):
        r = tool(s, "svmap", "-p", port, "-m", method, "-b", "127.0.0.1", "-P", "25060", host)
        check(method != "OPTIONS" or (f"{host}:{port}" in r.stdout + r.stderr) == answered, f"svmap -m {method} found {'nothing' if answered else 'us'}:", (r.stdout + r.stderr)[-600:])
    check((g.drops().get("scanner", 0) > dropped) != answered, "scanners that were dropped:", g.drops())
    for user in ("100", "admin", "0000"):
        tool(s, "sipsak", "-s", f"sip:{user}@{host}:{port}")
    s.all_home(phones.ask("ask all"), "calls while it is scanned")
    until("what the scan opened is gone or early", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) <= 100 + 3)
    check(len(g.text()) - log < 5000, "the scan is all over the log:", g.text()[log:][:2000])


def run(s):
    need("sipsak", "svmap")
    pbx = [s.sip_server(f"pbx{i}") for i in (1, 2)]
    ini = lambda service="": s.ini_gateway() + s.ini_sip(pbx, listen="udp://127.0.0.1:0 tcp://127.0.0.1:0", service=service)
    g = s.gateway(ini())
    phones = s.phones(g)
    s.all_home(phones.ask("call 100"), "calls")
    sipsak(s, g)
    scan(s, g, phones, False)
    g.reload(ini("deny-user-agent = off"))
    scan(s, g, phones, True)
    s.all_home(phones.ask("bye all"), "hanging up")
    s.no_strangers()
