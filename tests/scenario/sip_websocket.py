"""Phones in web pages (RFC 7118): register, call, are called by their Path and inside calls from both sides, over two workers, while servers join and
drain. Nothing resolves their `.invalid` names and nobody can dial them, so that all that a server sends has to go down the page's own connection;
when that is gone, or the gateway has been restarted, the server is told 430. A Record-Route that a server or a page cannot use, a flow
that is looked for on one worker alone, or a message that is cut by length loses calls here (B27, B123)."""

from _certs import Authority
from scenario import Peer, check, equal, place, until

N = 60


def pages(s, g, name, *args):
    return Peer(s, name, "sip_web.py", g.at("calls", "wss" if "--tls" in args else "ws"), "--name", name, *args)


def homes(s, p, servers, what):
    """requests inside all calls, from both ends"""
    for method in ("INFO", "INVITE"):
        s.all_home(p.ask(f"ask all method={method}"), f"{what}: pages send {method}")
        for x in servers:
            s.all_home(x.ask(f"ask all method={method}"), f"{what}: {x.label} sends {method}")


def run(s):
    servers = [s.sip_server(f"pbx{i}") for i in (1, 2)]
    head = s.ini_gateway()
    listen = f"udp://{place()} ws://127.0.0.1:0 wss://127.0.0.1:0"
    service = f"key = user\nws-origin = https://phones.example.com\ntls-certificate = {Authority(s).make('gw', 'IP:127.0.0.1').line()}"
    g = s.gateway(head + s.ini_sip(servers, listen=listen, service=service))
    for x in servers:
        x.ask(f"hop at={g.at('calls', 'udp')}")
    for kind in ((), ("--text",), ("--cut",), ("--tls", "--text", "--cut")):
        p = pages(s, g, f"pages{len(s.children)}", "--sockets", "8", *kind)
        users = [f"user{i}" for i in range(16)]
        bound = p.ask("register users=" + ",".join(users))["users"]
        check(all(v["code"] == 200 for v in bound.values()) and len({v["server"] for v in bound.values()}) == 2, "registrations:", bound)
        t = p.ask(f"call {N}")
        equal((t["answered"], t["lost"]), (N, 0), f"calls of pages {kind}: {t}")
        for x in servers:
            mine = [u for u in users if bound[u]["server"] == x.label]
            t = x.ask(f"call {N // 2} bound={','.join(mine)}")
            equal((t["answered"], t["lost"]), (N // 2, 0), f"calls to pages {kind}: {t}")
        equal(p.stats()["held"], 2 * N, "calls at the pages")
        homes(s, p, servers, f"pages {kind}")
        g.ctl("drain", "pbx1")
        homes(s, p, servers, f"pages {kind}, drained")
        g.ctl("undrain", "pbx1")
        s.all_home(p.ask(f"bye {N}"), "pages hang up")
        for x in servers:
            s.all_home(x.ask("bye all"), f"{x.label} hangs up")
        until("no session is left", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
        st = p.stats()
        text = "--text" in kind
        check(st["texts" if text else "binaries"] > 0 and st["binaries" if text else "texts"] == 0 and not st["odd"] and not st["closes"], "frames:", st)
        check(("--cut" in kind) == (st["pongs"] > 0), "pongs:", st)
        check(st["via_wrong"] == 0 and st["strangers"] == 0, "pages:", st)
    gone(s, g, servers, p, bound)


def gone(s, g, servers, p, bound):
    """a page that has left: 430 at once, to what opens a call and to what stands in one; nobody is dialled"""
    user, server = next((u, x) for u, v in bound.items() for x in servers if x.label == v["server"])
    equal(server.ask(f"call 1 bound={user}")["answered"], 1, "a call")
    p.ask("drop")
    equal(server.ask(f"call 1 bound={user}")["refused"], {"430": 1}, "a call to a page that has left")
    equal(server.ask("ask all")["refused"], {"430": 1}, "a request inside a call with it")
    check(g.drops().get("flow-gone", 0) >= 2, "counted:", g.drops())
    p.ask("again")
    p.ask(f"register users={user}")
    server.ask("forget")
    equal(server.ask(f"call 1 bound={user}")["answered"], 1, "a call to the page that has come back")
    g.stop()
    s.gateway(open(g.ini).read(), name="gateway")
    server.ask("forget")
    equal(server.ask(f"call 1 bound={user}")["refused"], {"430": 1}, "a flow of the gateway before")
    check(p.stats()["ended"] > 0, "the pages have seen it")
