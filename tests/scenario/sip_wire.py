"""tshark reads both sides of the gateway while sipp's calls run over UDP and TCP: not one packet is malformed to it or an error to its expert, and
the requests on the two sides are the same calls. What the splices write is here read by somebody else's dissector."""
import os, signal, socket, subprocess

from _sipp import all_good, callers, server
from scenario import SLOW, Skip, check, equal, need, until

TIMEOUT = 120
CALLS = 40


def tshark(*argv):
    return subprocess.run(["tshark", *argv], capture_output=True, text=True, timeout=60 * SLOW)


def packets(path, decode, *argv):
    r = tshark("-r", path, *decode, *argv)
    check(r.returncode == 0, "tshark cannot read what was captured:", r.stderr[-600:])
    return [line for line in r.stdout.splitlines() if line.strip()]


def writes(path, at):
    """what comes to the gateway now is kept: a keep-alive is in the file"""
    host, port = at.rsplit(":", 1)
    size = os.path.getsize(path) if os.path.exists(path) else 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as c:
        until("packets are kept", lambda: c.sendto(b"\r\n\r\n", (host, int(port))) and os.path.exists(path) and os.path.getsize(path) > size + 400, every=0.2)


def whole(path):
    """nothing has been kept for a second: the last packet is there"""
    seen = [0]

    def same():
        seen.append(os.path.getsize(path))
        return len(seen) > 5 and len(set(seen[-5:])) == 1
    until("the last packet is kept", same, every=0.25)


def run(s):
    need("tshark", "sipp")
    (_, udp), (_, tcp) = server(s, "uas1"), server(s, "uas2", "t1")
    g = s.gateway(s.ini_gateway() + s.ini_sip([udp, tcp], listen="udp://127.0.0.1:0 tcp://127.0.0.1:0"))
    ports = dict(udp=[g.at("calls", "udp"), udp], tcp=[g.at("calls", "tcp"), tcp])
    ports = {k: [x.rsplit(":", 1)[1] for x in v] for k, v in ports.items()}
    path, want = s.path("wire.pcapng"), " or ".join(f"{k} port {p}" for k, v in ports.items() for p in v)
    decode = [x for k, v in ports.items() for p in v for x in ("-d", f"{k}.port=={p},sip")]
    shark = s.start("tshark", ["tshark", "-q", "-i", "lo", "-f", want, "-w", path])
    until("tshark captures", lambda: "Capturing on" in shark.text() or (not shark.alive() and "ermission" in shark.text()))
    if not shark.alive():
        raise Skip("this user may not capture")
    writes(path, g.at("calls", "udp"))
    for n, (transport, scheme) in enumerate((("u1", "udp"), ("t1", "tcp"))):
        all_good(s, callers(s, g.at("calls", scheme), CALLS, CALLS, 300, transport, f"callers{n}"), CALLS, f"calls over {scheme}")
    whole(path)
    shark.kill(signal.SIGINT)
    equal(shark.p.wait(20), 0, "tshark's exit code")
    fields = ["sip.Method", "sip.Call-ID", "sip.CSeq.seq", "udp.srcport", "udp.dstport", "tcp.srcport", "tcp.dstport"]
    frames = packets(path, decode, "-Y", "sip.Method", "-T", "fields", *(x for f in fields for x in ("-e", f)))
    servers, seen = {v[1] for v in ports.values()}, []     # one frame of a connection may hold several requests
    for line in frames:
        method, call, number, *at = line.split("\t")
        seen += [(m, c, n, bool(servers & set(at))) for m, c, n in zip(method.split(","), call.split(","), number.split(","))]
    bad = packets(path, decode, "-Y", "_ws.malformed or _ws.expert.severity == error or (sip and _ws.expert.severity == warning)", "-T", "fields", "-e", "frame.number", "-e", "_ws.col.Info", "-e", "_ws.expert.message")
    check(not bad, f"{len(bad)} packets that tshark calls faulty:", "\n".join(bad[:10]))
    halves = {}                                          # of each request: is it there before and behind the gateway
    for method, call, number, behind in seen:
        halves.setdefault((method, call, number), set()).add(behind)
    lone = [k for k, v in halves.items() if len(v) != 2]
    check(not lone, f"requests seen on one side alone: {lone[:5]}")
    print(f"{len(seen)} requests read, {len(halves)} on both sides, none faulty", end="")
