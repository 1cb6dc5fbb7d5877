"""What one source address may have at once: with max-flows-source = 3 a fourth connection is closed and counted `source-limit`, and a place that becomes free
is taken; with max-openings-source = 2 a third that has said nothing is, while one that has spoken counts no more; with answer-rate = 5 no more of our own
answers than that go to a source in a second, the others are counted `answer-limit`. Each time another source is not disturbed. Without the count given back
the source is shut out for ever; without the source in the count one client shuts out all."""
import contextlib, os, socket, struct, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers"))
from _desk import Host, confirmed, ended, exactly, none_left, request, sockets, WAIT
from scenario import check, equal, until

BUSY, OTHER = "127.0.0.41", "127.0.0.42"


def connect(g, source, service="desktops"):
    host, port = g.at(service).rsplit(":", 1)
    sock = socket.create_connection((host, int(port)), WAIT, (source, 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def open_pair(g, host, source, service="desktops"):
    c = connect(g, source, service)
    c.sendall(request("u" + source[-2:]))
    h = host.accept()
    return confirmed(c), h


def lives(pairs):
    for c, h in pairs:
        c.sendall(b"ping")
        equal(exactly(h, 4), b"ping", "a connection within the limit")


def flows(g, host):
    rest = sockets(g)
    for turn in range(3):
        pairs = [open_pair(g, host, BUSY) for _ in range(3)]
        for _ in range(4):
            check(ended(connect(g, BUSY)) in ("eof", "reset"), "one above the limit of its source")
        pairs += [open_pair(g, host, OTHER) for _ in range(3)]
        lives(pairs)
        for c, h in pairs:
            c.close()
            h.close()
        none_left(g, rest)
    until("they are counted", lambda: g.drops("desktops").get("source-limit") == 12)


def openings(g, host):
    rest = sockets(g)
    silent = [connect(g, BUSY, "openings") for _ in range(2)]
    until("both are counted", lambda: sockets(g) == rest + 2)
    check(ended(connect(g, BUSY, "openings")) in ("eof", "reset"), "a third that has said nothing")
    pairs = [open_pair(g, host, OTHER, "openings")]
    silent[0].sendall(request("slow"))                      # it has said what it wants: its place is free
    pairs.append((confirmed_with(host, silent[0])))
    pairs += [open_pair(g, host, BUSY, "openings") for _ in range(3)]
    lives(pairs)
    silent[1].close()
    for c, h in pairs:
        c.close()
        h.close()
    none_left(g, rest)
    until("it is counted", lambda: g.drops("openings").get("source-limit") == 1)


def confirmed_with(host, sock):
    h = host.accept()
    return confirmed(sock), h


def burst(g, source, datagram, n):
    """how many answers come to n datagrams, all others being counted, and in how many seconds of the clock they were sent"""
    limited = lambda: g.drops().get("answer-limit", 0)
    host, port = g.at("calls", "udp").rsplit(":", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as c:
        c.bind((source, 0))
        before, begin, got = limited(), time.monotonic(), []
        for i in range(n):
            c.sendto(datagram(i, "%s:%d" % c.getsockname()), (host, int(port)))
        c.setblocking(False)

        def heard():
            with contextlib.suppress(BlockingIOError):
                while c.recv(4096):
                    got.append(time.monotonic())
            return len(got)
        until("each is answered or counted", lambda: heard() + limited() - before >= n)
        equal(heard() + limited() - before, n, "answers and what was counted")
        return len(got), int(got[-1] - begin) + 2 if got else 2


def stun(i, me):
    return struct.pack("!HHI", 1, 0, 0x2112A442) + b"%012d" % i


def hopless(i, me):
    return (f"OPTIONS sip:b@lab.example SIP/2.0\r\nVia: SIP/2.0/UDP {me};branch=z9hG4bKl{i}\r\nMax-Forwards: 0\r\nFrom: <sip:a@lab.example>;tag=a{i}\r\n"
            f"To: <sip:b@lab.example>\r\nCall-ID: l{i}@lab.example\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n").encode()


def answers(s, g):
    for what, datagram in (("STUN", stun), ("483", hopless)):
        time.sleep(1.1)                                     # what came before is of another second
        got, seconds = burst(g, BUSY, datagram, 200)
        check(5 <= got <= 5 * seconds, f"{what}: {got} answers in {seconds} s of the clock at 5 a second")
        equal(burst(g, OTHER, datagram, 3)[0], 3, f"{what}: another source has its own rate")
    phones = s.phones(g)
    s.all_home(phones.ask("call 40"), "calls, whose answers are the server's, go on")
    s.all_home(phones.ask("bye all"), "hanging up")
    s.no_strangers()


def run(s):
    host, host2 = Host("ts1"), Host("ts2")
    pbx = s.sip_server("pbx1")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host], service="max-flows-source = 3") +
                  s.ini_rdp([host2], service="max-openings-source = 2", name="openings", pool_name="farm2") + s.ini_sip([pbx], service="answer-rate = 5"))
    flows(g, host)
    openings(g, host2)
    answers(s, g)
    g.stop()
