"""Classes of faults that users of other SIP proxies met, each by its number in tests/CASES.tsv, against the program: one function a case, and what has
to hold in its docstring. Those that literal octets can show are unit tests."""
import concurrent.futures, contextlib, os, re, select, socket, struct, sys, threading, time

from _desk import sockets
from _ends import endpoint, hop, read_and_reset, sessions
from scenario import PEERS, SLOW, check, equal, until
from sip_failover import answer

sys.path.insert(0, PEERS)
from sip_text import Message

TIMEOUT = 150
PROBE = "probe = options\nprobe-interval = 300ms\nprobe-timeout = 1s\nprobe-rise = 1\nprobe-fall = 2"


def request(me, n, method="INVITE", extra="", uri="sip:service@lab.example", to="", mark="case"):
    return (f"{method} {uri} SIP/2.0\r\nVia: SIP/2.0/UDP {me};branch=z9hG4bK{mark}{n};rport\r\nMax-Forwards: 70\r\nFrom: <sip:a@lab.example>;tag=a{n}\r\nTo: <sip:b@lab.example>{to}\r\n"
            f"Call-ID: {mark}{n}@lab.example\r\nCSeq: {n} {method}\r\nContact: <sip:a@{me}>\r\n{extra}Content-Length: 0\r\n\r\n").encode()


def b06_both_hang_up(s):
    """Both ends send BYE at once, then each again: the count of sessions ends at 0 and never wraps."""
    a = s.sip_server("b06a", "--hop", "127.0.0.1:1")
    g = s.gateway(s.ini_gateway("b06") + s.ini_sip([a], "probe = none\nload-factor = off"), name="b06")
    a.ask(f"hop at={g.at()}")
    phones = s.phones(g, name="b06-phones")
    s.all_home(phones.ask("call 100"), "calls")
    phones.tell("bye all")
    a.tell("bye all")
    phones.answer(), a.answer()
    until("no session is left", lambda: sessions(g)["b06a"] == 0)
    c, me = endpoint()
    with c:
        for n in range(1, 20):                              # BYEs of calls that never were
            c.sendto(request(me, n, "BYE", to=";tag=x"), hop(g.at()))
    s.all_home(phones.ask("call 30"), "calls afterwards")
    equal(sessions(g)["b06a"], 30, "sessions after BYEs from nowhere")
    g.stop()


class Callee:
    """a scripted server: what it gets, from where, and a way to answer there"""
    def __init__(self, kind):
        self.kind = kind
        self.sock, self.at = endpoint() if kind == "udp" else endpoint(socket.SOCK_STREAM)
        self.open = []
        if kind == "tcp":
            self.sock.listen()

    def take(self):
        """-> octets, the place that they came from, how to say something there"""
        while self.kind == "tcp":
            ready, _, _ = select.select([self.sock, *self.open], [], [], 10 * SLOW)
            check(ready, "nothing comes to the server over TCP")
            if ready[0] is not self.sock:
                return ready[0].recv(65535), "%s:%d" % ready[0].getpeername(), ready[0].sendall
            self.open.append(self.sock.accept()[0])
        data, source = self.sock.recvfrom(65535)
        return data, "%s:%d" % source, lambda x: self.sock.sendto(x, source)

    def close(self):
        for c in (self.sock, *self.open):
            c.close()


def b20_b21_own_sockets(s):
    """Two addresses, two transports, servers over either: what a server gets comes from the address that Via and the first Record-Route name, the last
    Record-Route is the listener that the client spoke to, and what the server sends later reaches the client from there and from nowhere else."""
    for kind in ("udp", "tcp"):
        server = Callee(kind)
        g = s.gateway(s.ini_gateway(f"b21{kind}", workers=1) + s.ini_sip([f"b21 {kind}://{server.at}"], "probe = none\nconnections = 1", "failover = no", listen=" ".join(f"{t}://127.0.0.{h}:0" for h in (1, 2) for t in ("udp", "tcp"))), name=f"b21{kind}")
        for n, uri in enumerate(g.uris["calls"], 1):
            transport, at = uri.split("://")
            c, me = endpoint(socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM)
            with c:
                c.connect(hop(at))                         # a datagram from elsewhere is not heard
                c.send(request(me, n, mark="b21").replace(b"SIP/2.0/UDP", b"SIP/2.0/" + transport.upper().encode()).replace(b"<sip:a@%s>" % me.encode(), b"<sip:a@%s;transport=%s>" % (me.encode(), transport.encode())))
                data, source, say = server.take()
                m = Message(data)
                via, routes = m.all("via")[0], m.all("record-route")
                spoken, name = re.match(r"SIP/2.0/(\S+) ([^;]+);", via).groups()
                what = f"from {uri} to {kind}: {via} {routes}"
                equal(spoken.lower(), kind, what)
                check(name == source if kind == "udp" else name.split(":")[0] == source.split(":")[0], "it came from", source, what)
                check(f"{kind}://{name}" in g.uris["calls"], "nobody listens there,", what)
                check(f"@{name};" in routes[0] and (";transport=tcp;" in routes[0]) == (kind == "tcp"), "the first Record-Route,", what)
                equal(name.split(":")[0], at.split(":")[0], f"the address, though both have a listener of each transport, {what}; it")
                check(f"@{at};" in routes[-1] and len(routes) == (1 if f"{kind}://{name}" == uri else 2), "the last Record-Route,", what)
                say(answer(data, 200))
                equal(Message(c.recv(65535)).code, 200, what)
                route = "".join(f"Route: {x}\r\n" for x in routes)
                say((f"BYE sip:a@{me};transport={transport} SIP/2.0\r\nVia: SIP/2.0/{kind.upper()} {server.at};branch=z9hG4bKbye{n}\r\nMax-Forwards: 70\r\n{route}From: {m.get('to')};tag=s\r\n"
                     f"To: {m.get('from')}\r\nCall-ID: {m.get('call-id')}\r\nCSeq: 1 BYE\r\nContent-Length: 0\r\n\r\n").encode())
                bye = Message(c.recv(65535))
                equal((bye.method, bye.all("via")[0].split(";")[0]), ("BYE", f"SIP/2.0/{transport.upper()} {at}"), what)
        g.stop()
        server.close()


def b25_one_ack(s):
    """The first server refuses, the next one answers: the one ACK of its 200 is one there, and none at the first, which has had ours; each repeat is one more
    under the same branch."""
    (a, at_a), (b, at_b), (c, me) = endpoint(), endpoint(), endpoint()
    with a, b, c:
        g = s.gateway(s.ini_gateway("b25") + s.ini_sip([f"b25a {at_a}", f"b25b {at_b}"]), name="b25")
        first, second = (a, b) if g.where("call-id:case1@lab.example")["server"] == "b25a" else (b, a)
        c.sendto(request(me, 1), hop(g.at()))
        invite, source = first.recvfrom(65535)
        first.sendto(answer(invite, 503), source)
        equal(Message(first.recv(65535)).method, "ACK", "what the first server hears of its 503")
        invite, source = second.recvfrom(65535)
        second.sendto(answer(invite, 200), source)
        ok = Message(c.recv(65535))
        equal(ok.code, 200, "the answer")
        route = "".join(f"Route: {x}\r\n" for x in reversed(ok.all("record-route")))
        ack = request(me, 1, "ACK", extra=route, to=";tag=s").replace(b"z9hG4bKcase1", b"z9hG4bKack")
        for _ in range(3):
            c.sendto(ack, hop(g.at()))
        got = []
        with contextlib.suppress(socket.timeout):
            while True:
                got.append(Message(second.recv(65535)))
                second.settimeout(4 * SLOW if len(got) < 3 else 0.3)
        equal(([m.method for m in got], len({m.all("via")[0] for m in got})), (["ACK"] * 3, 1), "ACKs and their Vias at the server that answered")
        first.settimeout(0.1)
        with contextlib.suppress(socket.timeout):
            check(False, "the server that refused heard", Message(first.recv(65535)).start)
        g.stop()


def b43_smuggling(s):
    """A bare LF (or CR) in the head, and behind it another length: it is refused, and framing and parsing see one and the same message, so that nothing
    inside it, and nothing behind what cannot be framed, reaches a server."""
    a = s.sip_server("b43a")
    g = s.gateway(s.ini_gateway("b43") + s.ini_sip([a], listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"), name="b43")
    _, me = endpoint()
    hidden = request(me, 90, "MESSAGE")
    for n, end in enumerate((b"\n", b"\r")):
        for length, pretended, body in ((len(hidden), 0, hidden), (0, 4, b"AAAA\r\n\r\n" + hidden)):
            outer = request(me, n + 1, "OPTIONS").replace(b"Content-Length: 0", b"X-Pad: a" + end + b"Content-Length: %d\r\nContent-Length: %d" % (pretended, length)) + body
            with socket.create_connection(hop(g.at("calls", "tcp")), 20) as c, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
                c.settimeout(10 * SLOW)
                c.sendall(outer)
                c.shutdown(socket.SHUT_WR)
                got = b""
                with contextlib.suppress(OSError):             # a half that is closed still gets answers for a while
                    while d := c.recv(65536):
                        got += d
                        c.settimeout(0.3)
                check(got.startswith(b"SIP/2.0 400") and got.count(b"SIP/2.0 400 ") == 1, "its answer:", repr(got[:300]))
                u.sendto(outer, hop(g.at("calls", "udp")))
    time.sleep(0.3 * SLOW)
    equal(a.stats()["heard"], {}, "what reached the server")
    g.stop()


def b62_two_gateways(s):
    """Two gateways with one secret behind one address: an INVITE goes by the one and its CANCEL by the other, which has not seen it: to the same server, under
    the Via of the INVITE but for the parameter of our own."""
    (a, at_a), (b, at_b), (c, me) = endpoint(), endpoint(), endpoint()
    with open(s.path("b62.secret"), "w") as f:
        f.write("hash 000102030405060708090a0b0c0d0e0f\nsign 101112131415161718191a1b1c1d1e1f\n")
    ini = lambda n: s.ini_gateway(f"b62{n}", extra=f"cluster-secret-file = {s.path('b62.secret')}") + s.ini_sip(
        [f"b62a {at_a}", f"b62b {at_b}"], "probe = none\nload-factor = off", listen="udp://127.0.0.1:0 advertise=gw.example.com:5060")
    with a, b, c:
        gates, homes = [s.gateway(ini(n), name=f"b62{n}") for n in (0, 1)], set()
        for n in range(1, 21):
            vias = []
            for g, method in ((gates[n % 2], "INVITE"), (gates[1 - n % 2], "CANCEL")):
                c.sendto(request(me, n, method, mark="b62"), hop(g.at()))
                ready, _, _ = select.select([a, b], [], [], 10 * SLOW)
                m = Message(ready[0].recv(65535)) if ready else None
                equal(m and m.method, method, f"call {n}")
                vias.append((ready[0], m.all("via")[0].split(";hf=")[0]))
            equal(vias[1], vias[0], f"server and Via of call {n}")
            homes.add(vias[0][0])
        equal(len(homes), 2, "servers that had calls")
        for g in gates:
            g.stop()


def b65_b142_ack_of_our_503(s):
    """All servers are down: INVITE gets 503, and its ACK reaches nobody when a server comes back, nor ourselves."""
    a = s.sip_server("b65a")
    g = s.gateway(s.ini_gateway("b65") + s.ini_sip([a], PROBE), name="b65")
    a.ask("set all=silent")
    g.wait_state("b65a", "down")
    c, me = endpoint()
    with c:
        c.sendto(request(me, 1, uri=f"sip:x@{g.at()}"), hop(g.at()))
        m = Message(c.recv(65535))
        equal(m.code, 503, "the answer with all servers down")
        a.ask("set all=up")
        g.wait_state("b65a", "up")
        before = a.stats()["heard"].get("ACK", 0)
        parcels = g.status()["services"][0]["parcels"]
        for _ in range(5):
            c.sendto(request(me, 1, "ACK", uri=f"sip:x@{g.at()}").replace(b"To: <sip:b@lab.example>", f"To: {m.get('to')}".encode()), hop(g.at()))
        until("the ACKs are counted", lambda: g.status()["services"][0]["parcels"] >= parcels + 5)
        time.sleep(0.2)
        equal(a.stats()["heard"].get("ACK", 0), before, "ACKs of our 503 at the server")
        check(g.status()["services"][0]["parcels"] < parcels + 20, "an ACK goes round")
    g.stop()


@contextlib.contextmanager
def hole():
    """a port whose backlog is full: a SYN gets no answer any more"""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fill = [socket.socket() for _ in range(4)]
        for f in fill:
            f.setblocking(False)
            f.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
        for f in fill:
            f.close()


@contextlib.contextmanager
def ending(linger):
    """a port whose connections end when something has come, by a reset or by a FIN"""
    def serve():
        with contextlib.suppress(OSError):
            while True:
                c, _ = listener.accept()
                with c:
                    c.recv(65535)
                    if linger:
                        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)                  # wakes who accepts


def b67_a_closed_connection(s, workers):
    """A phone's connection ends before its answer: that goes over a new one to the port of its Via; where nobody listens it is dropped, however often the server
    repeats it, and leaves no socket; and the same request over another connection is answered there."""
    server, at = endpoint()
    with server, socket.create_server(("127.0.0.1", 0)) as phone:
        g = s.gateway(s.ini_gateway(f"b67{workers}", workers=workers) + s.ini_sip([f"b67 {at}"], service="failover = no", listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"), name=f"b67{workers}")
        phone.settimeout(10 * SLOW)
        rest, me = sockets(g), "127.0.0.1:%d" % phone.getsockname()[1]

        def register(n):
            c = socket.create_connection(hop(g.at("calls", "tcp")), 10 * SLOW)
            c.settimeout(10 * SLOW)
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))     # it ends by a reset: a half that is closed would be waited for
            c.sendall(request(me, n, "REGISTER").replace(b"SIP/2.0/UDP", b"SIP/2.0/TCP").replace(b";rport", b""))
            return c, *server.recvfrom(65535)
        c, asked, source = register(1)
        c.close()
        until("the gateway knows", lambda: sockets(g) == rest)
        server.sendto(answer(asked, 200), source)
        with phone.accept()[0] as back:
            back.settimeout(10 * SLOW)
            equal(Message(back.recv(65535)).code, 200, "the answer at the port of the Via")
        until("the connection is gone", lambda: sockets(g) == rest)
        phone.close()
        c, asked, source = register(2)
        c.close()
        until("the gateway knows", lambda: sockets(g) == rest)
        for _ in range(20):
            server.sendto(answer(asked, 200), source)
        until("all are counted", lambda: g.drops().get("dial-failed", 0) >= 20)
        until("no socket is left", lambda: sockets(g) == rest)
        c, again, source = register(2)
        with c:
            equal(Message(again).all("via")[0].split(";")[1], Message(asked).all("via")[0].split(";")[1], "the branch over another connection")
            server.sendto(answer(again, 200), source)
            equal(Message(c.recv(65535)).code, 200, "the answer over it")
        g.stop()


def b67_closed_connections(s):
    """... on the worker that the answer comes to, and on whichever"""
    for workers in (1, 2):
        b67_a_closed_connection(s, workers)


def b88_a_dead_connection(s):
    """A server resets each connection when it has read a request: that goes once more over a new one, and is answered 503 then, as there is no other server.
    What is sent at the same moment goes over a new one too; nothing is ever lost."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10 * SLOW)
        g = s.gateway(s.ini_gateway("b88") + s.ini_sip(["b88 tcp://127.0.0.1:%d" % listener.getsockname()[1]], "probe = none\nconnections = 1", listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"), name="b88")
        c, me = endpoint()
        reset = lambda: [int(x) for x in re.findall(rb"Call-ID: dead(\d+)@", read_and_reset(listener))]
        with c:
            rest = sockets(g)
            for n in range(1, 31):
                c.sendto(request(me, n, mark="dead"), hop(g.at()))
                heard, told = reset(), {}
                equal(heard, [n], "a request over a new connection")
                wanted = {n} if n % 2 else {n, 100 + n}
                if n % 2 == 0:
                    c.sendto(request(me, 100 + n, mark="dead"), hop(g.at()))
                while told.keys() != wanted:
                    ready, _, _ = select.select([listener, c], [], [], 5 * SLOW)
                    check(ready, "lost:", sorted(wanted - told.keys()), "behind", heard)
                    if listener in ready:
                        heard += reset()
                    if c in ready:
                        m = Message(c.recv(65535))
                        told[int(re.search(r"dead(\d+)@", m.get("call-id"))[1])] = m.code
                equal(set(told.values()), {503}, "what became of them")
                check(heard.count(n) == 2 or n % 2 == 0, f"request {n} went out", heard.count(n), "times")
                until("the reset is known", lambda: sockets(g) <= rest)
        g.stop()


def b89_a_server_that_drops_syn(s):
    """A server that takes no connection, while another takes calls: those go on, what is asked within them is not late, and
    the calls of the first are answered by the other."""
    good = s.sip_server("b89good")
    with hole() as port:
        g = s.gateway(s.ini_gateway("b89") + s.ini_sip([good, f"b89hole tcp://127.0.0.1:{port}"], "probe = none\ndial-timeout = 4s\nload-factor = off",
                                                       listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"), name="b89")
        c, me = endpoint()
        with c:
            for n in range(1, 400):                         # about half of them wait for the one that does not answer
                c.sendto(request(me, n, uri="sip:silent@lab.example", mark="hole"), hop(g.at()))
        phones = s.phones(g, name="b89-phones")
        got = phones.ask("call 60")
        check(got["answered"] == 60 and set(got["by_server"]) == {"b89good"}, "calls beside a hole:", got)
        begin = time.monotonic()
        s.all_home(phones.ask("ask all"), "calls at the good server")
        check(time.monotonic() - begin < 3.5 * SLOW, f"requests within them took {time.monotonic() - begin:.1f} s")
        g.stop()


def b100_b102_b132_health(s):
    """A connection that is refused, that is never made, that is reset behind the request, or that ends there, counts as a failure like silence does, within interval
    and timeout and not Timer F's 32 s; and each server is shown from the start, whatever its state or weight. (A TLS alert: sip_tls.py servers.)"""
    a = s.sip_server("b100a")
    with socket.socket() as gone, hole() as dropped, ending(b"") as closed, ending(struct.pack("ii", 1, 0)) as reset:
        gone.bind(("127.0.0.1", 0))                         # bound and not listening: refused
        kinds = {"b100tcp": gone.getsockname()[1], "b100hole": dropped, "b100closed": closed, "b100reset": reset}
        g = s.gateway(s.ini_gateway("b100") + s.ini_sip([a, *(f"{name} tcp://127.0.0.1:{port}" for name, port in kinds.items()), ("b100off 127.0.0.1:9", "weight=0")], PROBE,
                                                        listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"), name="b100")
        equal(set(sessions(g)), {"b100a", "b100off", *kinds}, "servers shown from the start")
        shown = re.findall(r'^holdfast_server_state\{pool="pbx",server="(\S+)",state="(\S+)"\} 1$', g.run_ctl("metrics").stdout, flags=re.M)
        equal(sorted(x for x, _ in shown), sorted({"b100a", "b100off", *kinds}), "servers with one state each in the metrics")
        equal(dict(shown)["b100off"], "drain", "one that never took a session")
        for name in kinds:
            g.wait_state(name, "down")
            check(g.server(name)["last_failure"], "why it is down:", g.server(name))
        begin = time.monotonic()
        a.ask("set options=silent")
        g.wait_state("b100a", "down")
        check(time.monotonic() - begin < 16 * SLOW, f"down after {time.monotonic() - begin:.1f} s")
        g.stop()


def b101_two_entries_one_address(s):
    """Two entries at one address, in pools of their own: the one whose probes are not answered goes down, the other does not; and neither a wrong branch nor
    that of the other's probe, from the right place, brings it back."""
    r, at = endpoint()
    how, last, ended = {"one": "well", "two": "silent"}, {}, threading.Event()

    def respond():
        while not ended.is_set():
            try:
                data, source = r.recvfrom(65535)
            except socket.timeout:
                continue
            who = re.search(rb"sip:(\w+)@", data.split(b"From:")[1])[1].decode()
            last[who] = re.search(rb"branch=([^;\r]+)", data)[1]
            wrong = {"other": last.get("one"), "forged": b"z9hG4bKforged"}.get(how[who])
            if how[who] != "silent":
                r.sendto(answer(data.replace(last[who], wrong) if wrong else data, 200), source)

    r.settimeout(0.2)
    probe = lambda who: f"{PROBE}\nprobe-from = {who}"
    with r:
        responder = threading.Thread(target=respond, daemon=True)
        responder.start()
        g = s.gateway(s.ini_gateway("b101") + s.ini_sip([f"b101one {at}"], probe("one"), name="c1", pool_name="p1") + s.ini_sip([f"b101two {at}"], probe("two"), name="c2", pool_name="p2"), name="b101")
        for kind in ("silent", "well", "forged", "well", "other", "well"):
            how["two"] = kind
            g.wait_state("b101two", "up" if kind == "well" else "down")
            equal(g.state("b101one"), "up", f"the other at the same address, while this one is {kind}")
        g.stop()
        ended.set()
        responder.join()


def b126_strange_octets(s):
    """Noise, HTTP, TLS, a FIN at once, none at all, and an octet now and then without an end: each connection ends by its deadline, and calls go on."""
    a = s.sip_server("b126a")
    g = s.gateway(s.ini_gateway("b126") + s.ini_sip([a], service="handshake-timeout = 1s", listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"), name="b126")
    phones = s.phones(g, name="b126-phones")
    s.all_home(phones.ask("call 40"), "calls")
    noise = [os.urandom(3000), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", bytes.fromhex("160301003c0100003803034a5b"), b"", b"\0" * 5000, b"I", b"INVITE sip:a@b SIP/2.0\r\nVia: ", b"\xff" * 70000]
    open_ones = []
    for octets in noise:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
            u.sendto(octets[:60000], hop(g.at("calls", "udp")))
        c = socket.create_connection(hop(g.at("calls", "tcp")), 20)
        try:
            c.sendall(octets)
            if not octets:
                c.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        open_ones.append((octets[:20], c))
    for what, c in open_ones:
        c.settimeout(6 * SLOW)
        try:
            while c.recv(65536):
                pass
        except socket.timeout:
            check(False, f"a connection with {what!r} is kept")
        except OSError:
            pass
        c.close()
    with socket.create_connection(hop(g.at("calls", "tcp")), 20) as c:
        c.sendall(b"INVITE sip:a")
        with contextlib.suppress(OSError):
            for _ in range(int(60 * SLOW)):
                c.send(b"a")
                time.sleep(0.1)
            check(False, "a slow one is kept")
    s.all_home(phones.ask("ask all"), "calls beside noise")
    g.stop()


def b130_reloads_from_eight(s):
    """Eight clients add and remove a server by reload, re-weigh and drain at once, under calls: each gets an answer, no call is lost, and no worker sees an empty pool."""
    a, b, c = (s.sip_server(f"b130{x}") for x in "abc")
    head = s.ini_gateway("b130")
    files = [head + s.ini_sip([a, b]), head + s.ini_sip([a, b, c])]
    g = s.gateway(files[0], name="b130")

    def reload(i):
        path = s.path(f"b130-{i}")
        with open(path, "w") as f:
            f.write(files[i // 4 % 2])
        os.replace(path, g.ini)                             # a file is never seen half written
        return "reload",

    commands = (reload, lambda i: ("weight", "b130a", str(20 + i)), lambda i: ("drain", "b130b"), lambda i: ("undrain", "b130b"))
    phones = s.phones(g, name="b130-phones")
    s.all_home(phones.ask("call 100"), "calls")
    phones.tell("call 300")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda i: g.run_ctl(*commands[i % 4](i)).returncode, range(80)))
    check(set(codes) <= {0, 1} and codes.count(0) >= 60, "what the clients got:", codes)
    g.ctl("undrain", "b130b")
    s.all_home(phones.answer(), "calls while eight reload")
    s.all_home(phones.ask("ask all"), "calls after that")
    g.stop()


def b133_removed_with_live_calls(s):
    """A server leaves the file while its calls live: their requests still reach it, it is shown as long as they last, and new calls go elsewhere."""
    a, b = s.sip_server("b133a"), s.sip_server("b133b")
    head = s.ini_gateway("b133")
    g = s.gateway(head + s.ini_sip([a, b]), name="b133")
    phones = s.phones(g, name="b133-phones")
    s.all_home(phones.ask("call 100"), "calls")
    at_a = phones.ask("calls server=b133a")["held"]
    g.reload(head + s.ini_sip([b]))
    equal(sessions(g).get("b133a"), at_a, "sessions of the removed server")
    s.all_home(phones.ask("ask all method=INVITE"), "calls of a removed server")
    equal(phones.ask("call 40")["by_server"], {"b133b": 40}, "new calls")
    s.all_home(phones.ask("bye all"), "hanging up")
    until("it is forgotten when its last call has ended", lambda: sessions(g).get("b133a", 0) == 0)
    g.stop()


def b146_order(s):
    """What one peer sends arrives in the order in which it was sent, with two workers: two thousand datagrams of ten calls."""
    server, at = endpoint()
    c, me = endpoint()
    with server, c:
        g = s.gateway(s.ini_gateway("b146") + s.ini_sip([f"b146 {at}"]), name="b146")
        got = []
        for n in range(1, 2001):
            c.sendto(request(me, n, "INFO", to=";tag=x").replace(b"Call-ID: case%d@" % n, b"Call-ID: case%d@" % (n % 10)), hop(g.at()))
            if n % 50 == 0:
                got += [int(re.search(rb"CSeq: (\d+)", server.recv(65535))[1]) for _ in range(50)]
        equal(got, list(range(1, 2001)), "the order at the server")
        g.stop()


CASES = (b06_both_hang_up, b20_b21_own_sockets, b25_one_ack, b43_smuggling, b62_two_gateways, b65_b142_ack_of_our_503, b67_closed_connections, b88_a_dead_connection, b89_a_server_that_drops_syn, b100_b102_b132_health, b101_two_entries_one_address, b126_strange_octets, b130_reloads_from_eight,
         b133_removed_with_live_calls, b146_order)


def run(s):
    for case in CASES:
        case(s)
    print(f"{len(CASES)} cases", end="")
