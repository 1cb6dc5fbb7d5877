"""TLS on either side of the gateway, by openssl s_client and sockets: certificates by server name, clients' certificates, versions, servers that prove their
name or do not (wrong authority, wrong name, expired, a name only as URI), the transports in Via and Record-Route, sips:, PROXY headers before the handshake,
handshakes cut at every octet, plain text, resumption, and reloads under traffic that drop nothing and take hold, or are refused whole.
Certificates are the scenario's own (RFC 3261 26, RFC 5922; cases b23, b87, b121, b122, b126)."""
import os, socket, ssl, subprocess, threading, time

from _certs import Authority, Server, dial, head, message, openssl, serial
from scenario import FULL, SLOW, Peer, check, equal, until

TIMEOUT = 240
ALERT = "alert certificate required"                      # of a server that wants a certificate of ours, when the handshake is over for us (RFC 8446 4.4.2.4)


def server_context(pair, client_ca=None):
    c = pair.load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    if client_ca:
        c.verify_mode = ssl.CERT_REQUIRED
        c.load_verify_locations(client_ca.cert)
    return c


def ask(sock, *a, **k):
    sock.sendall(message(*a, **k))
    return head(sock)[0]


def drops(g, reason, n=1, service="calls"):
    until(f"{n} ended with {reason}", lambda: g.drops(service).get(reason, 0) >= n)


class Bench:
    def __init__(self, s):
        self.s = s
        self.ca, self.other = Authority(s), Authority(s, "stranger")
        self.gw = self.ca.make("gw", "DNS:gw.example.com,DNS:*.wild.example.com,IP:127.0.0.1")
        self.second = self.ca.make("second", "DNS:second.example.com")
        self.phone = self.ca.make("phone", "DNS:phone.example.com")
        self.n = 0

    def gateway(self, servers, service="", pool="probe = none", listen="tls://127.0.0.1:0 tcp://127.0.0.1:0", certificates=None):
        self.n += 1
        name = f"gateway{self.n}"
        ini = self.ini(servers, service, pool, listen, certificates)
        g = self.s.gateway(self.s.ini_gateway(name) + ini, name=name)
        g.head = self.s.ini_gateway(name)
        return g

    def ini(self, servers, service="", pool="probe = none", listen="tls://127.0.0.1:0 tcp://127.0.0.1:0", certificates=None):
        lines = "\n".join(f"tls-certificate = {x.line()}" for x in certificates or [self.gw, self.second])
        return self.s.ini_sip(servers, listen=listen, service=f"{lines}\n{service}", pool=f"tls-ca = {self.ca.cert}\n{pool}")


# ---- clients

def names(b):
    """the certificate of the name that is asked for, else the first; a stranger's trust fails; old versions are refused"""
    srv = Server()
    g = b.gateway([f"a tcp://{srv.at}"], service="tls-min-version = 1.3")
    for name, want in (("gw.example.com", b.gw), ("second.example.com", b.second), ("x.wild.example.com", b.gw), ("else.example.com", b.gw), (None, b.gw)):
        sni = ["-servername", name] if name else ["-noservername"]
        r = subprocess.run(["openssl", "s_client", "-connect", g.at("calls", "tls"), *sni, "-CAfile", b.ca.cert], input="", capture_output=True, text=True, timeout=60 * SLOW)
        check("Verify return code: 0 (ok)" in r.stdout, f"s_client asking for {name}:", r.stdout[-600:], r.stderr[-300:])
        got = openssl("x509", "-noout", "-serial", input=r.stdout[r.stdout.index("-----BEGIN"):])
        equal(got.strip(), serial(want.cert), f"the certificate for {name}")
    old = b.ca.trusts()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    for context, reason in ((old, "tls-failed"), (b.other.trusts(), "tls-proof")):
        try:
            c = dial(g.at("calls", "tls"), context)
            c.recv(1)
            check(False, "it was taken")
        except ssl.SSLError:
            pass
        drops(g, reason)
    g.stop()


def client_certificates(b):
    srv = Server()
    for how, shown, good in (("off", None, True), ("optional", None, True), ("optional", b.phone, True), ("required", b.phone, True), ("required", None, False),
                             ("optional", b.other.make("foreign", "DNS:phone.example.com"), False)):
        g = b.gateway([f"a tcp://{srv.at}"], service=f"tls-client-certificate = {how}\n" + (f"tls-client-ca = {b.ca.cert}" if how != "off" else ""))
        try:
            c = dial(g.at("calls", "tls"), b.ca.trusts(client=shown))
            got = ask(c, call=f"client-{how}")
            check(good == got.startswith("SIP/2.0 200"), f"{how}, shown {shown and shown.cert}:", got)
        except OSError as e:
            check(not good, f"{how}, shown {shown and shown.cert}: {e}")
        if not good:
            drops(g, "tls-proof")
        g.stop()


def cuts(b):
    """a hello that ends behind each octet, plain text, a stranger's protocol, and one that says nothing: all end, are counted, and cost nobody else anything"""
    srv = Server()
    g = b.gateway([f"a tcp://{srv.at}"], service="handshake-timeout = 3s\nmax-openings-source = off")
    host, port = g.at("calls", "tls").rsplit(":", 1)
    hello = ssl.MemoryBIO()
    try:
        b.ca.trusts().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="gw.example.com").do_handshake()
    except ssl.SSLWantReadError:
        hello = hello.read()
    good = dial(g.at("calls", "tls"), b.ca.trusts())
    check(ask(good, call="before").startswith("SIP/2.0 200"), "a connection in use")
    for n in range(1, len(hello) + 1):
        with socket.create_connection((host, int(port))) as c:
            c.sendall(hello[:n])
            c.shutdown(socket.SHUT_WR)
    drops(g, "tls-cut", len(hello) - 1)
    for octets in (message(transport="TLS"), b"GET / HTTP/1.1\r\n\r\n", b"\0" * 200, b"\r\n\r\n", b"SSH-2.0-x\r\n"):
        with socket.create_connection((host, int(port)), 20) as c:
            c.sendall(octets)
            equal(c.recv(100), b"", "the answer to plain text")
    drops(g, "tls-plain", 5)
    with socket.create_connection((host, int(port)), 20) as c:
        c.sendall(hello[:5] + b"\x01" + b"\xff" * 60 + hello[66:])
        c.settimeout(20)
        while c.recv(4096):
            pass
    drops(g, "tls-failed")
    silent = [socket.create_connection((host, int(port))) for _ in range(5)]
    slow = socket.create_connection((host, int(port)))
    slow.sendall(hello)                                   # ... and never goes on
    drops(g, "handshake-timeout", 6)
    check(ask(good, call="after").startswith("SIP/2.0 200"), "a connection in use, after all that")
    check(ask(dial(g.at("calls", "tls"), b.ca.trusts()), call="after2").startswith("SIP/2.0 200"), "a new one")
    for c in [*silent, slow]:
        c.close()
    good.close()
    until("all connections but the server's are gone", lambda: g.status()["services"][0]["flows"] <= 3)
    g.stop()


def second_flights(b):
    """what a client says behind the server's certificate (its own, when that is asked for, and Finished), cut behind any octet, with one changed, and left at that: all end,
    are counted, and who is whole is served. TLS 1.2 and 1.3"""
    srv = Server()
    g = b.gateway([f"a tcp://{srv.at}"], service=f"tls-client-certificate = required\ntls-client-ca = {b.ca.cert}\nhandshake-timeout = {int(3 * SLOW)}s\nmax-openings-source = off")
    host, port = g.at("calls", "tls").rsplit(":", 1)
    good = dial(g.at("calls", "tls"), b.ca.trusts(client=b.phone))
    check(ask(good, call="first").startswith("SIP/2.0 200"), "a connection in use")

    def flight(version):
        """a connection whose client has said all but its second flight, and that"""
        context, incoming, outgoing = b.ca.trusts(client=b.phone), ssl.MemoryBIO(), ssl.MemoryBIO()
        context.minimum_version = context.maximum_version = version
        tls, c = context.wrap_bio(incoming, outgoing, server_hostname="gw.example.com"), socket.create_connection((host, int(port)), 20)
        while True:
            try:
                tls.do_handshake()
                return c, outgoing.read()                    # 1.3: it is done when it has said so
            except ssl.SSLWantReadError:
                said = outgoing.read()
                if version == ssl.TLSVersion.TLSv1_2 and said and said[0] == 22 and said[5] != 1:
                    return c, said                           # 1.2: it waits for the server's Finished
                if said:
                    c.sendall(said)
                incoming.write(c.recv(65536))

    def ended(c):
        c.settimeout(20 * SLOW)
        try:
            while c.recv(4096):
                pass
        except ConnectionError:
            pass
        c.close()

    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        c, said = flight(version)
        kept, before = [c], g.drops()
        places = range(0, len(said), 1 if FULL else 37)
        for n in places:
            c, said = flight(version)
            c.sendall(said[:n])
            c.shutdown(socket.SHUT_WR)
            ended(c)
        drops(g, "tls-cut", before.get("tls-cut", 0) + len(places))
        for n in list(places)[1:]:
            c, said = flight(version)
            c.sendall(said[:n] + bytes([said[n] ^ 0x55]) + said[n + 1:])
            c.shutdown(socket.SHUT_WR)
            ended(c)
        drops(g, "handshake-timeout", before.get("handshake-timeout", 0) + 1)
        ended(kept.pop())
        check(ask(good, call=f"beside{int(version)}").startswith("SIP/2.0 200"), "a connection in use")
    until("they are gone", lambda: g.status()["services"][0]["flows"] <= 3)
    good.close()
    g.stop()


def again(b):
    """a client that handshakes once more within its connection (TLS 1.2) is refused that, and costs nobody else anything; 1.0 and 1.1 are not spoken, whatever the ciphers"""
    srv = Server()
    g = b.gateway([f"a tcp://{srv.at}"])
    at, good = g.at("calls", "tls"), dial(g.at("calls", "tls"), b.ca.trusts())
    r = subprocess.run(["openssl", "s_client", "-connect", at, "-tls1_2", "-CAfile", b.ca.cert], input="R\nR\nR\n", capture_output=True, text=True, timeout=60 * SLOW)
    check("RENEGOTIATING" in r.stdout + r.stderr and "no renegotiation" in r.stdout + r.stderr, "another handshake:", r.stdout[-300:], r.stderr[-500:])
    for version in ("-tls1", "-tls1_1"):
        r = subprocess.run(["openssl", "s_client", "-connect", at, version, "-cipher", "ALL:@SECLEVEL=0", "-CAfile", b.ca.cert], input="", capture_output=True, text=True, timeout=60 * SLOW)
        check("Cipher is (NONE)" in r.stdout, version, r.stdout[-500:])
    drops(g, "tls-failed", 2)
    check(ask(good, call="beside").startswith("SIP/2.0 200"), "a connection in use")
    good.close()
    g.stop()


def octets(b):
    """records of one octet, many messages in one record, one message over many records, keep-alives, and a client that reads late"""
    srv = Server()
    g = b.gateway([f"a tcp://{srv.at}"])
    c = dial(g.at("calls", "tls"), b.ca.trusts())
    for i in message(call="by-octet"):
        c.sendall(bytes([i]))
    check(head(c)[0].startswith("SIP/2.0 200"), "octet by octet")
    c.sendall(b"\r\n\r\n")
    equal(c.recv(10), b"\r\n", "the keep-alive's answer")
    n, rest = 2000, b""
    sender = threading.Thread(target=lambda: c.sendall(b"".join(message(call=f"many{i}", more=f"Subject: {'x' * 900}\r\n") for i in range(n))))
    sender.start()
    for i in range(n):
        text, rest = head(c, rest)
        check(text.startswith("SIP/2.0 200"), f"answer {i} of {n}:", text[:200])
    sender.join()
    c.close()
    g.stop()


def proxied(b):
    """a balancer's PROXY header stands before the handshake, alone or in one segment with it"""
    srv = Server()
    g = b.gateway([f"a tcp://{srv.at}"], service="proxy-from = 127.0.0.1")
    host, port = g.at("calls", "tls").rsplit(":", 1)
    for together in (True, False):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = b.ca.trusts().wrap_bio(incoming, outgoing, server_hostname="gw.example.com")
        with socket.create_connection((host, int(port)), 20) as c:
            header = b"PROXY TCP4 192.0.2.77 127.0.0.1 4711 5061\r\n"
            if not together:
                c.sendall(header)
                time.sleep(0.1)                           # so that it is a segment of its own
                header = b""
            done = False
            while not done:
                try:
                    tls.do_handshake()
                    done = True
                except ssl.SSLWantReadError:
                    pass
                c.sendall(header + outgoing.read())
                header = b""
                if not done:
                    incoming.write(c.recv(65536))
            tls.write(message(call=f"proxied{together}"))
            c.sendall(outgoing.read())
            until("the request has come", lambda: any("192.0.2.77" in x for x in srv.calls() if f"proxied{together}" in x))
    g.stop()


def path(b):
    """a phone that registered over TLS is reached by that connection, and when it is gone by no other (RFC 3327, RFC 5626 5.3)"""
    srv = Server()
    g = b.gateway([f"a tcp://{srv.at}"], listen="tls://127.0.0.1:0 tcp://127.0.0.1:0 inside")
    c = dial(g.at("calls", "tls"), b.ca.trusts())
    check(ask(c, "REGISTER", uri="sip:example.com", call="path", more="Supported: path\r\nContact: <sip:alice@192.0.2.51;transport=tls>\r\n").startswith("SIP/2.0 200"), "a registration")
    route = next(x for x in srv.calls("REGISTER")[-1].split("\r\n") if x.startswith("Path: "))
    check(f"@{g.at('calls', 'tcp')};transport=tcp;lr>" in route, "the Path names the listener that faces the servers:", route)
    host, port = g.at("calls", "tcp").rsplit(":", 1)
    with socket.create_connection((host, int(port)), 20) as server:
        to_phone = lambda n: message("INVITE", uri="sip:alice@192.0.2.51;transport=tls", call=f"to-phone{n}", transport="TCP", more=f"Route: {route[6:]}\r\n")
        server.sendall(to_phone(1))
        got = head(c)[0]
        check(got.startswith("INVITE sip:alice@192.0.2.51") and f"Via: SIP/2.0/TLS {g.at('calls', 'tls')};" in got, "the phone's INVITE:", got)
        c.sendall(srv.answer(got))
        check(head(server)[0].startswith("SIP/2.0 200"), "its answer at the server")
        c.close()
        until("the connection is gone", lambda: g.status()["services"][0]["flows"] <= 2)
        server.sendall(to_phone(2))
        check(head(server)[0].startswith("SIP/2.0 430"), "a phone that is gone")
    g.stop()


def held(b):
    """what a connection costs that is only there: at most 16 KB"""
    if SLOW != 1:
        return                                            # a sanitizer's own memory is not ours
    g = b.gateway([f"a tcp://{Server().at}"], service="max-openings-source = off\nhandshake-timeout = 1m")
    socks, kb = [], []
    for n in (100, 1100):
        while len(socks) < n:
            socks.append(dial(g.at("calls", "tls"), b.ca.trusts()))
            socks[-1].sendall(b"\r\n\r\n")
            equal(socks[-1].recv(2), b"\r\n", "a keep-alive's answer")
        kb.append(g.rss_kb())
    check((kb[1] - kb[0]) / 1000 <= 16, f"{(kb[1] - kb[0]) / 1000:.1f} KB a connection")
    print(f"{(kb[1] - kb[0]) / 1000:.1f} KB a held connection", end="", flush=True)
    for c in socks:
        c.close()
    g.stop()


# ---- servers

def servers(b):
    """each proves its name, or is as if it were not there: 503, and why in the log and in the list of servers"""
    cases = [("DNS:pbx.example.com", "tls-name=pbx.example.com", b.ca, 30, None), ("IP:127.0.0.1", "", b.ca, 30, None), ("URI:sip:example.com", "tls-name=example.com", b.ca, 30, None),
             ("", "tls-name=pbx", b.ca, 30, None),
             ("DNS:pbx.example.com", "", b.ca, 30, "IP address mismatch"), ("DNS:*.example.com", "tls-name=pbx.example.com", b.ca, 30, "hostname mismatch"),
             ("URI:sip:bob@example.com", "tls-name=example.com", b.ca, 30, "hostname mismatch"), ("DNS:pbx.example.com", "tls-name=other.example.com", b.ca, 30, "hostname mismatch"),
             ("DNS:pbx.example.com", "tls-name=pbx.example.com", b.other, 30, "local issuer"), ("DNS:pbx.example.com", "tls-name=pbx.example.com", b.ca, 0, "expired"),
             ("IP:127.0.0.1", "", b.ca, 30, ALERT)]
    for n, (san, option, ca, days, wrong) in enumerate(cases):
        srv = Server(server_context(ca.make("pbx", san, days, into=f"pbx{n}"), b.ca if wrong == ALERT else None))
        if not days:
            time.sleep(1.1)
        g = b.gateway([(f"a tls://{srv.at}", option)], pool="probe = none" if n % 2 else "probe = options\nprobe-interval = 1s")
        c = dial(g.at("calls", "tls"), b.ca.trusts())
        got = ask(c, call=f"server{n}")
        check(got.startswith("SIP/2.0 503" if wrong else "SIP/2.0 200"), f"{san} asked {option!r}:", got, g.text()[-500:])
        if wrong:
            until(f"the log says {wrong}", lambda: wrong in g.text())
        elif "tls-name" in option:
            want = option.split("=")[1]
            check(set(srv.names) == {want}, f"the name that was asked for is not {want}:", srv.names)
        else:
            check(set(srv.names) <= {None}, "an address is no server name:", srv.names)
        if n % 2 == 0:
            until("the probe agrees", lambda: (g.state("a") == "down") if wrong else g.server("a")["last_failure"] in (None, ""))
        c.close()
        g.stop()
        srv.close()


def named(b):
    """b122: a server written by name is asked for that name, and one that SRV records of a domain name for the domain, whatever host they lead to (RFC 5922 4)"""
    dns = Peer(b.s, "dns", "dns_server.py")
    rows = [("pbx.example.com", "a", "pbx.example.com", None), ("_sips._tcp.example.org", "a:sip1.example.net", "example.org", None), ("_sips._tcp.example.org", "a:sip1.example.net", "sip1.example.net", "hostname mismatch")]
    for n, (written, name, proven, wrong) in enumerate(rows):
        srv = Server(server_context(b.ca.make("pbx", f"DNS:{proven}", into=f"named{n}")))
        port = srv.at.rsplit(":", 1)[1]
        for host in ("pbx.example.com", "sip1.example.net"):
            dns.ask(f"set host={host} at=127.0.0.1 ttl=3600")
        dns.ask(f"srv host=_sips._tcp.example.org ttl=3600 to=1:1:{port}:sip1.example.net")
        line, name = (f"a tls://{written}", f"{name}:{port}") if written[0] == "_" else (f"a tls://{written}:{port}", name)
        g = b.s.gateway(b.s.ini_gateway(f"named{n}", extra=f"resolver = {dns.at}") + b.ini([line]), name=f"named{n}")
        until("it is found", lambda: (g.server(name) or {}).get("address") == srv.at)
        c = dial(g.at("calls", "tls"), b.ca.trusts())
        got = ask(c, call=f"named{n}")
        check(got.startswith("SIP/2.0 503" if wrong else "SIP/2.0 200"), f"{written}, which proves {proven}:", got, g.text()[-500:])
        equal(set(srv.names), {"example.org" if wrong else proven}, "what was asked for")
        c.close()
        g.stop()
        srv.close()


def own_certificate(b):
    """b87: two tenants have two certificates for one server's address; and a server that takes neither is passed over"""
    tenants = [b.ca.make(f"tenant{i}", f"DNS:tenant{i}.example.com") for i in (1, 2)]
    srv = Server(server_context(b.ca.make("pbx", "IP:127.0.0.1"), b.ca))
    ini = "".join(b.s.ini_sip([f"a tls://{srv.at}"], name=f"t{i}", pool_name=f"p{i}", pool=f"probe = none\ntls-ca = {b.ca.cert}\ntls-certificate = {t.line()}") for i, t in enumerate(tenants, 1))
    g = b.s.gateway(b.s.ini_gateway("tenants", workers=1) + ini.replace("udp://127.0.0.1:0", "tcp://127.0.0.1:0"), name="tenants")
    for i in (1, 2):
        host, port = g.at(f"t{i}").rsplit(":", 1)
        with socket.create_connection((host, int(port)), 20) as c:
            check(ask(c, call=f"tenant{i}", transport="TCP").startswith("SIP/2.0 200"), f"tenant {i}")
    got = [dict(x for y in p["subject"] for x in y)["commonName"] for p in srv.peers]
    equal(sorted(got), ["tenant1", "tenant2"], "who came")
    g.stop()


def headers(b):
    """b23: Via and Record-Route name the port and what was really spoken; sips: stays safe or is refused"""
    tls, tcp = Server(server_context(b.ca.make("pbx", "IP:127.0.0.1"))), Server()
    for n, (srv, scheme, service) in enumerate(((tls, "tls", ""), (tcp, "tcp", ""), (tcp, "tcp", "sips = trusted"))):
        g = b.gateway([f"a {scheme}://{srv.at}"], service=service)
        t, p = g.at("calls", "tls"), g.at("calls", "tcp")
        c = dial(t, b.ca.trusts())
        check(ask(c, "INVITE", call=f"h{n}").startswith("SIP/2.0 200"), "an INVITE")
        lines = srv.calls("INVITE")[-1].split("\r\n")
        routes = [x for x in lines if x.startswith("Record-Route")]
        check(lines[1].startswith(f"Via: SIP/2.0/{scheme.upper()} {t if scheme == 'tls' else p};"), "our Via:", lines[1])
        ends = [f"@{t};transport=tls;lr>"] if scheme == "tls" else [f"@{p};transport=tcp;lr>", f"@{t};transport=tls;lr>"]
        check(len(routes) == len(ends) and all(r.startswith("Record-Route: <sip:hfd-") and r.endswith(e) for r, e in zip(routes, ends)), "Record-Routes:", routes)
        got = ask(c, "INVITE", uri="sips:bob@example.com", call=f"s{n}")
        check(got.startswith("SIP/2.0 416" if n == 1 else "SIP/2.0 200"), f"sips: to {scheme}, {service}:", got)
        if n == 0:
            check([x for x in srv.calls("INVITE")[-1].split("\r\n") if x.startswith("Record-Route: <sips:hfd-") and x.endswith(f"@{t};lr>")], "no sips: Record-Route:", srv.calls("INVITE")[-1])
        host, port = p.rsplit(":", 1)
        with socket.create_connection((host, int(port)), 20) as plain:
            check(ask(plain, uri="sips:bob@example.com", call=f"u{n}", transport="TCP").startswith("SIP/2.0 416"), "sips: from a hop that is not safe")
        g.stop()


def failover(b):
    """a server that speaks plain text, and one that hangs up in the handshake: the call goes to the next"""
    good = Server(server_context(b.ca.make("pbx", "IP:127.0.0.1")))
    plain, rude = Server(), socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=lambda: [rude.accept()[0].close() for _ in range(50)], daemon=True).start()
    g = b.gateway([f"a tls://{good.at}", f"b tls://{plain.at}", "c tls://127.0.0.1:%d" % rude.getsockname()[1]], pool="probe = none\ndial-timeout = 2s")
    c = dial(g.at("calls", "tls"), b.ca.trusts())
    for i in range(12):
        got = ask(c, "INVITE", call=f"failover{i}")
        while got.startswith("SIP/2.0 1"):
            got = head(c)[0]
        check(got.startswith("SIP/2.0 200"), f"call {i}:", got)
    drops(g, "failover")
    g.stop()


# ---- reload

class Traffic(threading.Thread):
    """asks all the time over connections that stay"""
    def __init__(self, g, context, n=8):
        super().__init__(daemon=True)
        self.socks, self.stop, self.asked, self.failure = [dial(g.at("calls", "tls"), context) for _ in range(n)], False, 0, None

    def run(self):
        try:
            while not self.stop:
                for c in self.socks:
                    self.asked += 1
                    check(ask(c, call=f"traffic{self.asked}").startswith("SIP/2.0 200"), "an answer while it reloads")
        except Exception as e:                            # told by done()
            self.failure = e

    def done(self):
        self.stop = True
        self.join()
        check(not self.failure, f"traffic: {self.failure!r} after {self.asked}")
        for c in self.socks:
            c.close()


def resumed(g, context, session):
    c = dial(g.at("calls", "tls"), context, session=session)
    check(ask(c, call="resume").startswith("SIP/2.0 200"), "a call over it")
    return c.session_reused, c.session


def reload(b):
    """b121: a new certificate is served at once, connections and tickets live on; what cannot be used is refused whole, in a reload and by --check"""
    srv = Server(server_context(b.ca.make("pbx", "IP:127.0.0.1")))
    mine = b.ca.make("mine", "DNS:gw.example.com")
    g = b.gateway([f"a tls://{srv.at}"], certificates=[mine])
    context = b.ca.trusts()
    context.maximum_version = ssl.TLSVersion.TLSv1_2      # whose tickets Python keeps in a session as soon as the handshake is over
    reused, session = resumed(g, context, None)
    check(not reused and resumed(g, context, session)[0], "a ticket before the reload")
    traffic = Traffic(g, b.ca.trusts())
    traffic.start()
    for i in range(5):
        b.ca.make("mine", "DNS:gw.example.com", into="mine")
        g.reload(how="HUP" if i % 2 else "ctl")
        c = dial(g.at("calls", "tls"), b.ca.trusts())
        served = f"serial={format(int(c.getpeercert()['serialNumber'], 16), 'X')}"
        equal(int(served[7:], 16), int(serial(mine.cert)[7:], 16), "the certificate that is served after the reload")
        c.close()
    check(resumed(g, context, session)[0], "a ticket of before the reloads")
    with open(mine.key) as f:
        key = f.read()
    for path, text, why in ((mine.key, "", "it is empty"), (mine.key, "no key", "there is none in it in PEM form"), (mine.key, open(b.second.key).read(), "it belongs to another certificate"),
                            (mine.key, openssl("ec", "-in", mine.key, "-aes128", "-passout", "pass:secret"), "it is encrypted"),
                            (mine.cert, "no certificate", "there is none in it in PEM form"), (mine.cert, None, "No such file or directory")):
        old = open(path).read()
        os.unlink(path)
        if text is not None:
            with open(path, "w") as f:
                f.write(text)
        r = g.run_ctl("reload")
        said = subprocess.run([b.s.program("HOLDFAST_BIN", "holdfast"), "--check", "-c", g.ini], capture_output=True, text=True, timeout=60 * SLOW)
        check(r.returncode == 1 and path in r.stdout + r.stderr and why in r.stdout + r.stderr, f"a reload with {why}:", r.stdout, r.stderr)
        check(said.returncode and path in said.stderr and why in said.stderr, f"--check with {why}:", said.stdout, said.stderr)
        with open(path, "w") as f:
            f.write(old)
    with open(mine.key) as f:
        equal(f.read(), key, "the key is back")
    traffic.done()
    check(traffic.asked > 100, f"only {traffic.asked} were asked")
    g.stop()


def read_by_user(b):
    """a key that only root may read is refused where the gateway becomes somebody else, who could not read it in a reload"""
    if os.geteuid() != 0:
        print("only root becomes somebody else: not tried", end="", flush=True)
        return
    ini, key = b.s.path("user.ini"), b.s.path("second.key")
    os.chmod(b.s.dir, 0o711)
    with open(ini, "w") as f:
        f.write(b.s.ini_gateway("user", extra="user = nobody") + b.ini(["a tcp://127.0.0.1:5060"], certificates=[b.second]))
    os.chmod(b.ca.cert, 0o644)
    os.chmod(b.second.cert, 0o644)
    for mode, good in ((0o600, False), (0o644, True)):
        os.chmod(key, mode)
        r = subprocess.run([b.s.program("HOLDFAST_BIN", "holdfast"), "--check", "-c", ini], capture_output=True, text=True, timeout=60 * SLOW)
        check((r.returncode == 0) == good and (good or f"{key}: Permission denied (read as user nobody)" in r.stderr), f"mode {mode:o}:", r.stdout, r.stderr)


def identity_changes(b):
    """what we show servers has changed: a new connection shows it, and the old one's dialogs are answered"""
    ours = b.ca.make("ours", "DNS:ours.example.com")
    srv = Server(server_context(b.ca.make("pbx", "IP:127.0.0.1"), b.ca))
    g = b.gateway([f"a tls://{srv.at}"], pool=f"probe = none\nconnections = 1\ntls-certificate = {ours.line()}")
    c = dial(g.at("calls", "tls"), b.ca.trusts())
    for name in ("ours", "theirs"):
        b.ca.make(name, "DNS:ours.example.com", into="ours")
        g.reload()
        check(ask(c, call=f"identity{name}").startswith("SIP/2.0 200"), "a call")
        until(f"{name} was shown", lambda: any(("commonName", name) in x for p in srv.peers for x in p["subject"]))
    g.stop()


def name_changes(b):
    """what a server must name has changed: the connection that was good for its former name carries nothing more to it"""
    srv = Server(server_context(b.ca.make("pbx", "DNS:pbx.example.com")))
    named = lambda name: dict(servers=[(f"a tls://{srv.at}", f"tls-name={name}")], pool="probe = none\nconnections = 1")
    g = b.gateway(**named("pbx.example.com"))
    c = dial(g.at("calls", "tls"), b.ca.trusts())
    check(ask(c, call="its-name").startswith("SIP/2.0 200"), "a call")
    g.reload(g.head + b.ini(**named("new.example.com")))
    check(ask(c, call="another-name").startswith("SIP/2.0 503"), "a server that does not prove its new name")
    g.stop()


def run(s):
    b = Bench(s)
    for part in (names, client_certificates, cuts, second_flights, again, octets, proxied, path, held, servers, named, own_certificate, headers, failover, reload, identity_changes, name_changes, read_by_user):
        part(b)
