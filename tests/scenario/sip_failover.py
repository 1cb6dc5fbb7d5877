"""Servers that refuse, are silent, die or take no connection while calls are set up: another one answers, within try-timeout and half a second, no call is
at two servers, and no session of a living server is lost. CANCEL and restarts in the middle of it. Two workers, so that half of the answers land on
another one than the request's. Without holds each call for such a server fails."""
import contextlib, os, signal, socket, sys, time

from _ends import endpoint, homes, hop, read_and_reset, request, sessions
from scenario import FULL, PEERS, SLOW, check, equal, place, until

sys.path.insert(0, PEERS)
from sip_text import Message, compose

TIMEOUT = 170
TRY = 0.5                                               # try-timeout here; two seconds in life
PATIENT = 16                                            # the longest, where no silence is meant: a server that the machine has left out is not silent


def ini(s, name, servers, pool="probe = none", wait=TRY, workers=2, **k):
    return s.ini_gateway(name, workers) + s.ini_sip(servers, pool, service=f"failover = yes\ntry-timeout = {int(wait * 1000)}ms", **k)


def answer(data, code, tag="s"):
    m = Message(data)
    h = [("Via", v) for v in m.all("via")] + [("Record-Route", v) for v in m.all("record-route")] + [("From", m.get("from")), ("To", m.get("to") + (f";tag={tag}" if code > 100 else "")),
         ("Call-ID", m.get("call-id")), ("CSeq", m.get("cseq"))]
    return compose(f"SIP/2.0 {code} Scripted", h)


def refusing(s):
    """One server answers 503: nobody notices. All do: 500, each asked once. Their 503s are acknowledged."""
    servers = [s.sip_server(f"ref{i}") for i in (1, 2, 3)]
    a, b, c = servers
    g = s.gateway(ini(s, "ref", servers, pool="probe = none\nload-factor = off", wait=PATIENT), name="ref")
    phones = s.phones(g, name="ref-phones")
    a.ask("set invite=503")
    got = phones.ask("call 90")
    s.all_home(got, "calls beside a server that refuses")
    check(set(got["by_server"]) == {"ref2", "ref3"}, "who took them:", got["by_server"])
    until("sessions are counted once", lambda: sessions(g) == dict(got["by_server"], ref1=0))
    s.all_home(phones.ask("ask all"), "requests within them")
    s.all_home(phones.ask("bye all"), "hanging up")
    for x in servers:
        x.ask("set invite=503")
    before = [x.stats()["heard"]["INVITE"] for x in servers]
    got = phones.ask("call 60")
    equal(got["refused"], {"500": 60}, "when all refuse")
    asked = sum(x.stats()["heard"]["INVITE"] for x in servers) - sum(before)
    check(60 <= asked <= 3 * 60, f"{asked} INVITEs for 60")
    until("each 503 is acknowledged", lambda: all(x.stats()["unacked"] == 0 for x in servers))
    until("refused calls are no sessions", lambda: sum(sessions(g).values()) == 0)
    s.no_strangers(*servers)
    g.stop()


def silent(s):
    """A server says nothing: INVITE and REGISTER go on after try-timeout, MESSAGE and OPTIONS wait for it. Its turn ends when it has failed five times."""
    servers = [s.sip_server(f"sil{i}") for i in (1, 2)]
    g = s.gateway(ini(s, "sil", servers, pool="probe = none\nload-factor = off"), name="sil")
    servers[0].ask("set all=silent")
    c, me = endpoint()
    with c:
        late, at_home = {}, homes(g, "sil", dict(sil1=40, sil2=20))
        for i, n in enumerate(at_home["sil1"] + at_home["sil2"]):
            method = ("INVITE", "REGISTER", "MESSAGE", "OPTIONS")[i % 4]
            c.sendto(request(me, n, method, mark="sil"), hop(g.at()))
            late[n] = (method, time.monotonic())
        c.settimeout(0.1)
        slowest, end = 0.0, time.monotonic() + 2.5 * TRY * SLOW
        while time.monotonic() < end and any(m in ("INVITE", "REGISTER") for m, _ in late.values()):
            with contextlib.suppress(socket.timeout):
                m = Message(c.recv(65535))
                n = int(m.get("call-id")[3:].split("@")[0])
                if m.code >= 200 and n in late:
                    method, begin = late.pop(n)
                    slowest = max(slowest, time.monotonic() - begin) if method in ("INVITE", "REGISTER") else slowest
        left = {m for m, _ in late.values()}
        check(left == {"MESSAGE", "OPTIONS"}, "what was not answered:", sorted(left))
        check(slowest < (TRY + 0.5) * SLOW, f"the slowest answer took {slowest:.2f} s")
    until("a server that is silent rests", lambda: g.state("sil1") == "drain")
    phones = s.phones(g, name="sil-phones")
    begin = time.monotonic()
    s.all_home(phones.ask("call 40"), "calls while it rests")
    check(time.monotonic() - begin < TRY * SLOW, "calls wait for a server that rests")
    g.stop()


def once(s):
    """Retransmissions of a held request reach its current server, each of them once, under one branch a server."""
    (a, at_a), (b, at_b), (c, me) = endpoint(), endpoint(), endpoint()
    with a, b, c:
        g = s.gateway(ini(s, "once", [f"once1 {at_a}", f"once2 {at_b}"], wait=3), name="once")
        first, second = (a, b) if g.where("call-id:once1@lab.example")["server"] == "once1" else (b, a)
        heard = [[], []]
        for _ in range(3):
            c.sendto(request(me, 1, mark="once"), hop(g.at()))
            heard[0].append(first.recv(65535))
        heard[1].append(second.recv(65535))                # behind try-timeout
        for _ in range(2):
            c.sendto(request(me, 1, mark="once"), hop(g.at()))
            heard[1].append(second.recv(65535))
        for x, got in ((first, heard[0]), (second, heard[1])):
            x.settimeout(0.2)
            with contextlib.suppress(socket.timeout):
                while True:
                    got.append(x.recv(65535))
        equal(sorted(len(x) for x in heard), [3, 3], "copies at the two servers")
        for got in heard:
            equal(len({m for m in got}), 1, "different copies at a server")
        check(Message(heard[0][0]).all("via")[0] != Message(heard[1][0]).all("via")[0], "one branch for two servers")
        g.stop()


def cancelled(s):
    """CANCEL in each phase, with the answer 200 to it and 487 to the INVITE; a late 200 of a first server still comes up."""
    (a, at_a), (c, me) = endpoint(), endpoint()
    with a, c:
        g = s.gateway(ini(s, "can", [f"can1 {at_a}"], wait=PATIENT), name="can")

        def codes(n):
            return sorted(Message(c.recv(65535)).code for _ in range(n))
        c.sendto(request(me, 1, mark="can"), hop(g.at()))              # nothing heard yet
        invite, source = a.recvfrom(65535)
        c.sendto(request(me, 1, "CANCEL", mark="can"), hop(g.at()))
        equal(codes(2), [200, 487], "CANCEL before an answer")
        a.sendto(answer(invite, 180), source)
        cancel = Message(a.recv(65535))
        equal((cancel.method, cancel.all("via")), ("CANCEL", Message(invite).all("via")[:1]), "a late 180 is met with CANCEL")
        a.sendto(answer(invite, 200), source)
        equal(codes(2), [180, 200], "what comes late goes up")
        c.sendto(request(me, 2, mark="can"), hop(g.at()))              # ringing
        invite, source = a.recvfrom(65535)
        a.sendto(answer(invite, 180), source)
        equal(codes(1), [180], "ringing")
        c.sendto(request(me, 2, "CANCEL", mark="can"), hop(g.at()))
        cancel, _ = a.recvfrom(65535)
        a.sendto(answer(cancel, 200), source)
        a.sendto(answer(invite, 487), source)
        equal(codes(2), [200, 487], "CANCEL while it rings, one 200 of two")
        c.settimeout(0.2)
        try:
            check(False, "one answer too many:", Message(c.recv(65535)).start)
        except socket.timeout:
            pass
        until("one session: of the call that was answered late", lambda: sum(sessions(g).values()) == 1)
        g.stop()


def other_connections(s):
    """What a client sends again, or takes back, over other connections, which any worker may have, finds its request where it is held: the home server
    was silent and hears no more of it, the one that rings hears of its end."""
    (a, at_a), (b, at_b) = endpoint(), endpoint()
    with a, b, contextlib.ExitStack() as open_ones:
        g = s.gateway(ini(s, "oth", [f"oth1 {at_a}", f"oth2 {at_b}"], listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"), name="oth")
        first, second = (a, b) if g.where("call-id:oth1@lab.example")["server"] == "oth1" else (b, a)

        def say(method):
            c = open_ones.enter_context(socket.create_connection(hop(g.at("calls", "tcp")), 20))
            c.settimeout(10 * SLOW)
            c.sendall(request("192.0.2.1:5060", 1, method, "TCP", "oth"))
            return c

        def hear(c, status):
            got = b""
            while b"SIP/2.0 %d " % status not in got:
                part = c.recv(65535)
                check(part, "no", status, "in", got)
                got += part
        caller = say("INVITE")
        second.settimeout(20 * SLOW)
        invite, source = second.recvfrom(65535)
        second.sendto(answer(invite, 180), source)
        hear(caller, 180)
        first.settimeout(0.2)
        with contextlib.suppress(socket.timeout):
            while True:
                first.recv(65535)
        again = [say("INVITE") for _ in range(12)]
        for _ in range(8):                                 # behind them all
            hear(say("CANCEL"), 200)
        methods = []
        while not methods or methods[-1] != "CANCEL":
            methods.append(Message(second.recv(65535)).method)
        equal(set(methods), {"INVITE", "CANCEL"}, "what the second server heard")
        equal(g.drops()["cancelled"], 8, "CANCELs that were answered, and no INVITE that was held a second time")
        with contextlib.suppress(socket.timeout):
            check(False, "the silent server heard", Message(first.recv(65535)).start, "of", len(again), "repetitions")
        second.sendto(answer(invite, 487), source)
        hear(caller, 487)
        until("no session is left", lambda: sum(sessions(g).values()) == 0)
        g.stop()


def reset_when_asked(s):
    """A server that resets each connection when it has read a request: another one answers at once, whatever the method and the client's transport; who does
    so once is asked again."""
    (b, at_b), (c, me) = endpoint(), endpoint()
    with b, c, socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10 * SLOW)
        g = s.gateway(ini(s, "rst", ["rst1 tcp://127.0.0.1:%d" % listener.getsockname()[1], f"rst2 {at_b}"], pool="probe = none\nload-factor = off", wait=PATIENT,
                          listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"), name="rst")
        reset = lambda: Message(read_and_reset(listener)).all("via")
        numbers = homes(g, "rst", dict(rst1=6))["rst1"]
        for n, method in zip(numbers, ("INVITE", "MESSAGE", "REGISTER", "INVITE")):
            with socket.create_connection(hop(g.at("calls", "tcp")), 20) as t:
                t.settimeout(10 * SLOW)
                over_tcp = n == numbers[3]
                t.sendall(request("192.0.2.1:5060", n, method, "TCP", "rst")) if over_tcp else c.sendto(request(me, n, method, mark="rst"), hop(g.at()))
                equal(reset(), reset(), f"{method} once more, as it was")
                asked, source = b.recvfrom(65535)
                equal(Message(asked).method, method, "what the next server gets")
                b.sendto(answer(asked, 200), source)
                heard = t.recv(65535) if over_tcp else c.recv(65535)
                check(b" 200 " in heard or b" 100 " in heard, f"{method}:", heard)
        c.sendto(request(me, numbers[4], mark="rst"), hop(g.at()))
        first = reset()
        conn, _ = listener.accept()
        with conn:
            conn.settimeout(10 * SLOW)
            asked = conn.recv(65535)
            equal(Message(asked).all("via"), first, "asked again")
            conn.sendall(answer(asked, 486))
            equal(Message(c.recv(65535)).code, 486, "its answer")
        for _ in range(3):                                 # three copies over one connection are one request
            c.sendto(request(me, numbers[5], mark="rst"), hop(g.at()))
        read_and_reset(listener, b"\r\n\r\n", 3)
        conn, _ = listener.accept()
        with conn:
            conn.settimeout(10 * SLOW)
            asked = conn.recv(65535)
            b.settimeout(0.3)
            with contextlib.suppress(socket.timeout):
                check(False, "the next server was asked beside:", Message(b.recv(65535)).start)
            conn.sendall(answer(asked, 486))
            equal(Message(c.recv(65535)).code, 486, "its answer")
        g.stop()


def b88_silent_connection(s):
    """The host behind a connection that has carried calls is gone without a word: the next call on it waits for try-timeout, and no longer, and goes to
    another server; the one that is gone is asked once."""
    (b, at_b), (c, me) = endpoint(), endpoint()
    with b, c, socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10 * SLOW)
        g = s.gateway(ini(s, "b88s", ["b88s1 tcp://127.0.0.1:%d" % listener.getsockname()[1], f"b88s2 {at_b}"], pool="probe = none\nload-factor = off\nconnections = 1",
                          listen="udp://127.0.0.1:0 tcp://127.0.0.1:0", workers=1), name="b88s")
        one, two = homes(g, "b88s", {"b88s1": 2})["b88s1"]
        c.sendto(request(me, one, mark="b88s"), hop(g.at()))
        conn, _ = listener.accept()
        with conn:
            conn.settimeout(10 * SLOW)
            conn.sendall(answer(conn.recv(65535), 200))
            equal(Message(c.recv(65535)).code, 200, "a call over the connection")
            begin = time.monotonic()
            c.sendto(request(me, two, mark="b88s"), hop(g.at()))
            asked = conn.recv(65535)
            other, source = b.recvfrom(65535)
            check(time.monotonic() - begin > TRY * 0.9, f"the next server was asked after {time.monotonic() - begin:.2f} s")
            equal([Message(x).get("call-id") for x in (asked, other)], [f"b88s{two}@lab.example"] * 2, "what the two got")
            b.sendto(answer(other, 200), source)
            equal(Message(c.recv(65535)).code, 200, "the answer")
            conn.settimeout(0.1)
            with contextlib.suppress(socket.timeout):
                check(False, "it was asked again:", conn.recv(65535)[:60])
        g.stop()


def both_answer(s):
    """Two servers answer a call with 200, which wait for the gateway in sockets of whatever workers: the call is where the one came from that its caller has
    first; he ends the other one, which takes nothing from it."""
    (a, at_a), (b, at_b) = endpoint(), endpoint()
    with a, b:
        g = s.gateway(ini(s, "both", [f"both1 {at_a}", f"both2 {at_b}"], pool="probe = none\nload-factor = off", wait=0.3), name="both")
        for n in range(1, 9):
            c, me = endpoint()
            c.sendto(request(me, n, mark="both"), hop(g.at()))
            home = g.where(f"call-id:both{n}@lab.example")["server"]
            at = {"both1": a, "both2": b}
            asked = {name: at[name].recvfrom(65535) for name in sorted(at, key=lambda x: x != home)}
            g.kill(signal.SIGSTOP)
            for name in sorted(at, key=lambda x: (x == home) == (n % 2 == 0)):
                at[name].sendto(answer(asked[name][0], 200, name), asked[name][1])
            g.kill(signal.SIGCONT)
            took = []
            while len(took) < 2:
                m = Message(c.recv(65535))
                if m.code == 200 and m.get("to") not in [x.get("to") for x in took]:
                    took.append(m)
            lives, other = (m.get("to").split("tag=")[1] for m in took)
            until("the call is where its first answer came from", lambda: g.where(f"call-id:both{n}@lab.example")["server"] == lives)
            for m, name, left in ((took[1], other, 1), (took[0], lives, 0)):
                route = "".join(f"Route: {x}\r\n" for x in reversed(m.all("record-route")))
                c.sendto((f"BYE sip:b@lab.example SIP/2.0\r\nVia: SIP/2.0/UDP {me};branch=z9hG4bKbye{name}{n}\r\nMax-Forwards: 70\r\n{route}From: {m.get('from')}\r\n"
                          f"To: {m.get('to')}\r\nCall-ID: {m.get('call-id')}\r\nCSeq: 2 BYE\r\nContent-Length: 0\r\n\r\n").encode(), hop(g.at()))
                while Message(at[name].recv(65535)).method != "BYE":
                    pass
                equal(sum(sessions(g).values()), left, f"sessions behind the BYE in the dialog of {name}")
            c.close()
        g.stop()


def dead_behind_cancel(s):
    """A server that rang dies before CANCEL: it is told again, and the caller has its 487 in 8 s, not in 32."""
    (a, at_a), (c, me) = endpoint(), endpoint()
    with a, c:
        g = s.gateway(ini(s, "dead", [f"dead1 {at_a}"], wait=PATIENT), name="dead")
        c.sendto(request(me, 1, mark="dead"), hop(g.at()))
        invite, source = a.recvfrom(65535)
        a.sendto(answer(invite, 180), source)
        equal(Message(c.recv(65535)).code, 180, "ringing")
        c.sendto(request(me, 1, "CANCEL", mark="dead"), hop(g.at()))
        begin = time.monotonic()
        heard = Message(c.recv(65535))
        equal((heard.code, heard.method), (200, "CANCEL"), "the answer to CANCEL")
        c.settimeout(24 * SLOW)
        heard = Message(c.recv(65535))
        equal((heard.code, heard.method), (487, "INVITE"), "the answer to the call")
        check(7.5 < time.monotonic() - begin < 20 * SLOW, f"487 came {time.monotonic() - begin:.1f} s behind CANCEL")
        a.settimeout(0.2)
        equal([Message(a.recv(65535)).method for _ in range(4)], ["CANCEL"] * 4, "what the server was told")     # a fifth is due at its end
        until("no session is left", lambda: sum(sessions(g).values()) == 0)
        g.stop()


def late(s):
    """Two servers; the first answers only when the second has been asked. Its call is up, and what is asked within it without Route comes to it."""
    (a, at_a), (b, at_b), (c, me) = endpoint(), endpoint(), endpoint()
    with a, b, c:
        g = s.gateway(ini(s, "late", [f"late1 {at_a}", f"late2 {at_b}"], pool="probe = none\nload-factor = off", wait=2), name="late")
        home = g.where("call-id:late1@lab.example")["server"]
        first, second = (a, b) if home == "late1" else (b, a)
        c.sendto(request(me, 1, mark="late"), hop(g.at()))
        invite, source = first.recvfrom(65535)
        second.recvfrom(65535)
        equal(sum(sessions(g).values()), 1, "sessions of one call at two servers")
        first.sendto(answer(invite, 200), source)
        equal(Message(c.recv(65535)).code, 200, "the late answer")
        until("the entry follows", lambda: g.where("call-id:late1@lab.example")["server"] == home and sessions(g)[home] == 1)
        bye = request(me, 1, "BYE", mark="late").replace(b"To: <sip:b@lab.example>", b"To: <sip:b@lab.example>;tag=s").replace(b"z9hG4bK", b"z9hG4bKb")
        c.sendto(bye, hop(g.at()))
        equal(Message(first.recv(65535)).method, "BYE", "what comes next at the first server")
        g.stop()


def refused_connections(s):
    """A TCP server that takes no connection, and a client over TCP: another server answers, and 100 comes while one is waited for."""
    good = s.sip_server("tcp-good")
    with socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))
        servers, listen = [good, "tcp-gone tcp://127.0.0.1:%d" % gone.getsockname()[1]], "udp://127.0.0.1:0 tcp://127.0.0.1:0"
        g = s.gateway(ini(s, "tcp", servers, "probe = none\nload-factor = off", wait=PATIENT, listen=listen), name="tcp")
        phones = s.phones(g, name="tcp-phones")
        got = phones.ask("call 60")
        s.all_home(got, "calls beside a server that takes no connection")
        equal(got["by_server"], {"tcp-good": 60}, "who took them")
        check(g.drops().get("failover", 0) > 0, "nothing failed over:", g.drops())
        with socket.create_connection(hop(g.at("calls", "tcp")), 20) as c:
            c.settimeout(4 * SLOW)
            good.ask("set all=silent")
            c.sendall(request("127.0.0.1:9", 77, kind="TCP", mark="conn"))
            check(c.recv(65535).startswith(b"SIP/2.0 100 Trying\r\n"), "no 100 over the connection")
            good.ask("set all=up")                         # our repetition reaches it
            check(c.recv(65535).startswith(b"SIP/2.0 180 "), "no 180 over the connection")
        g.stop()


def restarted(s):
    """The gateway restarts while requests are held: the client's repetition is held anew, at the same server under the same branch."""
    (a, at_a), (c, me) = endpoint(), endpoint()
    with a, c:
        text = s.ini_gateway("again") + s.ini_sip([f"again1 {at_a}"], service="failover = yes", listen=f"udp://{place()}")
        g = s.gateway(text, name="again")
        c.sendto(request(me, 1, mark="again"), hop(g.at()))
        before, source = a.recvfrom(65535)
        g.stop()
        g = s.gateway(text, name="again")
        a.sendto(answer(before, 180), source)              # of the boot before: it goes up all the same
        equal(Message(c.recv(65535)).code, 180, "an answer over the restart")
        c.sendto(request(me, 1, mark="again"), hop(g.at()))
        after, source = a.recvfrom(65535)
        branch = lambda m: Message(m).all("via")[0].split("branch=")[1].split(";")[0]
        equal(branch(after), branch(before), "the branch over a restart")
        a.sendto(answer(after, 486), source)
        equal(Message(c.recv(65535)).code, 486, "its answer")
        g.stop()


def b105_well_but_for_calls(s):
    """A server that answers probes and refuses, or ignores, each call is taken out for a while; when all are like that, half of them stay."""
    servers = [s.sip_server(f"b105{i}") for i in (1, 2, 3)]
    g = s.gateway(ini(s, "b105", servers, pool="probe = options\nprobe-interval = 300ms\nprobe-timeout = 3s\nload-factor = off", wait=PATIENT), name="b105")
    phones = s.phones(g, name="b105-phones")
    servers[0].ask("set invite=503")
    s.all_home(phones.ask("call 60"), "calls beside a server that refuses calls")
    until("it rests", lambda: g.state("b1051") == "drain")
    heard = servers[0].stats()["heard"]["INVITE"]
    s.all_home(phones.ask("call 60"), "calls while it rests")
    equal(servers[0].stats()["heard"]["INVITE"], heard, "calls at a server that rests")
    time.sleep(0.7 * SLOW)
    equal(g.state("b1051"), "drain", "its state after good probes")
    for x in servers:
        x.ask("set invite=503")
    equal(phones.ask("call 60")["refused"], {"500": 60}, "when all refuse")
    time.sleep(0.6 * SLOW)                                 # two looks
    equal(sorted(g.state(f"b105{i}") for i in (1, 2, 3)), ["drain", "up", "up"], "states when all refuse")
    g.stop()


def a_server_dies(s):
    """Calls of three servers, one of them killed while more are set up: each new one is answered, and only its own calls are lost."""
    n = 5000 if FULL else 600
    servers = [s.sip_server(f"die{i}") for i in (1, 2, 3)]
    g = s.gateway(ini(s, "die", servers), name="die")
    phones = s.phones(g, "--sockets", "8", name="die-phones")
    phones.ask(f"set ring={5 * SLOW}")                     # a call that the dead server had let ring is lost sooner than in life
    held = phones.ask(f"call {n}")
    s.all_home(held, "calls")
    phones.tell(f"call {n // 4}")
    time.sleep(0.02)
    servers[0].kill()
    got = phones.answer()
    check(got["lost"] <= 1 and not got["refused"], "calls that are set up while a server dies, but for one that it had let ring:", got)
    begin = time.monotonic()
    got = phones.ask("call 60")
    equal((got["answered"], "die1" in got["by_server"]), (60, False), "calls afterwards")
    check(time.monotonic() - begin < 6 * SLOW, f"60 calls took {time.monotonic() - begin:.2f} s")
    phones.ask("forget server=die1")
    s.all_home(phones.ask("ask all"), "calls of the living")
    s.all_home(phones.ask("bye all"), "hanging up")
    s.no_strangers(*servers[1:])
    print(f"{held['answered']} calls, {held['by_server'].get('die1', 0)} of them lost with their server", end="")
    g.stop()


def run(s):
    for case in (refusing, silent, once, cancelled, other_connections, reset_when_asked, b88_silent_connection, both_answer, dead_behind_cancel, late, refused_connections, restarted, b105_well_but_for_calls, a_server_dies):
        case(s)
