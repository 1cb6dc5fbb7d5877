"""What is no Connection Request is closed at once without an octet, under every cut, and counted by its reason; a valid request that no host can
take gets an X.224 Disconnect Request (RULES-RDP, Decisions). A token that names a stranger is never dialled."""
import socket, sys, time

from scenario import PEERS, SLOW, check, equal, until

sys.path.insert(0, PEERS)
import rdp_text

ALICE = rdp_text.request(b"Cookie: mstshash=alice")


def patched(at, octets, base=ALICE):
    return base[:at] + octets + base[at + len(octets):]


# what is sent, and whether it may reach a host
CASES = [
    ("length indicator of another length", patched(4, b"\x20"), False), ("CR without LF", rdp_text.request(b"", b"Cookie: mstshash=alice\r"), False),
    ("TPKT length 4", bytes.fromhex("0300000406e00000000000"), False), ("a Data TPDU", bytes.fromhex("0300000702f080"), False),
    ("a TLS ClientHello", bytes.fromhex("160301003c0100003803034a5b"), False), ("HTTP", b"GET / HTTP/1.1\r\n\r\n", False),
    ("negotiation block of length 9", ALICE[:-8] + b"\x01\x00\x09\x00\x0b\x00\x00\x00", False),
    ("correlation announced and absent", ALICE[:-8] + b"\x01\x08\x08\x00\x0b\x00\x00\x00", False),
    ("NUL in the name", rdp_text.request(b"Cookie: mstshash=al\0ice"), False), ("TPKT length 260", b"\x03\x00\x01\x04\xff\xe0" + bytes(254), False),
    ("class 4", patched(10, b"\x40"), False), ("TPKT version 2", patched(0, b"\x02"), False),
    ("no line at all", rdp_text.request(), True), ("eleven octets", rdp_text.request(b"", b""), True),
    ("a token and a cookie", rdp_text.request(b"Cookie: msts=2915407823\r\nCookie: mstshash=alice"), True),
    ("a collection", rdp_text.request(b"tsv://MS Terminal Services Plugin.1.Sales"), True),
    ("unknown protocol bits", ALICE[:-8] + b"\x01\x02\x08\x00\x1b\x00\x00\x00", True),
]


def talk(g, octets, cut=0, wait=15.0, at="127.0.0.1"):
    """-> what came back, and after how long the end came (None: not closed)"""
    host, port = g.at("desktops").rsplit(":", 1)
    with socket.create_connection((host, int(port)), 5, (at, 0)) as c:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c.settimeout(wait * SLOW)
        begin, got = time.monotonic(), b""
        try:
            for piece in ([octets[i:i + cut] for i in range(0, len(octets), cut)] if cut else [octets]):
                c.sendall(piece)
                if cut:
                    time.sleep(0.002)
            while d := c.recv(4096):
                got += d
                if got[5:6] == b"\xd0":
                    return got, None
        except ConnectionError:
            pass
        except socket.timeout:
            return got, None
        return got, time.monotonic() - begin


def run(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2)]
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_rdp(hosts, service="handshake-timeout = 10s"))
    total = lambda: sum(g.drops("desktops").values())
    requests = lambda: sum(h.stats()["requests"] for h in hosts)
    for n, (what, octets, good) in enumerate(CASES):
        for cut in (0, 1, 5):
            before, reached = total(), requests()
            got, ended = talk(g, octets, cut, at=f"127.0.1.{n + 1}")
            if good:
                check(got[5:6] == b"\xd0", f"{what}, cut {cut}: no Confirm but {got!r}")
                equal(requests(), reached + 1, f"{what}, cut {cut}: requests at the hosts")
                seen = [r["hex"] for h in hosts for r in h.ask("requests")["requests"]]
                check(octets.hex() in seen, f"{what}, cut {cut}: the request was changed")
            else:
                check(got == b"" and ended is not None and ended < 8 * SLOW, f"{what}, cut {cut}: got {got!r}, closed after {ended} s")
                equal(requests(), reached, f"{what}, cut {cut}: requests at the hosts")
                until(f"{what} is counted", lambda: total() > before)
    check(len(g.drops("desktops")) >= 6, "reasons are told apart:", g.drops("desktops"))

    with socket.socket() as trap:                            # a token may not choose whom we dial
        trap.bind(("127.0.0.1", 0))
        trap.listen()
        trap.settimeout(0.5)
        got, _ = talk(g, rdp_text.request(rdp_text.token(*trap.getsockname())))
        check(got[5:6] == b"\xd0", "a token that names a stranger: the next key decides", repr(got))
        try:
            trap.accept()
            check(False, "a stranger that a token named was dialled")
        except socket.timeout:
            pass

    g.reload(head + s.ini_rdp(hosts, service="handshake-timeout = 1s"))
    got, ended = talk(g, ALICE[:20])                         # the opening has a deadline, from accept on
    check(got == b"" and ended is not None and 0.8 < ended < 8 * SLOW, f"half a request: {got!r}, closed after {ended} s")

    for h in hosts:
        h.ask("set mode=down")
    g.reload(head + s.ini_rdp(hosts, pool="probe = connect\nprobe-interval = 200ms\nprobe-timeout = 3s\nprobe-fall = 1\non-down = move\ndial-limit = 1s"))
    for h in hosts:
        g.wait_state(h.label, "down")
    got, ended = talk(g, rdp_text.request(b"Cookie: mstshash=newcomer"))
    equal(got, rdp_text.REFUSED, "the answer when no host is left")
    check(ended is not None, "it was not closed afterwards")
