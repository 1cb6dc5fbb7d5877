"""RDP over UDP: the SYN of a client reaches the host of its connection, by the connection's id in either order or as the only one of its address; all that
follows goes both ways as it is, whichever workers the two came to. Nothing goes anywhere for what belongs to no connection; and it ends with its connection,
with its listener, and when it is silent."""
import json, os, socket, subprocess

from _desk import Host, WAIT, confirmed
from scenario import check, equal, until

import rdp_text

TIMEOUT = 120
NEGOTIATION = b"\x01\x00\x08\x00\x0b\x00\x00\x00"


def with_id(user, ident):
    body = b"Cookie: mstshash=" + user.encode() + b"\r\n\x01\x08\x08\x00\x0b\x00\x00\x00\x06\x00\x24\x00" + ident + bytes(16)
    return bytes([3, 0, 0, 11 + len(body), 6 + len(body), 0xE0, 0, 0, 0, 0, 0]) + body


def syn(ident=None, number=0x11223344):
    head = b"\xff\xff\xff\xff\x00\x40" + (0x0801 if ident else 1).to_bytes(2, "big") + number.to_bytes(4, "big") + b"\x04\xd0\x04\xd0" + (ident or b"")
    return head + bytes(1232 - len(head))


def turned(ident):
    return ident[3::-1] + ident[5:3:-1] + ident[7:5:-1] + ident[8:]


class Both(Host):
    """a host that listens on UDP at its port too"""
    def __init__(self, label):
        super().__init__(label)
        self.u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.u.bind(self.s.getsockname())
        self.u.settimeout(WAIT)

    def datagram(self):
        return self.u.recvfrom(65536)

    def silent(self):
        self.u.setblocking(False)
        try:
            got = self.u.recvfrom(65536)
            check(False, f"{self.label} got", repr(got[0][:32]))
        except BlockingIOError:
            pass
        self.u.settimeout(WAIT)


class Farm:
    def __init__(self, s, name="gateway", listen="tcp://127.0.0.1:0 udp://127.0.0.1:0", to=None):
        """to: where its clients come to, if that is not what it listens on"""
        self.s, self.name, self.listen, self.to = s, name, listen, to
        self.hosts = [Both(f"ts{i}") for i in (1, 2)]
        self.log = s.path(f"{name}.sessions")
        self.g = s.gateway(self.ini(), name=name)

    def place(self, transport):
        host, port = self.g.at("desktops", transport).rsplit(":", 1)
        return self.to or host.strip("[]"), int(port)

    def ini(self, listen=None):
        return (self.s.ini_gateway(self.name, workers=4, extra=f"session-log = {self.log}") +
                self.s.ini_rdp(self.hosts, "probe = none\nload-factor = off", "udp-idle = 5s", listen=listen or self.listen))

    def desktop(self, user, source, request=None):
        """(the client's connection, the host's end, the host)"""
        c = socket.create_connection(self.place("tcp"), WAIT, (source, 0))
        c.sendall(request or rdp_text.request(rdp_text.cookie(user.encode())))
        for h in self.hosts:
            h.s.settimeout(0.01)
        end, at = until("a host has the request", self.accepted)
        at.s.settimeout(WAIT)
        return confirmed(c), end, at

    def accepted(self):
        for h in self.hosts:
            try:
                return h.accept(), h
            except socket.timeout:
                pass

    def client(self, source):
        u = socket.socket(socket.AF_INET6 if ":" in source else socket.AF_INET, socket.SOCK_DGRAM)
        u.bind((source, 0))
        u.settimeout(WAIT)
        u.connect(self.place("udp"))
        return u

    def service(self):
        return next(x for x in self.g.status()["services"] if x["name"] == "desktops")

    def drops(self):
        return self.service()["drops"]

    def dropped(self, reason, what, send):
        before = self.drops().get(reason, 0)
        send()
        until(what, lambda: self.drops().get(reason, 0) == before + 1)
        for h in self.hosts:
            h.silent()


def opened(u, host, datagram):
    """a transport through its first three datagrams; the host's name for its client"""
    u.send(datagram)
    got, at = host.datagram()
    equal(got, datagram, "the SYN at the host")
    answer = b"\x11\x22\x33\x44\x00\x40\x00\x05" + bytes(1224)
    host.u.sendto(answer, at)
    equal(u.recv(65536), answer, "the host's answer")
    u.send(b"shown")
    equal(host.datagram(), (b"shown", at), "the client's second datagram")
    return at


def r66_by_id_and_by_source(s, f):
    """Bound when the id matches a live request, in either order, also where the source has several sessions; else the only session of the source."""
    ids = [bytes([0xA0 + i]) + bytes(range(16 * i + 1, 16 * i + 16)).replace(b"\r", b"\x0e") for i in range(6)]
    open_ = [f.desktop(f"user{i}", "127.0.5.1", with_id(f"user{i}", ids[i])) for i in range(6)]
    for i, (_, _, host) in enumerate(open_):
        u = f.client("127.0.5.1")
        opened(u, host, syn(turned(ids[i]) if i % 2 else ids[i], i))
        u.close()
    u = f.client("127.0.5.1")
    f.dropped("many-sessions", "a SYN without id of a source with six sessions", lambda: u.send(syn()))
    u.close()
    one = f.desktop("single", "127.0.5.2")
    u = f.client("127.0.5.2")
    at = opened(u, one[2], syn(bytes(range(0x41, 0x51))))    # an id that no request brought
    for n in (1, 2, 1232, 9000):
        u.send(os.urandom(1) * n)
        equal(len(one[2].datagram()[0]), n, "octets up")
        one[2].u.sendto(bytes(n), at)
        equal(len(u.recv(65536)), n, "octets down")
    return open_ + [one], u


def is_shown(f):
    """status and metrics count what is open and what was"""
    equal(f.service()["datagram_flows"], 7, "flows of datagrams that are open")
    check("7 flows of datagrams" in f.g.run_ctl("status").stdout, "the status for people")
    text = f.g.run_ctl("metrics").stdout
    for name in ("holdfast_datagram_flows_open", "holdfast_datagram_flows_total"):
        check(f'{name}{{service="desktops"}} 7\n' in text, name, text)


def is_explained(f, home):
    """which connection a datagram would belong to, without sending it; without --via a request of a connection is meant"""
    def explain(datagram, source, *via):
        r = subprocess.run([f.s.program("HOLDFASTCTL", "holdfastctl"), "-s", f.g.socket, "--json", "explain", "--hex", "--from", source, *via], input=datagram.hex(),
                           capture_output=True, text=True, timeout=60)
        check(r.returncode == 0, "explain:", r.stderr)
        return json.loads(r.stdout)["stories"][0]
    x = explain(syn(), "127.0.5.2", "--via", "udp")
    equal((x["server"], x["steps"][0]["step"], x["transport"]), (home, "session", "udp"), "a SYN of a source with one session")
    equal([y["reason"] for y in explain(syn(), "127.0.5.1", "--via", "udp")["steps"]], ["many-sessions"], "a SYN of a source with several")
    equal([y["reason"] for y in explain(bytes(20), "127.0.5.2", "--via", "udp")["steps"]], ["udp-no-flow"], "no SYN")
    equal(explain(rdp_text.request(b"Cookie: mstshash=x"), "127.0.5.2")["transport"], "tcp", "a request")


def is_told(s, f):
    """each has a line in the session log, with its octets and why it ended"""
    got = [x for x in (json.loads(x) for x in open(f.log)) if x.get("transport") == "udp"]
    ended = {x["source"].rsplit(":", 1)[0]: x for x in got}
    equal((ended["127.0.6.3"]["reason"], ended["127.0.6.3"]["octets_up"], ended["127.0.6.3"]["octets_down"]), ("session-ended", 1237, 1242), "the line of one")
    equal((ended["127.0.5.2"]["reason"], ended["127.0.5.6"]["reason"]), ("silent", "listener-removed"), "other ends")
    check(all(x["server"] in ("ts1", "ts2") and x["service"] == "desktops" and x["begin"].endswith("Z") for x in got), "lines:", got)


def r65_bound_or_dropped(s, f):
    """What belongs to no live connection reaches nobody and is answered by nobody, and is counted."""
    u = f.client("127.0.5.9")
    f.dropped("no-session", "a SYN of a source without a session", lambda: u.send(syn()))
    f.dropped("udp-no-flow", "a datagram that opens nothing", lambda: u.send(b"\x16\xfe\xff" + bytes(40)))
    f.dropped("udp-short", "a short SYN", lambda: u.send(syn()[:16]))
    u.setblocking(False)
    try:
        check(False, "an answer:", repr(u.recv(65536)))
    except BlockingIOError:
        pass
    u.close()


def ends_with_its_session(s, f, source="127.0.5.3"):
    """whichever workers the two came to: of several one pair at least came to different ones"""
    c, end, host = f.desktop("leaver", source)
    u = f.client(source)
    at = opened(u, host, syn())
    before = f.service()["flows"]
    c.close(), end.close()
    until("the session has ended", lambda: f.service()["flows"] < before)
    host.u.sendto(b"last words", at)
    equal(u.recv(65536), b"last words", "what the host says behind it")
    f.dropped("udp-no-flow", "what the client says behind it", lambda: u.send(bytes(20)))
    u.close()


def no_more_than_was_sent(s, f):
    """A client that has not shown that it receives gets three times what it sent at most."""
    c, end, host = f.desktop("forged", "127.0.5.4")
    u = f.client("127.0.5.4")
    u.send(syn())
    at = host.datagram()[1]
    for i in range(9):
        host.u.sendto(bytes([i]) * 1232, at)
    until("what is too much is held back", lambda: f.drops().get("unproven", 0) == 6)
    equal([len(u.recv(65536)) for _ in range(3)], [1232] * 3, "what came")
    u.send(b"shown")
    equal(host.datagram()[0], b"shown", "its second datagram")
    for i in range(9):
        host.u.sendto(bytes(1232), at)
    equal(sum(len(u.recv(65536)) for _ in range(9)), 9 * 1232, "all of it from now on")
    c.close(), end.close(), u.close()


def a_host_without_udp(s, f):
    """The system says that nobody listens there: it ends at once, and the client's next SYN is tried anew."""
    c, end, host = f.desktop("refused", "127.0.5.5")
    host.u.close()
    u = f.client("127.0.5.5")
    before = f.drops().get("server-error", 0)
    u.send(syn())
    until("the transport has ended", lambda: f.drops().get("server-error", 0) == before + 1)
    host.u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    host.u.bind(host.s.getsockname())
    host.u.settimeout(WAIT)
    opened(u, host, syn())
    c.close(), end.close(), u.close()


def silence(s, f, u):
    until("all of them are silent for too long", lambda: f.drops().get("silent", 0) >= 7)
    f.dropped("udp-no-flow", "what comes behind it", lambda: u.send(bytes(20)))


def drain_and_off(s, f):
    """Who is at a host that drains stays; a host that is switched off is spoken to no more."""
    c, end, host = f.desktop("drained", "127.0.5.7")
    u = f.client("127.0.5.7")
    f.g.ctl("drain", host.label)
    opened(u, host, syn())
    before = f.drops().get("server-off", 0)
    f.g.ctl("off", host.label)
    until("both have ended", lambda: f.drops().get("server-off", 0) >= before + 2)
    f.dropped("udp-no-flow", "what comes behind it", lambda: u.send(bytes(20)))
    f.g.ctl("on", host.label), f.g.ctl("undrain", host.label)
    c.close(), end.close(), u.close()


def other_listeners(s):
    """An address of several: what comes back comes from the one that the client came to. IPv6 in front of IPv4."""
    for name, listen, to, source in (("wildcard", "tcp://0.0.0.0:0 udp://0.0.0.0:0", "127.0.0.9", "127.0.5.8"), ("six", "tcp://[::1]:0 udp://[::1]:0", None, "::1")):
        f = Farm(s, name, listen, to)
        c, end, host = f.desktop("one", source)
        u = f.client(source)
        opened(u, host, syn())
        f.g.stop()
        c.close(), end.close(), u.close()


def reloads(s, f):
    """A reload that keeps the listener keeps what goes through it; one that takes it away ends it."""
    c, end, host = f.desktop("reload", "127.0.5.6")
    u = f.client("127.0.5.6")
    opened(u, host, syn())
    f.g.reload()
    u.send(b"after")
    equal(host.datagram()[0], b"after", "behind a reload")
    f.g.reload(f.ini(listen="tcp://127.0.0.1:0"))
    until("it ends with its listener", lambda: f.drops().get("listener-removed", 0) >= 1)
    try:
        u.settimeout(WAIT)
        u.send(b"closed")
        check(False, "an answer:", repr(u.recv(100)))
    except ConnectionRefusedError:
        pass                                                # the port is closed: clients fall back at once
    c.sendall(b"tcp goes on")
    equal(end.recv(100), b"tcp goes on", "the connection")
    c.close(), end.close(), u.close()


def run(s):
    f = Farm(s)
    open_, u = r66_by_id_and_by_source(s, f)
    is_shown(f)
    is_explained(f, open_[-1][2].label)
    r65_bound_or_dropped(s, f)
    for n in range(8):
        ends_with_its_session(s, f, f"127.0.{6 + n}.3")
    no_more_than_was_sent(s, f)
    a_host_without_udp(s, f)
    silence(s, f, u)
    drain_and_off(s, f)
    reloads(s, f)
    for c, end, _ in open_:
        c.close(), end.close()
    f.g.stop()
    is_told(s, f)
    other_listeners(s)
