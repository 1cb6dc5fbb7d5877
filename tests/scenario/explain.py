"""What `explain` says of a message is what then happens to it, for SIP over UDP and for RDP, while servers fill up, drain and are off; and asking
changes nothing. With a second copy of any rule the two differ at the first spill; with an act that is done they differ in what is remembered."""
import glob, json, os, select, socket, subprocess

from scenario import check, equal, until

TIMEOUT = 150


def explain(s, g, octets, *args, want=0):
    r = subprocess.run([s.program("HOLDFASTCTL", "holdfastctl"), "-s", g.socket, "--json", "explain", *args], input=octets, capture_output=True, timeout=60)
    check(r.returncode == want, f"explain {args}: exit {r.returncode}:", r.stdout.decode(), r.stderr.decode())
    return json.loads(r.stdout)["stories"] if want == 0 else None


def invite(n, to_tag="", more=""):
    return (f"INVITE sip:bob@lab.example SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bK{n}\r\nMax-Forwards: 70\r\nFrom: <sip:a@lab.example>;tag=f{n}\r\n"
            f"To: <sip:bob@lab.example>{to_tag}\r\nCall-ID: call-{n}@lab.example\r\nCSeq: 1 INVITE\r\nContact: <sip:a@127.0.0.1:9>\r\n{more}Content-Length: 0\r\n\r\n").encode()


def request(user):
    line = f"Cookie: mstshash={user}\r\n".encode() + bytes.fromhex("0100080003000000")
    return bytes((3, 0, 0, 11 + len(line), 6 + len(line), 0xE0, 0, 0, 0, 0, 0)) + line


class Udp:
    def __init__(self, label):
        self.label, self.s = label, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.bind(("127.0.0.1", 0))
        self.at = "127.0.0.1:%d" % self.s.getsockname()[1]


class Tcp:
    def __init__(self, label):
        self.label, self.s = label, socket.socket()
        self.s.bind(("127.0.0.1", 0))
        self.s.listen(64)
        self.at = "127.0.0.1:%d" % self.s.getsockname()[1]


def who_got(servers):
    ready = select.select([x.s for x in servers], [], [], 20)[0]
    equal(len(ready), 1, "servers that something came to")
    return next(x for x in servers if x.s is ready[0])


def entries(g, pool):
    return next((p["entries"], p["exceptions"]) for p in g.status()["pools"] if p["name"] == pool)


def slots(g):
    return {x["name"]: x["slots"] for x in g.ctl("servers")["servers"]}


def calls(s, g, servers):
    phone = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    phone.bind(("127.0.0.1", 0))
    phone.connect((g.at().rpartition(":")[0], int(g.at().rpartition(":")[2])))
    me = "127.0.0.1:%d" % phone.getsockname()[1]
    whys, home = {}, slots(g)["pbx1"]
    for n in range(90):
        if n in (30, 60):
            g.ctl("drain" if n == 30 else "undrain", "pbx1")
            until("the slots have followed", lambda: slots(g)["pbx1"] == (0 if n == 30 else home))
        before = entries(g, "pbx")
        more = f"Replaces: call-{n - 7}@lab.example;to-tag=x;from-tag=y\r\n" if n % 10 == 9 else ""
        told = explain(s, g, invite(n, more=more), "--from", me)
        equal(len(told), 1, "services that would take it")
        equal(entries(g, "pbx"), before, f"entries after explaining call {n}")
        phone.send(invite(n, more=more))
        got = who_got(servers)
        got.s.recv(65536)
        equal(told[0]["server"], got.label, f"call {n} ({told[0]['why']}): told, and done")
        again = explain(s, g, invite(n, more=more), "--from", me)
        equal(again[0]["server"], got.label, f"call {n}, told again")
        whys[told[0]["why"]] = whys.get(told[0]["why"], 0) + 1
    check({"home", "spill", "dialog"} <= set(whys), "every way to be placed was seen:", whys)
    steps = told[0]["steps"]
    check(steps and all(x["text"] for x in steps), "every step has its words:", steps)


def desktops(s, g, hosts):
    at = g.at("desktops")
    open_ones = []
    for n in range(40):
        told = explain(s, g, request(f"user{n % 30}").hex().encode(), "--hex", "--from", "127.0.0.1")
        c = socket.create_connection((at.rpartition(":")[0], int(at.rpartition(":")[2])))
        c.sendall(request(f"user{n % 30}"))
        got = who_got(hosts)
        open_ones += [c, got.s.accept()[0]]
        equal(told[0]["server"], got.label, f"user{n % 30} ({told[0]['why']}): told, and done")
        equal(told[0]["why"] == "bond", n >= 30, "a user who was there is bound")
    for c in open_ones:
        c.close()
    until("all have ended", lambda: sum(g.drops("desktops").values()) == 40)


def r28_collections(s, g):
    """A request without a collection is told so, one with a collection that it is passed on; neither decides."""
    def said(line):
        line = line + b"\r\n" + bytes.fromhex("0100080003000000")
        return explain(s, g, bytes((3, 0, 0, 11 + len(line), 6 + len(line), 0xE0, 0, 0, 0, 0, 0)) + line, "--service", "desktops")[0]["steps"]
    plain, named = said(b"Cookie: mstshash=alice"), said(b"tsv://MS Terminal Services Plugin.1.Sales")
    equal([x["text"] for x in plain if x["step"] == "message"], ["no collection in the request: it has no token"], "a request without one")
    check("names a collection" in named[0]["text"] and any("source:" in x["text"] for x in named), "a request with one:", named)


def hostile(s, g):
    """every message of the sets, as it is: an answer, and nothing remembered"""
    data = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
    before = g.status()
    files = sorted(glob.glob(f"{data}/sip/extra/*.sip") + glob.glob(f"{data}/rdp/*.hex"))
    check(len(files) > 150, "messages:", len(files))
    for path in files:
        with open(path, "rb") as f:
            octets = f.read()
        octets = octets if path.endswith(".hex") else octets.hex().encode()
        if octets.strip() and len(octets) <= 2 * 65536:
            explain(s, g, octets, "--hex")
            explain(s, g, octets, "--hex", "--via", "tcp", "--from", "127.0.0.9:1")
    after = g.status()
    for x in ("parcels", "drops"):
        equal([v[x] for v in after["services"]], [v[x] for v in before["services"]], f"{x} after explaining")
    equal([p["entries"] for p in after["pools"]], [p["entries"] for p in before["pools"]], "entries after explaining")


def by_another_key(s, servers):
    g = s.gateway(s.ini_gateway("other") + s.ini_sip(servers, "probe = none", "key = from-user call-id"), name="other")
    place = [x for x in explain(s, g, invite(1))[0]["steps"] if x["step"] == "place"]
    check(len(place) == 1 and "from-user:a," in place[0]["text"], "what places it:", place)
    g.stop()
    # a Call-ID that is typed is placed as its call is: by so many octets as key-length says, or by none where `key` has nothing of it
    for key, by in (("call-id\nkey-length = 6", "call-id:call-1,"), ("token:0:4", "token:call,"), ("user", "fallback")):
        g = s.gateway(s.ini_gateway("typed") + s.ini_sip(servers, "probe = none", f"key = {key}"), name="typed")
        for n in range(10, 20):
            told, where = explain(s, g, invite(n))[0], g.where(f"call-id:call-{n}@lab.example")
            text = str(g.ctl("explain", f"call-id:call-{n}@lab.example")["stories"][0])
            check(by in text, "what places a key that is typed:", text)
            equal((where["server"], where["slot"] is None) if by != "fallback" else (where["why"], where["slot"]), (told["server"], False) if by != "fallback" else ("fallback", None), key)
        g.stop()


def run(s):
    # the servers never answer: a call must not go to another one of them while we look
    servers, hosts = [Udp(f"pbx{i}") for i in (1, 2, 3)], [Tcp(f"ts{i}") for i in (1, 2, 3)]
    g = s.gateway(s.ini_gateway() + s.ini_sip(servers, "probe = none\nload-factor = 1.1", "failover = no") + s.ini_rdp(hosts, "probe = none\nload-factor = 1.1"))
    calls(s, g, servers)
    desktops(s, g, hosts)
    r28_collections(s, g)
    hostile(s, g)
    by_another_key(s, servers)
    told = explain(s, g, b"\xff" * 40)                           # nobody's: every service says why
    equal([x["steps"][-1]["step"] in ("drop", "close") for x in told], [True, True], "octets of no protocol")
    equal([x["service"] for x in told], ["calls", "desktops"], "services")
    lines = invite(1000).decode().replace("\r\n", "\n").rstrip("\n").encode()   # as it is pasted
    equal(explain(s, g, lines)[0]["steps"][0]["key"], "call-id:call-1000@lab.example", "the key of pasted lines")
    for octets, args in ((b"", ()), (b"x" * 65537, ()), (b"0g", ("--hex",)), (b"030", ("--hex",))):
        explain(s, g, octets, *args, want=2)
    dump = b"00000000: 0300 0013 0ee0 0000 0000 0001 0008 0003  ................\n00000010: 0000 00                                  ...\n"
    check(str(explain(s, g, dump, "--hex", "--service", "desktops")[0]) == str(explain(s, g, b"0300 0013 0ee0 0000 0000 0001 0008 0003 000000", "--hex", "--service", "desktops")[0]),
          "a dump is read as the octets that it shows")
    explain(s, g, b"", "--hex", "0300", want=2)                  # the octets stand on standard input; nobody's key is 0300
    explain(s, g, b"x", "--service", "nobody", want=1)
    explain(s, g, b"\r\n" * 32768, "--via", "tcp")               # as long as may be
    text = subprocess.run([s.program("HOLDFASTCTL", "holdfastctl"), "-s", g.socket, "explain"], input=invite(2000), capture_output=True, timeout=60).stdout.decode()
    check("slot" in text and "taken" in text and "=  " in text, "for people:", text)
    # read as it was written; what a terminal would act on is escaped, once
    text = subprocess.run([s.program("HOLDFASTCTL", "holdfastctl"), "-s", g.socket, "explain"], input=invite(1).replace(b"call-1@lab.example", b'CORP\\alice"'), capture_output=True,
                          timeout=60).stdout
    check(b'the key is call-id:CORP\\alice", fingerprint' in text, "a key for people:", text)
    for typed, shown in ((r"CORP\alice", r"CORP\alice"), ("m\u00fcller", r"m\xc3\xbcller")):
        r = g.run_ctl("where", "--pool", "pbx", f"call-id:{typed}")
        check(f"call-id:{shown} would go to" in r.stdout, "a key for people:", r.stdout, r.stderr)
        r = g.run_ctl("drain", f"pbx/{typed}\x7f")
        check(r.returncode == 1 and rf"{shown}\x7f" in r.stderr, "what was typed, in a refusal:", repr(r.stderr))
