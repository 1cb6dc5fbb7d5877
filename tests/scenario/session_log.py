"""The session log: one line of JSON for each session that ended, with who, from where, which server and why, and how; nobody by name unless that is asked for;
rotated by a reload; a file that blocks stops nothing and is told, and the log goes on by itself. Both protocols in one gateway."""
import json, os, sys, threading, time

from _ends import endpoint, hop, request
from scenario import PEERS, check, equal, until

sys.path.insert(0, PEERS)
import rdp_text

TIMEOUT = 120


def lines(path):
    with open(path) as f:
        return [json.loads(x) for x in f.read().splitlines()]


def told(path, n):
    """the first n lines, once they are there, and no more"""
    until(f"{n} lines in {os.path.basename(path)}", lambda: os.path.exists(path) and len(lines(path)) >= n)
    got = lines(path)
    equal(len(got), n, "lines")
    return got


def ini(s, hosts, servers, log, names="no"):
    return (s.ini_gateway(extra=f"session-log = {log}\nlog-identities = {names}") + s.ini_rdp(hosts, "probe = none", "key = token user source") +
            s.ini_sip(servers, "probe = none\nload-factor = off", service="failover = yes"))


def desktops(s, g, hosts, log):
    d = s.desktops(g)
    home = d.ask("connect user=alice")["host"]
    d.ask("close user=alice")
    (x,) = told(log, 1)
    equal((x["service"], x["server"], x["reason"], x["proved"], x["facts"]), ("desktops", home, "done", True, []), "a desktop's line")
    check(x["octets_up"] > 1500 and x["octets_down"] > 1500 and "key" not in x and len(x["fingerprint"]) == 15, "a desktop's line:", x)
    equal((x["why"], x["rule"], "led" in x), ("home", "user", False), "by what she was placed")
    check(x["source"].startswith("127.0.0.1:") and x["begin"].endswith("Z") and x["duration_ms"] < 60000, "a desktop's line:", x)
    return home


def short_legs(s, g, hosts, log):
    """r30 and h8: the second leg of a redirect names the first, and a client that comes again and again without following it is told apart."""
    d = s.desktops(g, name="legs")
    target = next(h for h in hosts if h.label == "ts2")
    first = d.ask("connect user=bob login=no at=127.0.0.21")
    d.ask("close")
    told(log, 2)
    d.ask(f"connect user=bob token={target.at} at=127.0.0.21")
    d.ask("close")
    a, b = told(log, 3)[1:]
    equal((a["proved"], a["server"], a["octets_down"] > 0), (False, next(h.label for h in hosts if h.label == a["server"]), True), "the first leg")
    equal((b["why"], b["server"], b["proved"], b["follows"], b["legs"]), ("token", "ts2", True, a["server"], 2), "the second leg")
    equal((a["rule"], "rule" in b), ("user", False), "by what they went")
    check(b["follows_ms"] < 10000 and a["source"].split(":")[0] == b["source"].split(":")[0], "they are joined:", a, b)
    for _ in range(3):                                       # never sends the token that it was given
        d.ask("connect user=loop login=no at=127.0.0.22")
        d.ask("close")
    got = told(log, 6)[3:]
    equal([x.get("legs") for x in got], [None, 2, 3], "legs of a loop")
    equal([x["proved"] for x in got], [False] * 3, "none of them proved itself")
    equal(g.text().count("event=short-sessions"), 1, "lines of the log about it")


def calls(s, g, servers, log):
    phones = s.phones(g)
    before = len(lines(log))
    got = phones.ask("call 3")
    s.all_home(got, "calls")
    s.all_home(phones.ask("bye all"), "hanging up")
    x = told(log, before + 3)[before:]
    equal({(y["service"], y["ended"], y["failovers"]) for y in x}, {("calls", "bye", 0)}, "calls")
    equal(sorted(y["server"] for y in x), sorted(k for k, n in got["by_server"].items() for _ in range(n)), "their servers")
    check(all(y["answered_ms"] <= y["duration_ms"] and "key" not in y and y["why"] in ("home", "spill") for y in x), "calls:", x)
    servers[0].ask("set invite=486"), servers[1].ask("set invite=486")
    phones.ask("call 2")
    x = told(log, before + 5)[before + 3:]
    equal([(y["ended"], y["code"], "answered_ms" in y) for y in x], [("refused", 486, False)] * 2, "refused calls")
    servers[0].ask("set invite=503"), servers[1].ask("set invite=")
    equal(phones.ask("call 12")["refused"], {}, "calls beside a server that refuses")
    s.all_home(phones.ask("bye all"), "hanging up")
    x = told(log, before + 17)[before + 5:]
    equal({(y["server"], y["ended"]) for y in x}, {(servers[1].label, "bye")}, "calls that found another server")
    check(any(y["failovers"] == 1 and y["why"] == "failover" for y in x), "one that was moved:", x)
    servers[0].ask("set invite=")
    cancelled(s, g, servers, log)


def cancelled(s, g, servers, log):
    before = len(lines(log))
    for x in servers:
        x.ask("set all=silent")
    c, me = endpoint()
    with c:
        c.sendto(request(me, 77, "INVITE", mark="can"), hop(g.at()))
        time.sleep(0.1)
        c.sendto(request(me, 77, "CANCEL", mark="can"), hop(g.at()))
        (x,) = told(log, before + 1)[before:]
    equal((x["ended"], x["code"]), ("cancel", 487), "a cancelled call")
    for x in servers:
        x.ask("set all=")


def run(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2)]
    servers = [s.sip_server(f"pbx{i}") for i in (1, 2)]
    log, old, pipe = s.path("sessions.log"), s.path("sessions.log.1"), s.path("pipe")
    g = s.gateway(ini(s, hosts, servers, log))
    desktops(s, g, hosts, log)
    short_legs(s, g, hosts, log)
    calls(s, g, servers, log)

    n = len(lines(log))                                      # as logrotate does
    os.rename(log, old)
    g.reload(ini(s, hosts, servers, log, "yes"), how="hup")
    until("the new file", lambda: os.path.exists(log))
    d = s.desktops(g, name="named")
    d.ask("connect user=carol")
    d.ask("close")
    (x,) = told(log, 1)
    equal((x["key"], len(lines(old))), ("user:carol", n), "a name where names are asked for, in the new file alone")
    status = g.status()["session_log"]
    equal((status["condition"], status["lost"], status["written"]), ("ok", 0, n + 1), "the status of the log")

    os.mkfifo(pipe)                                          # nobody reads it: even to open it blocks
    g.reload(ini(s, hosts, servers, pipe))
    for _ in range(5):
        equal(d.ask("connect user=dave")["answer"], "confirm", "while the log blocks")
        d.ask("close")
    until("status says that it blocks", lambda: g.status()["session_log"]["condition"] == "blocked")
    got = []
    t = threading.Thread(target=lambda: got.extend(open(pipe).read().splitlines()), daemon=True)
    t.start()
    until("it is well by itself", lambda: g.status()["session_log"]["condition"] == "ok")
    g.reload(ini(s, hosts, servers, "off"))
    t.join(10)
    equal(len(got), 5, "what waited was not lost")
    d.ask("connect user=erin")
    d.ask("close")
    equal((g.status()["session_log"], len(lines(log))), (None, 1), "switched off")
    g.stop()
