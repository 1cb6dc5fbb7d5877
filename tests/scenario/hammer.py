"""Mutated messages at full speed (tests/hammer: SIP over UDP and TCP, RDP openings; the servers behind answer as badly) beside calls and desktops that
live on. The gateway must not die, nor complain, nor grow; not an octet may reach an address that only a message named; no live call
or desktop may be lost or land at another server; no control octet of a peer may stand in the log. A program built with the address
sanitizer beside the plain one is taken (its gateway is slower and sees more)."""
import os, re, socket, time

from scenario import BARE, FULL, HERE, SLOW, Process, Skip, check, equal, free_port, until

SECONDS = int(os.environ.get("HOLDFAST_HAMMER_SECONDS") or (3600 if FULL else 30))
MESSAGES = 10_000_000 if FULL else 300_000         # of each kind, or until the time is up
TIMEOUT = SECONDS + 90
DATA = os.path.join(os.path.dirname(HERE), "data")
STRANGER, FROM = "127.0.66.20", "127.0.66.10"
GROWTH_KB = 96 * 1024                              # above the tables, which are there from the start; the sanitizer keeps 16 MB of freed memory


def program(s):
    plain = s.program("HOLDFAST_BIN", "holdfast")
    asan = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(plain))), "asan", "holdfast")
    return asan if os.access(asan, os.X_OK) else plain


def hammer_program():
    path = os.environ.get("HOLDFAST_HAMMER") or os.path.join(os.path.dirname(os.environ["HOLDFAST_BIN"]), "holdfast-hammer")
    if not os.access(path, os.X_OK):
        raise Skip(f"no {path}")
    return path


class Hammer(Process):
    def __init__(self, s, kind, gateway, folders, servers, n):
        self.kind, self.last = kind, s.path(f"last.{kind}")
        stranger = f"{STRANGER}:{free_port(STRANGER)}"
        super().__init__(s, f"hammer-{kind}", [hammer_program(), "-n", str(MESSAGES), "-t", str(SECONDS), "-r", str(n), "-f", FROM, "-x", stranger, "-l", self.last,
                                               *(x for a in servers for x in ("-s", a)), kind, gateway, *folders])
        time.sleep(0.2)
        check(self.alive(), f"{self.name} did not start:", self.text())

    def verdict(self):
        code, text = self.p.wait(30), self.text()
        got = {k: float(v) for k, v in re.findall(r"(\w+)=([\d.]+)", text.splitlines()[-1] if text else "")}
        if code == 3 and os.environ.get("HOLDFAST_TORTURE_OUT"):
            os.makedirs(os.environ["HOLDFAST_TORTURE_OUT"], exist_ok=True)
            os.replace(self.last, os.path.join(os.environ["HOLDFAST_TORTURE_OUT"], f"last.{self.kind}"))
        equal((code, got.get("strangers")), (0, 0.0), f"{self.name}: {text[-1500:]}")
        return got


def steady(s, g, phones, quiet, desktops, hammers):
    """lives on for as long as they hammer -> rounds"""
    rounds, changes = 0, (("drain", "sink1"), ("undrain", "sink1"), ("weight", "sink2", "7"), ("weight", "sink2", "file"))
    while any(h.alive() for h in hammers):
        check(g.alive(), "the gateway ended:", g.text()[-6000:])
        s.all_home(phones.ask("ask all"), f"live calls, round {rounds}")
        s.all_home(quiet.ask("call 30"), f"new calls, round {rounds}")
        s.all_home(quiet.ask("ask all method=INVITE"), f"re-INVITEs, round {rounds}")
        s.all_home(quiet.ask("bye all"), f"hanging up, round {rounds}")
        equal(desktops.ask("check")["same"], 40, f"live desktops, round {rounds}")
        got = desktops.ask(f"connect user=steady{rounds % 40} wait=20")
        equal((got["answer"], got["session"]), ("confirm", "again"), f"a desktop user comes back, round {rounds}: {got}")
        desktops.ask("close user=steady%d" % (rounds % 40))
        got = desktops.ask(f"connect user=steady{rounds % 40} wait=20")
        equal((got["answer"], got["session"]), ("confirm", "again"), f"a desktop user comes back, round {rounds}: {got}")
        g.ctl(*changes[rounds % len(changes)])
        rounds += 1
    return rounds


def tidy_log(g):
    with open(g.log, "rb") as f:
        for n, line in enumerate(f, 1):
            bad = re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", line.rstrip(b"\n"))
            check(not bad, f"a control octet in line {n} of the log:", repr(line[:300]))


def run(s):
    hammer_program()
    pbx, quiet_pbx, ts = [s.sip_server(f"pbx{i}") for i in (1, 2)], [s.sip_server(f"quiet{i}") for i in (1, 2)], [s.rdp_host(f"ts{i}") for i in (1, 2)]
    at = lambda i: f"127.0.66.{i}:{free_port(f'127.0.66.{i}')}"
    udp, tcp, rdp = [at(31), at(32)], [at(33)], [at(34), at(35)]
    head = s.ini_gateway(extra="max-holds = 512")
    small = "probe = none\nmax-entries = 20000"
    # redirect-rounds: each of the forty comes back every few seconds, as one whom his host redirects in a circle does
    ini = lambda sinks, hosts: (head + s.ini_sip([*pbx, *sinks], small, "own-names = lab.example\ntry-timeout = 2s", listen="udp://127.0.0.1:0 tcp://127.0.0.1:0")
                                + s.ini_sip(quiet_pbx, name="quiet", pool_name="quiet") + s.ini_rdp([*ts, *hosts], small + "\ndial-limit = 2s\non-down = hold 2s\nredirect-rounds = off", "handshake-timeout = 1s"))
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:quarantine_size_mb=16:" + os.environ.get("ASAN_OPTIONS", ""))
    g = s.gateway(ini([], []), program=program(s), env=env)
    phones, quiet, desktops = s.phones(g), s.phones(g, name="quiet-phones", service="quiet"), s.desktops(g)
    s.all_home(phones.ask("call 200"), "calls before")
    equal(desktops.ask("many 40 prefix=steady").get("confirm"), 40, "desktops before")
    g.reload(ini([f"sink1 {udp[0]}", f"sink2 {udp[1]}", f"sink3 tcp://{tcp[0]}"], [f"bad1 {rdp[0]}", f"bad2 {rdp[1]}"]))
    for name in ("pbx1", "pbx2", "ts1", "ts2"):
        g.ctl("drain", name)                                # they keep what they have; all that is new goes to the bad ones
    before = g.rss_kb()
    sip = [f"{DATA}/sip/extra", *4 * [os.path.join(os.path.dirname(HERE), "hammer", "seeds")]]      # good ones weigh as much as bad ones
    hammers = [Hammer(s, "udp", g.at("calls", "udp"), sip, udp, 1), Hammer(s, "tcp", g.at("calls", "tcp"), sip, tcp, 2), Hammer(s, "rdp", g.at("desktops"), [f"{DATA}/rdp"], rdp, 3)]
    rounds = steady(s, g, phones, quiet, desktops, hammers)
    got = {h.kind: h.verdict() for h in hammers}
    check(g.alive(), "the gateway ended:", g.text()[-6000:])
    s.all_home(phones.ask("ask all"), "live calls at the end")
    s.all_home(phones.ask("bye all"), "hanging up at the end")
    s.no_strangers()
    equal(desktops.stats()["split"], 0, "users with a second session")
    grown = g.rss_kb() - before
    check(not BARE or grown < GROWTH_KB, f"the gateway grew by {grown} kB")
    check(len(g.drops()) > 15, "refusals are told apart:", g.drops())
    tidy_log(g)
    g.stop()
    tidy_log(g)
    print("; ".join(f"{k} {v['sent']:.0f} sent, {v['answers']:.0f} answers, {v['servers']:.0f} at servers" for k, v in got.items()) + f"; {rounds} rounds, grew {grown} kB"
          + (", asan" if "/asan/" in program(s) else ""), end="")
