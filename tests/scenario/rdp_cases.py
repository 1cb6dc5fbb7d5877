"""Classes of faults that users of other RDP balancers met, each by its number in tests/CASES.tsv, against the program: one function a case, and what has
to hold in its docstring. Those that literal octets can show are unit tests."""
import json, os, re, socket, subprocess, sys, time

from _ends import sessions
from scenario import PEERS, SLOW, check, equal, until

sys.path.insert(0, PEERS)
import rdp_text

TIMEOUT = 150
ALICE = rdp_text.request(b"Cookie: mstshash=alice")


def hop(g):
    host, port = g.at("desktops").rsplit(":", 1)
    return host, int(port)


def opened(g, octets=ALICE, at="127.0.0.1", wait=5):
    """a connection that has its Confirm"""
    c = socket.create_connection(hop(g), 5, (at, 0))
    c.settimeout(wait * SLOW)
    c.sendall(octets)
    got = c.recv(4096)
    check(got[5:6] == b"\xd0", f"no Confirm for {octets[:60]!r}:", repr(got))
    return c


def come(d, user, **k):
    got = d.ask(f"connect user={user} " + " ".join(f"{a}={b}" for a, b in k.items()))
    equal(got["answer"], "confirm", f"{user} {k}")
    return got["host"], got["session"]


def logged(s, c):
    """the session log's line of a connection that has ended"""
    source = "%s:%d" % c.getsockname()[:2]
    c.close()
    return until(f"the line of {source}", lambda: next((x for x in map(json.loads, open(s.path("sessions.jsonl")).read().splitlines()) if x["source"] == source), None))


def r17_a_name_a_none_another(s, g, hosts, d):
    """One address: who comes without a name goes where the one with a name went, the next name where its own bond is; and an operator sees all three, and why."""
    at = "127.0.5.1"
    home, _ = come(d, "stale", at=at)
    d.ask("close user=stale")
    name = next(n for n in (f"right{i}" for i in range(100)) if g.where(f"user:{n}", "farm")["server"] != home)
    own, _ = come(d, name, at="127.0.5.2")
    check(own != home, f"{name} was placed at {own}, as stale was")
    d.ask(f"close user={name}")
    got = d.ask(f"connect user=blank cookie=none at={at}")
    equal((got["answer"], got["host"]), ("confirm", home), "without a name")
    equal(come(d, name, at=at), (own, "again"), "with another name")
    rows = {x["key"]: x["server"] for x in g.ctl("sessions", "--pool", "farm")["pools"][0]["sessions"]}
    equal({k: rows.get(k) for k in ("user:stale", f"user:{name}", f"users-at:{at}", f"source:{at}")},
          {"user:stale": home, f"user:{name}": own, f"users-at:{at}": home, f"source:{at}": home}, "what is listed")
    told = g.ctl("explain", "--hex", "--service", "desktops", "--from", f"{at}:1", stdin=rdp_text.request().hex())["stories"][0]
    equal((told["server"], told["why"]), (home, "bond"), f"where a request without a name would go: {told['steps']}")
    d.ask("close")


def r29_second_leg(s, g, hosts, d):
    """A token brings the second leg to its host at once, while the first is still in half-close."""
    first = opened(g, rdp_text.request(b"Cookie: mstshash=legs"))
    first.shutdown(socket.SHUT_WR)
    target = next(h for h in hosts if ":" not in h.host and h.label != g.where("user:legs", "farm")["server"])    # a token that is not read leads to the first one's
    before, begin = target.stats()["requests"], time.monotonic()
    second = opened(g, rdp_text.request(rdp_text.token(target.host, target.port)))
    equal(target.stats()["requests"], before + 1, "requests at the token's host")
    check(time.monotonic() - begin < 8 * SLOW, "the second leg waited")
    first.close(), second.close()


def r37_another_port(s, g, hosts, d):
    """A token with a member's address and another port than its line has is told in words, by whoever counts, by `explain` and in the session log; and --check
    warns of a line without a port, which is where such a farm begins."""
    near = next(h for h in hosts if ":" not in h.host)
    octets = rdp_text.request(rdp_text.token(near.host, 1))
    before = {k: g.drops("desktops").get(k, 0) for k in ("token-outside", "token-port")}
    opened(g, octets).close()
    until("it is counted as both", lambda: {k: g.drops("desktops").get(k, 0) - n for k, n in before.items()} == {"token-outside": 1, "token-port": 1})
    said = [x["text"] for x in g.ctl("explain", "--hex", "--service", "desktops", stdin=octets.hex())["stories"][0]["steps"]]
    check(f"its token names {near.host}:1, which is no member of the pool ({near.label} has that address with port {near.port}): not heard" in said, "explain:", said)
    until("a line in the session log", lambda: any(json.loads(x)["facts"] == ["token-outside", "token-port"] for x in open(s.path("sessions.jsonl")).read().splitlines()))
    with open(s.path("bare.ini"), "w") as f:
        f.write(re.sub(rf"{near.label} [^\n ]*", f"{near.label} 192.0.2.21", ini(s, hosts, "")))
    r = subprocess.run([s.program("HOLDFAST_BIN", "holdfast"), "-c", s.path("bare.ini"), "--check"], capture_output=True, text=True, timeout=60)
    check(r.returncode == 0 and f"server {near.label}: no port is written, so 3389 is taken; a routing token names" in r.stderr, "--check:", r.returncode, r.stdout, r.stderr)


def r38_token_and_ipv6(s, g, hosts, d):
    """A token's 32 bits are an IPv4 address, also in a farm with a host whose IPv6 address ends in them: it names nobody, and the next key decides."""
    six = next(h for h in hosts if ":" in h.host)
    before = g.drops("desktops").get("token-outside", 0)
    c = opened(g, rdp_text.request(rdp_text.token("0.0.0.1", six.port) + b"\r\nCookie: mstshash=sixer"))
    until("a token that names nobody is counted", lambda: g.drops("desktops").get("token-outside", 0) == before + 1)
    c.close()
    line = g.ctl("token", "--server", six.label)["token"].partition("loadbalanceinfo:s:")[2].encode()
    before = six.stats()["requests"]
    opened(g, rdp_text.request(line)).close()
    equal(six.stats()["requests"], before + 1, "requests at the host of IPv6 that a signed token names")


def r40_r41_r44_reloads(s, g, hosts, d):
    """Twenty reloads in a row under live desktops: none is cut, each user that leaves and returns finds the old session, and the counts, of users and of connections, and the
    times are what they were: of who came back, not of who stayed, it is known that he was seen since."""
    got = d.ask("many 60 prefix=reload")
    equal(got.get("confirm"), 60, "users")
    before = sum(sessions(g).values())
    flows = lambda: sum(x["flows"] for x in g.ctl("servers")["servers"])
    open_ = until("all are open", lambda: flows() if flows() >= 60 else 0)
    row = lambda user: next(x for x in g.ctl("sessions", "--pool", "farm")["pools"][0]["sessions"] if x["key"] == f"user:{user}")
    until("they are older than a second", lambda: row("reload15")["since_s"] >= 1)
    for i in range(20):
        g.reload()
        if i % 5 == 0:
            d.ask(f"close user=reload{i}")
            equal(come(d, f"reload{i}")[1], "again", f"reload{i} after {i + 1} reloads")
    equal(d.ask("check user=reload30")["same"], 1, "a desktop that lived on")
    equal(d.ask("check")["lost"], 0, "desktops that were cut")
    equal(sum(sessions(g).values()), before, "sessions after twenty reloads")
    until("as many connections as before", lambda: flows() == open_)
    came, stayed = row("reload15"), row("reload16")
    check(came["since_s"] > came["seen_s"] and stayed["seen_s"] == stayed["since_s"], "when they were seen:", came, stayed)
    d.ask("close")


def r45_linger_from_the_end(s, g, hosts, d):
    """The time of a bond begins when the last connection ends, not when it began: held for longer than linger, then gone for less."""
    home, _ = come(d, "linger")
    time.sleep(6.5)                                         # linger is 6 s
    equal(g.where("user:linger", "farm")["why"], "bond", "while it is connected")
    d.ask("close user=linger")
    time.sleep(1)
    equal(come(d, "linger"), (home, "again"), "back within linger")
    d.ask("close user=linger")
    until("the bond ends", lambda: g.where("user:linger", "farm")["why"] != "bond")


def r46_a_bond_is_shown(s, g, hosts, d):
    """Of a bond can be seen by which rule, where, since when, when it was used last, and until when."""
    home, _ = come(d, "shown")
    row = lambda: next(x for x in g.ctl("sessions", "--pool", "farm")["pools"][0]["sessions"] if x["key"] == "user:shown")
    until("it is older than a second", lambda: row()["since_s"] >= 1)
    equal((row()["server"], row()["state"], row()["why"] in ("home", "spill")), (home, "connected", True), "her bond, listed")
    d.ask("close user=shown")
    until("it lingers", lambda: row()["state"] == "lingering")
    until("it was seen a second ago", lambda: row()["seen_s"] >= 1)
    got = row()
    check(got["since_s"] > got["seen_s"] and 0 < got["expires_s"] <= 10, "begun before it was seen last:", got)
    got = g.where("user:shown", "farm")
    equal((got["server"], got["why"]), (home, "bond"), "where user:shown")
    check(0 < got["expires_s"] <= 10, "its expiry:", got)


def r57_r32_quiet_desktops(s, g, hosts, d):
    """The handshake's deadline ends with the request: a desktop without a byte lives on, and no other timer fires. That it proved nothing and that nobody
    followed it, as who is redirected would, is in its line of the session log."""
    c = opened(g, rdp_text.request(b"Cookie: mstshash=quiet"))
    time.sleep(2.5 * SLOW)                                  # handshake-timeout is 1 s
    c.sendall(b"who\n")
    check(c.recv(100).startswith(b"host "), "a quiet desktop was cut")
    x = logged(s, c)
    equal((x["proved"], x["reason"], "legs" in x, "follows" in x), (False, "done", False, False), f"its line: {x}")


def r60_not_to_two(s, g, hosts, d):
    """A host that took the connection and ended it without an answer has had the request: nobody else gets it too."""
    for h in hosts:
        h.ask("set mode=close")
    before = sum(h.stats()["requests"] for h in hosts)
    with socket.create_connection(hop(g), 5) as c:
        c.settimeout(10 * SLOW)
        c.sendall(rdp_text.request(b"Cookie: mstshash=onlyonce"))
        equal(c.recv(100), b"", "the answer of a host that says nothing")
        equal(logged(s, c)["failovers"], 0, "other hosts that were tried")
    equal(sum(h.stats()["requests"] for h in hosts), before + 1, "requests at all hosts")
    for h in hosts:
        h.ask("set mode=confirm")


def h10_refused_by_its_host(s, g, hosts, d):
    """What a host does not like of the client's offer comes back as the host said it and is the host's in the log; the bond there stays, and so does the host."""
    home, _ = come(d, "carol")
    d.ask("close user=carol")
    host = next(h for h in hosts if h.label == home)
    host.ask("set mode=failure.2")
    with socket.create_connection(hop(g), 5) as c:
        c.settimeout(10 * SLOW)
        c.sendall(rdp_text.request(b"Cookie: mstshash=carol", b"\x01\x02\x08\x00\x1b\x00\x00\x00"))
        equal(c.recv(100), rdp_text.failure(2), "the host's answer")
        x = logged(s, c)
    equal((x["server"], x["why"], x["facts"], x["failovers"]), (home, "bond", ["neg-failure"], 0), "its line")
    there = g.where("user:carol", "farm")
    equal((g.state(home), there["server"], there["why"]), ("up", home, "bond"), "the host, and where carol belongs")
    host.ask("set mode=confirm")
    equal(come(d, "carol"), (home, "again"), "carol, when her host takes her")
    d.ask("close user=carol")


def h01_eleven_blanks(s, g, hosts, d):
    """Eleven octets that are no header, and a good cookie line behind them: not RDP."""
    with socket.create_connection(hop(g), 20) as c:
        c.settimeout(10 * SLOW)
        c.sendall(b" " * 11 + b"Cookie: mstshash=alice\r\n")
        try:
            equal(c.recv(100), b"", "the answer to eleven blanks")
        except ConnectionError:
            pass


def h11_a_slow_sender_costs_nothing(s, g, hosts, d):
    """One octet of a request and then silence: the gateway sleeps until the deadline."""
    def cpu():
        with open(f"/proc/{g.pid}/stat") as f:
            return sum(int(x) for x in f.read().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK")
    slow = []
    for n in range(20):
        c = socket.create_connection(hop(g), 5, (f"127.0.2.{n + 1}", 0))
        c.sendall(ALICE[:1])
        slow.append(c)
    before = cpu()
    time.sleep(0.8)
    check(cpu() - before < 0.2 * SLOW, f"{cpu() - before:.2f} s of processor in 0.8 s")
    for c in slow:
        c.close()


def r62_a_scanner(s, g, hosts, d):
    """Hundreds of requests of one source that end at the Confirm leave no bond, and a user of that name keeps hers."""
    home, _ = come(d, "administrator", at="127.0.3.1")
    for n in range(150):
        c = opened(g, rdp_text.request(b"Cookie: mstshash=Administr" if n % 2 else b"Cookie: mstshash=scan%d" % n), at="127.0.3.2")
        c.close()
    equal(come(d, "administrator", at="127.0.3.1"), (home, "again"), "the real user after the scan")
    until("nothing is left of the scan", lambda: sum(sessions(g).values()) <= 20)
    check(g.where("user:scan10", "farm")["why"] != "bond", "a scanner's name is bound")
    d.ask("close")


def keep_alive_in(local, remote):
    """seconds until the system asks the other end of a connection of IPv4 (ports; proc(5)); 0: never; None: something else is under way"""
    with open("/proc/net/tcp") as f:
        for line in f.readlines()[1:]:
            x = line.split()
            if (local, remote) == (local and int(x[1][9:], 16), int(x[2][9:], 16)) and x[3] == "01":
                kind, ticks = x[5].split(":")
                return {"00": 0, "02": int(ticks, 16) / os.sysconf("SC_CLK_TCK")}.get(kind)
    return None


def r58_keep_alives(s, g, hosts, d):
    """Both ends of a relayed connection are asked after keep-alive of silence (60 s unless said otherwise, well under the 200 s of middle boxes), or never."""
    host = hosts[0]
    for words, least, most in (("", 30, 60), ("keep-alive = 9s", 1, 9), ("keep-alive = off", 0, 0)):
        if words:
            g.reload(ini(s, hosts, words))
        with opened(g, rdp_text.request(rdp_text.token(host.host, host.port))) as c:
            c.sendall(b"who\n")
            check(c.recv(4096), "no echo")
            for side, ports in (("client", (hop(g)[1], c.getsockname()[1])), ("host", (0, host.port))):
                until(f"{words}: the {side} is asked in {least} to {most} s", lambda: least <= (-1 if (x := keep_alive_in(*ports)) is None else x) <= most)
    g.reload(ini(s, hosts, ""))


CASES = (r58_keep_alives, r17_a_name_a_none_another, r29_second_leg, r37_another_port, r38_token_and_ipv6, r40_r41_r44_reloads, r45_linger_from_the_end, r46_a_bond_is_shown, r57_r32_quiet_desktops, r60_not_to_two, h10_refused_by_its_host, h01_eleven_blanks, h11_a_slow_sender_costs_nothing, r62_a_scanner)


def ini(s, hosts, more):
    return s.ini_gateway(extra=f"session-log = {s.path('sessions.jsonl')}") + s.ini_rdp(hosts, f"probe = none\nlinger = 6s\non-down = move\n{more}", "handshake-timeout = 1s")


def run(s):
    hosts = [s.rdp_host(f"ts{i}", "[::1]:0" if i == 3 else "127.0.0.1") for i in (1, 2, 3)]
    g = s.gateway(ini(s, hosts, ""))
    d = s.desktops(g)
    for case in CASES:
        case(s, g, hosts, d)
    g.stop()
    print(f"{len(CASES)} cases", end="")
