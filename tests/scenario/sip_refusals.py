"""Malformed openings get the protocol's own answer or silence, are counted by reason, and never reach a server (RFC 3261 16.3, 18.3; RULES 13 to 51).
An answer to an ACK, an amplified answer or an uncounted drop fails."""
import socket, sys

from scenario import PEERS, SLOW, check, equal, until

sys.path.insert(0, PEERS)
from sip_text import Message


def invite(**change):
    h = dict(via="Via: SIP/2.0/UDP {me};branch=z9hG4bKref{n};rport", maxfwd="Max-Forwards: 70", frm="From: <sip:a@lab.example>;tag=a{n}", to="To: <sip:b@lab.example>",
             callid="Call-ID: ref{n}@lab.example", cseq="CSeq: 1 INVITE", contact="Contact: <sip:a@{me}>", length="Content-Length: 0")
    start = change.pop("start", "INVITE sip:b@lab.example SIP/2.0")
    body = change.pop("body", "")
    h.update(change)
    return "\r\n".join([start] + [x for x in h.values() if x] + ["", ""]) + body


# what is sent, the code that must come back (0: silence; REFUSED: an answer would lack what it must copy, so silence will do)
REFUSED = (400, 0)
CASES = [
    ("no Call-ID", invite(callid=""), REFUSED), ("two Call-IDs", invite(again="Call-ID: other@lab.example"), 400), ("no CSeq", invite(cseq=""), REFUSED),
    ("CSeq of another method", invite(cseq="CSeq: 1 BYE"), 400), ("CSeq above its range", invite(cseq="CSeq: 99999999999 INVITE"), 400),
    ("no From", invite(frm=""), REFUSED), ("no To", invite(to=""), REFUSED), ("two To", invite(again="To: <sip:c@lab.example>"), 400),
    ("longer than the datagram", invite(length="Content-Length: 2000000000"), 400), ("negative length", invite(length="Content-Length: -1"), 400),
    ("two lengths", invite(again="Content-Length: 5", body="hello"), 400), ("Max-Forwards 0", invite(maxfwd="Max-Forwards: 0"), 483),
    ("Max-Forwards that is no number", invite(maxfwd="Max-Forwards: many"), 400), ("a needed extension", invite(again="Proxy-Require: teleport"), 420),
    ("a version of the future", invite(start="INVITE sip:b@lab.example SIP/7.0"), 505), ("an unknown scheme", invite(start="INVITE nobody:knows SIP/2.0"), 416),
    ("no Via", invite(via=""), 0), ("garbage", "\x01\x02 hello world\r\n\r\n", 0), ("half a line", "INVITE sip:b@lab.exam", 0),
    ("ACK without CSeq", invite(start="ACK sip:b@lab.example SIP/2.0", cseq=""), 0), ("ACK at its last hop", invite(start="ACK sip:b@lab.example SIP/2.0", cseq="CSeq: 1 ACK", maxfwd="Max-Forwards: 0"), 0),
    ("an answer that nobody asked for", invite(start="SIP/2.0 200 OK"), 0),
    ("a Via parameter that we did not sign", invite(start="SIP/2.0 200 OK", via="Via: SIP/2.0/UDP {gw};branch=z9hG4bKnade5nvlg79s8;hf=6265k5u0ro4u7ru6dflo87nuqt9avg0008ph7h17j38goi9l909g\r\nVia: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKx"), 0),
]


def code_of(data):
    return int(data[8:11]) if data.startswith(b"SIP/2.0 ") else -1


def total(g):
    return sum(g.drops().values())


def exchange(g, c, n, text, want, wait=0.25):
    me = "%s:%d" % c.getsockname()
    data = text.format(me=me, n=n, gw=g.at()).encode("latin-1")
    before, host, port = total(g), *g.at().rsplit(":", 1)
    c.settimeout(10 * SLOW if isinstance(want, int) and want else wait)
    c.sendto(data, (host, int(port)))
    try:
        got = c.recv(65535)
    except socket.timeout:
        got = b""
    return data, got, lambda: total(g) > before


def phone():
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    c.bind(("127.0.0.1", 0))
    return c


def run(s):
    pbx = s.sip_server("pbx1")
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_sip([pbx]))
    with phone() as c:
        faults = []
        for n, (what, text, want) in enumerate(CASES):
            with phone() as one:                         # of its own: what comes late is no other one's answer
                data, got, counted = exchange(g, one, n, text, want)
            seen = code_of(got) if got else 0
            if seen not in (want if isinstance(want, tuple) else (want,)):
                faults.append(f"{what}: answered {seen}, want {want or 'silence'}")
            elif got and len(got) > len(data):
                faults.append(f"{what}: the answer has {len(got)} octets for {len(data)}")
            try:
                until("counted", counted)
            except Exception:
                faults.append(f"{what}: no counter moved")
        check(not faults, "; ".join(faults))
        equal(sum(pbx.stats()["heard"].values()), 0, "malformed requests at the server")
        reasons = g.drops()
        check(len(reasons) >= 8, "reasons are told apart:", reasons)

        pbx.kill()                                       # nobody is left: 503 with Retry-After, and its ACK is eaten
        g.reload(head + s.ini_sip([pbx], pool="probe = options\nprobe-interval = 200ms\nprobe-timeout = 100ms\nprobe-fall = 1"))
        g.wait_state("pbx1", "down")
        data, got, _ = exchange(g, c, 900, invite(), 503)
        check(code_of(got) == 503 and b"\r\nRetry-After:" in got, "with no server left:", repr(got[:300]))
        to = "To: " + Message(got).get("to")
        check(";tag=" in to, "no To tag in the answer:", to)
        _, got, _ = exchange(g, c, 900, invite(start="ACK sip:b@lab.example SIP/2.0", cseq="CSeq: 1 ACK", to=to), 0)
        equal(got, b"", "the answer to the ACK of a 503")
