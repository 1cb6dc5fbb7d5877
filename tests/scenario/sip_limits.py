"""Limits of new calls: a server's max-cps spills to the next, a service's answers 503 with Retry-After; what belongs to calls that are up, transfers and
emergency calls pass over them; holds that are full cost failover and no call. Without the limits all is answered; counted in the wrong place, live
calls are refused."""
import sys, time

from _ends import endpoint, hop, request
from scenario import PEERS, check, equal

sys.path.insert(0, PEERS)
from sip_text import Message


def opened(got, rate, seconds):
    """as many as a bucket of `rate` gives in that time, whose ends we know within a little"""
    return rate <= got <= rate * (1 + seconds) + 1


def a_server(s):
    a, b = s.sip_server("cps1"), s.sip_server("cps2")
    g = s.gateway(s.ini_gateway("cps") + s.ini_sip([(a, "max-cps=5"), b], "probe = none\nload-factor = off"), name="cps")
    phones = s.phones(g, name="cps-phones")
    begin = time.monotonic()
    got = phones.ask("call 100")
    s.all_home(got, "calls, of which one server takes few")
    check(opened(got["by_server"]["cps1"], 5, time.monotonic() - begin), "calls of the server with max-cps = 5:", got["by_server"])
    s.all_home(phones.ask("ask all"), "requests in calls")
    g.reload(s.ini_gateway("cps") + s.ini_sip([(a, "max-cps=5"), (b, "max-cps=5")], "probe = none\nload-factor = off"))
    time.sleep(1.1)                                     # the bucket of before is full again
    begin = time.monotonic()
    got = phones.ask("call 100")
    check(opened(got["answered"], 10, time.monotonic() - begin), "calls of two servers with max-cps = 5:", got)
    equal((got["answered"] + got["refused"].get("503", 0), got["lost"]), (100, 0), "all others are refused")
    s.all_home(phones.ask("call 10 user=112"), "emergency calls")
    s.all_home(phones.ask("ask all"), "requests in calls")
    s.all_home(phones.ask("bye all"), "hanging up")
    g.stop()


def a_service(s):
    a, b = s.sip_server("rate1"), s.sip_server("rate2")
    g = s.gateway(s.ini_gateway("rate") + s.ini_sip([a, b], "probe = none", service="max-cps = 20"), name="rate")
    phones = s.phones(g, name="rate-phones")
    begin = time.monotonic()
    got = phones.ask("call 200")
    check(opened(got["answered"], 20, time.monotonic() - begin), "calls of a service with max-cps = 20:", got)
    equal((got["answered"] + got["refused"].get("503", 0), got["lost"]), (200, 0), "all others are refused")
    live = phones.ask("calls")["calls"]
    for _ in range(3):
        phones.ask("call 100")                          # none is left, and calls that are up know nothing of it
        s.all_home(phones.ask("ask all method=INVITE"), "re-INVITEs while new calls are refused")
    got = phones.ask(f"call 1 replaces={live[0]['id']}")
    equal(got["by_server"], {live[0]["server"]: 1}, "a transfer while new calls are refused")
    s.all_home(phones.ask("call 10 user=112"), "emergency calls")
    s.all_home(phones.ask("call 10 uri=urn:service:sos.fire"), "emergency calls by name")
    begin = time.monotonic()
    got = phones.ask("call 100 user=112")
    check(got["answered"] <= 20 * (2 + time.monotonic() - begin), "a flood of emergency calls, which have as many a second as the others:", got)
    begin = time.monotonic()
    got = phones.ask("call 100 replaces=nobody@192.0.2.9")
    check(got["answered"] <= 20 * (2 + time.monotonic() - begin), "calls that name one which nobody knows, new ones like others:", got)
    while not got["answered"]:                          # the second may have been used up
        got = phones.ask("call 100 replaces=nobody@192.0.2.9")
    check(g.drops()["no-dialog"] >= got["answered"], "those of them that went on are counted:", g.drops())
    with endpoint()[0] as c:
        me = "%s:%d" % c.getsockname()
        for n in range(60):
            c.sendto(request(me, n, mark="rate"), hop(g.at()))
        refusal = Message(c.recv(65535))
        while refusal.code != 503:                      # of so many at once some are refused
            refusal = Message(c.recv(65535))
        check(refusal.get("retry-after") != "", "the refusal says when to ask again:", refusal)
    check(g.drops()["max-cps"] > 100, "refused calls are counted:", g.drops())
    s.all_home(phones.ask("bye all"), "hanging up, more at once than may be opened")
    g.stop()


def a_filled_service(s):
    """max-sessions of a service: new calls alone are refused; of services that share a pool the one without it goes on; who hangs up makes room"""
    a, b = s.sip_server("fill1"), s.sip_server("fill2")
    other = "[service trunk]\nprotocol = sip\nlisten = udp://127.0.0.1:0\npool = pbx\n\n"
    g = s.gateway(s.ini_gateway("fill") + other + s.ini_sip([a, b], "probe = none", service="max-sessions = 20"), name="fill")
    phones, trunk = s.phones(g, name="fill-phones"), s.phones(g, name="fill-trunk", service="trunk")
    held = lambda: next(x["sessions"] for x in g.status()["services"] if x["name"] == "calls")
    phones.ask("set t1=8")                               # refusals are counted: none is asked for twice
    got = phones.ask("call 80")
    check(20 <= got["answered"] <= 21, "calls of a service with max-sessions = 20, and two workers:", got)
    equal((got["refused"], got["lost"]), ({"503": 80 - got["answered"]}, 0), "all others are refused")
    equal((held(), g.drops()["max-sessions"]), (got["answered"], 80 - got["answered"]), "sessions, and refusals that are counted")
    live = phones.ask("calls")["calls"]
    s.all_home(phones.ask("ask all method=INVITE"), "re-INVITEs while new calls are refused")
    g.ctl("drain", "fill1")
    equal(phones.ask("call 5")["refused"], {"503": 5}, "sessions of a server that drains count")
    g.ctl("undrain", "fill1")
    equal(phones.ask(f"call 1 replaces={live[0]['id']}")["by_server"], {live[0]["server"]: 1}, "a transfer while new calls are refused")
    got = phones.ask("call 60 user=112")
    check(40 <= held() <= 41 and got["answered"] > 10, "emergency calls fill it to twice as many:", got)
    s.all_home(trunk.ask("call 30"), "calls of a service without max-sessions to the same pool")
    story = g.ctl("explain", "--service", "calls", "--from", "192.0.2.7", stdin=request("192.0.2.7:5060", 1, mark="fill").decode())["stories"][0]
    equal((story["server"], [x["reason"] for x in story["steps"] if "reason" in x]), (None, ["max-sessions"]), "a new call, explained")
    metrics = g.run_ctl("metrics").stdout
    for line in (f'holdfast_service_sessions{{service="calls"}} {held()}', 'holdfast_service_max_sessions{service="calls"} 20'):
        check(f"{line}\n" in metrics, line, metrics)
    check('holdfast_service_max_sessions{service="trunk"}' not in metrics, "no bound, no sample")
    for x in (phones, trunk):
        s.all_home(x.ask("ask all"), "requests in calls")
        s.all_home(x.ask("bye all"), "hanging up")
    s.all_home(phones.ask("call 20 window=1"), "calls when all have hung up")
    g.stop()


def full_holds(s):
    a, b = s.sip_server("full1"), s.sip_server("full2")
    g = s.gateway(s.ini_gateway("full", extra="max-holds = 10") + s.ini_sip([a, b], "probe = none"), name="full")
    phones = s.phones(g, name="full-phones")
    s.all_home(phones.ask("call 50 window=5"), "calls")
    equal(phones.ask("ring 100")["ringing"], 100, "calls that ring, of which ten or twenty can be held")
    s.all_home(phones.ask("ask all"), "requests in calls while no more can be held")
    s.all_home(phones.ask("call 20 window=5"), "calls that are not held")
    check(g.drops()["hold-limit"] > 50, "what was not held is counted:", g.drops())
    got = phones.ask("cancel")
    equal({k: v for k, v in got.items() if k != "ok"}, {"cancel-200": 100, "invite-487": 100}, "CANCEL of calls, held or not")
    s.all_home(phones.ask("bye all"), "hanging up")
    s.no_strangers(a, b)
    g.stop()


def run(s):
    for case in (a_server, a_service, a_filled_service, full_holds):
        case(s)
