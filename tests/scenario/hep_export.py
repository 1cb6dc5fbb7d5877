"""Messages to a collector in HEP version 3: every one that comes and goes, over UDP and TCP and from every worker, with addresses, ports, time, Call-ID,
agent number and password; a collector that is not there or does not read slows nobody; a reload switches it on and off."""
import os, socket, struct, sys, time

from scenario import PEERS, check, equal, place, until

sys.path.insert(0, PEERS)
from sip_text import Message

TIMEOUT = 90
CHUNKS = {1: "family", 2: "protocol", 3: "from4", 4: "to4", 5: "from6", 6: "to6", 7: "from_port", 8: "to_port", 9: "seconds", 10: "micros", 11: "type", 12: "agent", 14: "password",
          15: "payload", 17: "session"}


def read(data):
    """the chunks of a packet by name; integers as such"""
    check(data[:4] == b"HEP3" and struct.unpack(">H", data[4:6])[0] == len(data), "no packet:", repr(data[:20]))
    at, got = 6, {}
    while at < len(data):
        vendor, kind, n = struct.unpack(">HHH", data[at:at + 6])
        check(vendor == 0 and kind in CHUNKS and n >= 6 and CHUNKS[kind] not in got, f"chunk {vendor}.{kind} of {n} octets")
        v = data[at + 6:at + n]
        got[CHUNKS[kind]] = v if kind in (3, 4, 5, 6, 14, 15, 17) else int.from_bytes(v, "big")
        at += n
    equal(at, len(data), "the end of the last chunk")
    return got


def hear(c):
    got = []
    c.setblocking(False)
    while True:
        try:
            got.append(read(c.recv(65536)))
        except BlockingIOError:
            return got


def ini(s, servers, hep):
    return s.ini_gateway(extra=hep) + s.ini_sip(servers, "probe = none\nload-factor = off", service="failover = yes", listen="udp://127.0.0.1:0 tcp://127.0.0.1:0")


def run(s):
    servers = [s.sip_server(f"pbx{i}") for i in (1, 2)]
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    c.bind(("127.0.0.1", 0))
    on = f"hep = udp://127.0.0.1:{c.getsockname()[1]}\nhep-id = 77\nhep-password = open"
    g = s.gateway(ini(s, servers, on))
    phones = s.phones(g)
    for x in (phones, *servers):
        x.ask("set t1=8")                                  # all are counted: nothing is sent again because somebody is late
    got = phones.ask("call 20")
    s.all_home(got, "calls")
    s.all_home(phones.ask("bye all"), "hanging up")
    n = 20 * 2 * 6                                           # INVITE, 180, 200, ACK, BYE, 200, each in and out
    until("all are counted", lambda: g.status()["export"]["sent"] >= n)
    x = hear(c)
    equal(len(x), n, "packets")
    equal({(y["family"], y["protocol"], y["type"], y["agent"], y["password"]) for y in x}, {(2, 17, 1, 77, b"open")}, "what all have")
    ours = int(g.at().rsplit(":", 1)[1])
    theirs = {int(p.at.rsplit(":", 1)[1]) for p in servers}
    for y in x:
        m = Message(y["payload"])
        equal(m.get("call-id").encode(), y["session"], "the session of a packet")
        check(y["from4"] == y["to4"] == bytes([127, 0, 0, 1]) and ours in (y["from_port"], y["to_port"]), "addresses:", y)
        check(abs(y["seconds"] + y["micros"] / 1e6 - time.time()) < 60, "its time:", y["seconds"])
    came = [y for y in x if y["to_port"] == ours]
    equal(len(came), n // 2, "of them came")
    requests = [y for y in x if y["payload"].startswith(b"INVITE")]
    equal({y["to_port"] in theirs for y in requests if y["from_port"] == ours}, {True}, "where requests went")
    equal({len(Message(y["payload"]).all("via")) for y in requests if y["from_port"] == ours}, {2}, "a request as it went out has our Via")

    with socket.create_connection((g.at("calls", "tcp").rsplit(":", 1)[0], int(g.at("calls", "tcp").rsplit(":", 1)[1]))) as t:
        t.settimeout(20)
        t.sendall(b"OPTIONS sip:x@192.0.2.1 SIP/2.0\r\nVia: SIP/2.0/TCP 127.0.0.1:5;branch=z9hG4bKtcp\r\nMax-Forwards: 70\r\nFrom: <sip:a@x>;tag=1\r\nTo: <sip:x@x>\r\n"
                  b"Call-ID: over-tcp\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n")
        check(t.recv(4096).startswith(b"SIP/2.0 200"), "no answer over TCP")
    until("those over TCP", lambda: g.status()["export"]["sent"] >= n + 4)
    x = [y for y in hear(c) if y["session"] == b"over-tcp"]
    equal(sorted(y["protocol"] for y in x), [6, 6, 17, 17], "a request over TCP, and its way over UDP")

    g.reload(ini(s, servers, f"hep = udp://{place()}"))       # nobody listens there
    s.all_home(phones.ask("call 30"), "calls without a collector")
    s.all_home(phones.ask("bye all"), "hanging up")
    g.reload(ini(s, servers, "hep = off"))
    equal(g.status()["export"], None, "switched off")
    s.all_home(phones.ask("call 5"), "calls")
    time.sleep(0.1)
    equal(hear(c), [], "packets when it is off")
    g.stop()
