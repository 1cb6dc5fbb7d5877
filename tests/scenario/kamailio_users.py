"""Two kamailio registrars that know nothing of each other, and baresip phones whose users are spread over both (key = user): everybody can call everybody,
since a call goes to the registrar of the user that it is for. Drained, a registrar is left by its phones when they renew, and they
are called where they are then."""
import re

from kamailio_baresip import DOMAIN, KAMAILIO, answers, command, controls, phone
from scenario import check, equal, free_port, need, until

TIMEOUT = 120


def registrar(s, name):
    port = free_port()
    with open(s.path(f"{name}.cfg"), "w") as f:
        f.write(KAMAILIO.replace("{disable_tcp}", "yes").replace("{tls}", 'modparam("registrar", "min_expires", 1)'))
    p = s.start(name, ["/usr/sbin/kamailio", "-DD", "-E", "-f", s.path(f"{name}.cfg"), "-P", s.path(f"{name}.pid"), "-Y", s.dir, "-m", "64", "-M", "8", "-l", f"udp:127.0.0.1:{port}"])
    return p, f"{name} udp://127.0.0.1:{port}"


def run(s):
    need("kamailio", "baresip")
    kams = dict(kam1=registrar(s, "kam1"), kam2=registrar(s, "kam2"))
    g = s.gateway(s.ini_gateway() + s.ini_sip([line for _, line in kams.values()], "probe = options\nprobe-interval = 500ms\nprobe-timeout = 2s\nprobe-rise = 1", "key = user"))
    for name, (p, _) in kams.items():
        answers(g, name, p)
    names = {}
    for n in range(40):                                     # two users whose slots belong to each
        names.setdefault(g.where(f"user:user{n}")["server"], []).append(f"user{n}")
    users = [names["kam1"][0], names["kam2"][0], names["kam1"][1], names["kam2"][1]]
    ports = controls(f"127.0.8.{n + 1}" for n in range(len(users)))
    phones = [phone(s, u, u, ports[n][0], g.at(), ports[n], "udp", renews=8) for n, u in enumerate(users)]
    until("all phones are registered", lambda: all("200 OK" in p.text() for p in phones))
    for n, u in enumerate(users):
        got = g.where(f"user:{u}")
        equal((got["server"], got["why"]), (f"kam{n % 2 + 1}", "bond"), f"where {u} is")
        check(re.search(r"SEEN REGISTER", kams[got["server"]][0].text()), f"{got['server']} saw no registration")

    def up(n):
        return len(re.findall(r"ESTABLISHED", command(ports[n], "listcalls")))

    def call(a, b):
        what = f"{users[a]} calls {users[b]}"
        command(ports[a], "dial", f"sip:{users[b]}@{DOMAIN}")
        until(f"{what}: it is up", lambda: (up(a), up(b)) == (1, 1), every=0.2)
        command(ports[a], "hangup")
        until(f"{what}: it is over", lambda: (up(a), up(b)) == (0, 0), every=0.2)

    for a, b in ((0, 1), (1, 0), (0, 2), (3, 2)):
        call(a, b)
    g.ctl("drain", "kam1")
    for n in (0, 2):
        until(f"{users[n]} is registered at kam2", lambda: g.where(f"user:{users[n]}")["server"] == "kam2", every=0.2)
    for a, b in ((1, 0), (0, 2), (3, 2)):
        call(a, b)
    until("no session is left", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
    g.stop()
