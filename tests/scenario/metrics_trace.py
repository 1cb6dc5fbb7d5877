"""What an operator sees while it runs: counters by method, class, server and why in status, metrics and over HTTP; healthz and readyz; the messages of one
call by `trace`, also of one that failed over, in the order in which they passed on whatever worker; and nothing that a peer makes up adds a counter."""
import json, os, re, sys, time, urllib.error, urllib.request

from _ends import endpoint, hop, request
from scenario import PEERS, check, equal, until

sys.path.insert(0, PEERS)
from sip_text import Message

TIMEOUT = 90


def get(at, path):
    try:
        with urllib.request.urlopen(f"http://{at}{path}", timeout=20) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def samples(text):
    return {k: int(v) for k, v in (x.rsplit(" ", 1) for x in text.splitlines() if x and x[0] != "#")}


def run(s):
    servers = [s.sip_server(f"pbx{i}") for i in (1, 2)]
    hosts = [s.rdp_host("ts1")]
    ini = s.ini_gateway(extra="http = 127.0.0.1:0") + s.ini_rdp(hosts, "probe = none") + \
        s.ini_sip(servers, "probe = none\nload-factor = off", service="failover = yes")
    g = s.gateway(ini)
    at = re.search(r"event=http address=(\S+)", g.text())[1]
    phones = s.phones(g)
    for x in (phones, *servers):
        x.ask("set t1=8")                                  # all are counted: nothing is sent again because somebody is late
    got = phones.ask("call 20")
    s.all_home(got, "calls")
    s.all_home(phones.ask("bye all"), "hanging up")
    s.desktops(g).ask("connect user=alice")
    service = next(x for x in g.status()["services"] if x["name"] == "calls")
    equal(service["requests"], {"INVITE": 20, "ACK": 20, "BYE": 20}, "requests")
    equal((service["answers"]["2xx"], service["answers"]["1xx"]), (40, 20), "answers")
    taken = {x["name"]: x for x in g.ctl("servers")["servers"]}
    equal({n: taken[n]["placed"].get("home", 0) for n in got["by_server"]}, got["by_server"], "calls by server and why")
    equal({n: taken[n]["answers"]["2xx"] for n in got["by_server"]}, {n: 2 * k for n, k in got["by_server"].items()}, "answers by server")
    equal(taken["ts1"]["placed"], {"home": 1}, "a desktop by why")
    status, text = get(at, "/metrics")
    m = samples(text)
    equal((status, m['holdfast_requests_total{service="calls",method="INVITE"}'], m['holdfast_answers_total{service="calls",method="BYE",class="2xx"}']), (200, 20, 20), "over HTTP")
    equal(set(m), set(samples(g.run_ctl("metrics").stdout)), "the command has the same rows")

    rows = len(m)                                            # strangers make no row beside `other`
    c, me = endpoint()
    with c:
        c.settimeout(20)
        for n in range(20):
            c.sendto(request(me, n, f"WORD{n}", mark="odd"), hop(g.at()))
            while Message(c.recv(65535)).code < 200:
                pass
    m = samples(get(at, "/metrics")[1])
    equal(m['holdfast_requests_total{service="calls",method="other"}'], 20, "methods that nobody knows")
    check(len(m) <= rows + 4, f"{len(m)} rows, {rows} before")

    servers[0].ask("set invite=503")
    ids = phones.ask("call 12")["ids"]
    moved = [x for x in (g.ctl("trace", i)["messages"] for i in ids) if any(y["why"] == "failover" for y in x)]
    check(moved, "none of twelve calls was moved")
    x = moved[0]
    equal([(y["way"], y["method"], y["code"], y["server"]) for y in x][:5],
          [("in", "INVITE", None, None), ("out", "INVITE", None, "pbx1"), ("in", "INVITE", 503, "pbx1"), ("out", "ACK", None, "pbx1"), ("out", "INVITE", None, "pbx2")], "a call that was moved")
    equal(x[-1]["method"], "ACK", "its end")
    check([y["after_us"] for y in x] == sorted(y["after_us"] for y in x) and x[0]["after_us"] == 0, "in order:", x)
    equal({y["peer"] for y in x if y["server"] == "pbx1"}, {servers[0].at}, "where it was")
    table = g.run_ctl("trace", ids[0]).stdout
    check("-> " in table and "200 (INVITE)" in table and "MS " in table, table)
    equal(g.run_ctl("trace", "nobody@here").returncode, 1, "a call that nobody made")

    equal((get(at, "/healthz"), get(at, "/readyz")[0]), ((200, "ok\n"), 200), "health")
    for x in ("pbx1", "pbx2"):
        g.ctl("drain", x)
    equal(get(at, "/readyz"), (503, "pool pbx: no server takes new sessions\n"), "a closed pool")
    equal(get(at, "/nothing")[0], 404, "another path")
    g.stop()
