"""Phones behind NAT and phones that listen nowhere, over two workers: what servers send to them, to open a call and inside one, goes where they are seen, or down
the connection that they have opened, and nobody dials them. Over UDP and TCP with private addresses in Via and Contact; over TCP and TLS with
a Contact that is the connection's own end, registered without a Path. With a Record-Route that leads to the Contact, a connection that is
looked for on its own worker alone, or one that is dialled beside, calls are lost here (RFC 5626, RFC 3327)."""
from _certs import Authority
from scenario import Peer, check, equal, until

N = 40
KINDS = [  # program, transport, its arguments, path
    ("sip_client.py", "udp", ["--as", "10.1.1.1:5060"], "yes"), ("sip_web.py", "tcp", ["--plain", "--as", "10.1.1.1"], "yes"),
    ("sip_web.py", "tcp", ["--plain"], "no"), ("sip_web.py", "tls", ["--plain", "--tls"], "no")]


def kind(s, g, servers, program, transport, args, path):
    what = f"{transport} {' '.join(args)} path={path}"
    p = Peer(s, f"phones{len(s.children)}", program, g.at("calls", transport), "--sockets", "8", *args)
    users = [f"user{i}" for i in range(16)]
    bound = p.ask(f"register users={','.join(users)} path={path}")["users"]
    check(all(v["code"] == 200 for v in bound.values()), f"registrations ({what}):", bound)
    t = p.ask(f"call {N}")
    equal((t["answered"], t["lost"]), (N, 0), f"calls of {what}: {t}")
    for x in servers:
        mine = [u for u in users if bound[u]["server"] == x.label]
        t = x.ask(f"call {N} bound={','.join(mine)}")
        equal((t["answered"], t["lost"]), (N, 0), f"calls to {what}: {t}")
    for method in ("INFO", "INVITE"):
        s.all_home(p.ask(f"ask all method={method}"), f"{what}: phones send {method}")
        for x in servers:
            s.all_home(x.ask(f"ask all method={method}"), f"{what}: {x.label} sends {method}")
    s.all_home(p.ask(f"bye {N}"), f"{what} hang up")
    for x in servers:
        s.all_home(x.ask("bye all"), f"{x.label} hangs up")
    until("no session is left", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
    check(p.stats()["via_wrong"] == 0 and p.stats()["strangers"] == 0, f"{what}:", p.stats())
    return next((p, u, x) for u, v in bound.items() for x in servers if x.label == v["server"])


def run(s):
    servers = [s.sip_server(f"pbx{i}") for i in (1, 2)]
    service = f"key = user\ntls-certificate = {Authority(s).make('gw', 'IP:127.0.0.1').line()}"
    g = s.gateway(s.ini_gateway() + s.ini_sip(servers, listen="udp://127.0.0.1:0 tcp://127.0.0.1:0 tls://127.0.0.1:0", service=service))
    for x in servers:
        x.ask(f"hop at={g.at('calls', 'udp')}")
    for row in KINDS:
        p, user, server = kind(s, g, servers, *row)
    equal(g.drops().get("dial-failed", 0), 0, "dialled in vain")
    p.ask("drop")                                     # registered without a Path: a new connection to the Contact is tried, and there is none
    equal(server.ask(f"call 1 bound={user}")["refused"], {"503": 1}, "a call to a phone that has left")
    s.no_strangers()
