"""JsSIP in headless Chromium, over ws and wss, with two kamailio registrars that know nothing of each other: three pages register, call, and one transfers
with consultation, so that an INVITE with Replaces has to reach the registrar that has the named dialog's callee. All the pages have is their WebSocket;
their calls are ended from either side."""
import re

from _browser import Browser
from _certs import Authority
from kamailio_baresip import DOMAIN, answers
from kamailio_users import registrar
from scenario import equal, need, until

TIMEOUT = 150


def run(s):
    need("kamailio")
    browser = Browser(s)
    kams = dict(kam1=registrar(s, "kam1"), kam2=registrar(s, "kam2"))
    service = f"key = user\nws-origin = {browser.origin}\ntls-certificate = {Authority(s).make('gw', 'IP:127.0.0.1').line()}"
    g = s.gateway(s.ini_gateway() + s.ini_sip([line for _, line in kams.values()], "probe = options\nprobe-interval = 500ms\nprobe-rise = 1", service,
                                              listen="udp://127.0.0.1:0 ws://127.0.0.1:0 wss://127.0.0.1:0"))
    for name, (p, _) in kams.items():
        answers(g, name, p)
    names = {}
    for n in range(40):                                     # whose slots belong to which
        names.setdefault(g.where(f"user:user{n}")["server"], []).append(f"user{n}")
    for scheme in ("ws", "wss"):
        transfer(s, g, browser, scheme, [names["kam1"].pop(), names["kam2"].pop(), names["kam1"].pop()], kams)
    equal(g.drops().get("web-broken", 0) + g.drops().get("web-refused", 0), 0, "refused")


def invites(kamailio):
    return set(re.findall(r"SEEN INVITE (\S+)", kamailio.text()))


def transfer(s, g, browser, scheme, users, kams):
    a, b, c = pages = [browser.open() for _ in users]
    for page, user in zip(pages, users):
        page.run(f"start('{scheme}://{g.at('calls', scheme)}/', '{user}', '{DOMAIN}')")
    for page, user in zip(pages, users):
        page.waits("registered")
        equal(g.where(f"user:{user}")["why"], "bond", f"where {user} is")
    a.run(f"call('{users[1]}', '{DOMAIN}')")
    b.waits("called")
    a.waits("confirmed")
    a.run("calls[0].hold()")
    a.run(f"call('{users[2]}', '{DOMAIN}')")
    c.waits("called")
    a.waits("confirmed", 2)
    held = kams[g.where(f"user:{users[2]}")["server"]][0]   # who has the dialog that Replaces will name
    before = invites(held)
    a.run("calls[0].refer(calls[1].remote_identity.uri, {replaces: calls[1]})")
    b.waits("refer")
    c.waits("replaces")                                     # the INVITE with Replaces of the page that was asked to call
    c.waits("confirmed", 2)
    b.waits("confirmed", 2)
    equal(len(invites(held) - before), 1, "calls more at the server of the named dialog")
    a.run("calls.forEach(x => { if (!x.isEnded()) x.terminate() })")
    c.run("calls[calls.length - 1].terminate()")            # the callee of what is left hangs up
    b.waits("ended", 2)
    until("no session is left", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
    for page in pages:
        page.run("agent.stop()")
