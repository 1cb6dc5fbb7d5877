"""The guard of both protocols: whom allow and deny keep out hears nothing and costs no session, a source that floods is cut off before anything is read
while its own calls and all others go on, one that floods a connection waits, scanners are not answered. Lists and rates change with a reload. Without the guard each of them is served."""
import socket, sys, time

from _ends import hop, request
from scenario import PEERS, SLOW, check, equal, until

sys.path.insert(0, PEERS)
from sip_text import Message


def speak(g, at, want, agent=None, n=1):
    """a datagram from `at` is answered with this status; 0: not at all"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as c:
        c.bind((at, 0))
        c.settimeout(10 * SLOW if want else 0.4)
        me = "%s:%d" % c.getsockname()
        data = request(me, time.monotonic_ns(), "OPTIONS", mark=f"g{n}")
        c.sendto(data.replace(b"Contact:", b"User-Agent: " + agent + b"\r\nContact:") if agent else data, hop(g.at()))
        try:
            got = Message(c.recv(65535)).code
        except socket.timeout:
            got = 0
        equal(got, want, f"the answer to {at}{f', {agent}' if agent else ''}")


def connects(at, to, want):
    """a connection from `at` stays open, or does not"""
    with socket.socket() as c:
        c.bind((at, 0))
        c.settimeout(20 * SLOW)
        c.connect(hop(to))
        c.settimeout(0.5 if want else 10 * SLOW)
        try:
            got = c.recv(1) != b""
        except ConnectionResetError:
            got = False
        except socket.timeout:
            got = True
        equal(got, want, f"does a connection from {at} to {to} stay?")


def lists(s, g, ini):
    g.reload(ini("allow = 127.0.0.0/29\ndeny = 127.0.0.3 127.0.0.16/28", "deny = 127.0.0.3"))
    for i, calls, tcp, desktops in ((2, 200, True, True), (3, 0, False, False), (7, 200, None, None), (8, 0, False, True), (20, 0, None, None)):
        speak(g, f"127.0.0.{i}", calls)
        if tcp is not None:
            connects(f"127.0.0.{i}", g.at("calls", "tcp"), tcp)
            connects(f"127.0.0.{i}", g.at("desktops"), desktops)
    until("what was kept out is counted", lambda: (g.drops().get("denied"), g.drops("desktops").get("denied")) == (5, 1))
    g.reload(ini("", udp=" allow=127.0.0.0/29 deny=127.0.0.3", tcp=" deny=127.0.0.2"))
    for i, code in ((2, 200), (3, 0), (8, 0)):              # lists of a listener's own
        speak(g, f"127.0.0.{i}", code)
    for i, stays in ((2, False), (3, True)):
        connects(f"127.0.0.{i}", g.at("calls", "tcp"), stays)
    g.reload(ini(""))
    speak(g, "127.0.0.3", 200)                              # who was denied before the reload


def rates(s, g, ini):
    phones = s.phones_at(g.at(), "inside", "--at", "127.0.0.2")
    others = s.phones_at(g.at(), "others", "--at", "127.0.0.4")
    s.all_home(phones.ask("call 40 window=10"), "calls")
    g.reload(ini("max-rate-source = 50"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as c:
        c.bind(("127.0.0.2", 0))
        c.setblocking(False)
        me = "%s:%d" % c.getsockname()
        begin, heard, n = time.monotonic(), 0, 0
        phones.tell("ask all")
        while time.monotonic() < begin + 2:
            for _ in range(20):
                n += 1
                c.sendto(request(me, n, "OPTIONS", mark="flood"), hop(g.at()))
            time.sleep(0.01)
            try:
                while True:
                    heard += Message(c.recv(65535)).code == 200
            except BlockingIOError:
                pass
        took = time.monotonic() - begin
        s.all_home(phones.answer(), "requests in calls of a source that floods: our cookie lets them through")
        check(20 <= heard <= 50 * (took + 1) + 5, f"{heard} of {n} requests were answered in {took:.1f} s, at 50 a second")
        s.all_home(others.ask("call 20 window=5"), "calls of others")
    check(g.drops()["source-rate"] >= (n - heard) / 4, "what was cut off is counted:", g.drops())    # of all that a busy machine has not lost before
    time.sleep(1.1)
    s.all_home(phones.ask("bye all"), "hanging up")
    s.all_home(others.ask("bye all"), "hanging up")
    g.reload(ini(""))


def connections(s, g, ini):
    g.reload(ini("max-rate-source = 50"))
    with socket.create_connection(hop(g.at("calls", "tcp")), 10, ("127.0.0.5", 0)) as c:
        me, n, heard = "%s:%d" % c.getsockname(), 120, b""
        begin = time.monotonic()
        c.sendall(b"".join(request(me, i, "OPTIONS", "TCP", "slow") for i in range(n)))
        while heard.count(b"SIP/2.0 200") < n:
            got = c.recv(65535)
            check(got, "the connection of a source that floods was closed:", heard.count(b"SIP/2.0 200"))
            heard += got
        took = time.monotonic() - begin
    check(took > (n - 50) / 50 - 0.2, f"{n} requests over a connection were answered in {took:.1f} s, at 50 a second")
    check(g.drops()["source-rate"] > 0, "that it waited is counted:", g.drops())
    g.reload(ini(""))


def scanners(s, g, ini):
    for agent, code in ((b"friendly-scanner", 0), (b"sipcli/v1.8", 0), (b"Asterisk PBX", 200)):
        speak(g, "127.0.0.2", code, agent)
    until("scanners are counted", lambda: g.drops().get("scanner") == 2)
    g.reload(ini("deny-user-agent = asterisk"))
    for agent, code in ((b"friendly-scanner", 200), (b"Asterisk PBX", 0)):        # with a list of the operator's
        speak(g, "127.0.0.2", code, agent)


def run(s):
    a, x = s.sip_server("pbx1"), s.rdp_host("ts1")

    def ini(calls, desktops="", udp="", tcp=""):
        sip = s.ini_sip([a], "probe = none", service=calls, listen=f"udp://127.0.0.1:0{udp} tcp://127.0.0.1:0{tcp}")
        return s.ini_gateway() + sip + s.ini_rdp([x], "probe = none", service=desktops)
    g = s.gateway(ini(""))
    for case in (lists, rates, connections, scanners):
        case(s, g, ini)
    until("no session is left", lambda: sum(v["sessions"] for v in g.ctl("servers")["servers"]) == 0)
    g.stop()
