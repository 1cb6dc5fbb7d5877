"""What a phone's connection costs the gateway while it is idle: two thousand over TCP and as many pages, each registered once over its own, take at most
2 KB resident each. Fails when a connection keeps a buffer that it does not need between messages."""
import resource, socket, sys

from scenario import BARE, PEERS, Skip, check

sys.path.insert(0, PEERS)
import web

N, MOST_KB = 2000, 2.0


def register(via, n):
    return (f"REGISTER sip:lab.example SIP/2.0\r\nVia: SIP/2.0/{via};branch=z9hG4bKr{n}\r\nMax-Forwards: 70\r\nFrom: <sip:u{n}@lab.example>;tag=1\r\nTo: <sip:u{n}@lab.example>\r\n"
            f"Call-ID: r{n}\r\nCSeq: 1 REGISTER\r\nSupported: path, outbound\r\nContact: <sip:u{n}@p{n}.invalid>\r\nContent-Length: 0\r\n\r\n").encode()


def until_says(sock, word):
    got = b""
    while word not in got:
        more = sock.recv(4096)
        check(more, f"closed instead of {word}:", got)
        got += more


def run(s):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3 * N:
        raise Skip(f"{hard} descriptors are too few")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * N + 200), hard))
    pbx = s.sip_server("pbx1")
    g = s.gateway(s.ini_gateway(extra="max-flows = 9000") + s.ini_sip([pbx], listen="udp://127.0.0.1:0 tcp://127.0.0.1:0 ws://127.0.0.1:0", service="max-openings-source = off"))
    socks, cost = [], {}
    for scheme in ("tcp", "ws"):
        for warm in (N // 4, N):                         # the first ones fill tables and the like
            before = g.rss_kb()
            for n in range(len(socks), len(socks) + warm):
                host, port = g.at("calls", scheme).rsplit(":", 1)
                c = socket.create_connection((host, int(port)), timeout=20)
                socks.append(c)
                if scheme == "ws":
                    c.sendall(web.request(host)[0])
                    until_says(c, b"\r\n\r\n")
                c.sendall(web.frame(web.BINARY, register("WS p.invalid", n)) if scheme == "ws" else register("TCP 127.0.0.1", n))
                until_says(c, b"SIP/2.0 200")
            cost[scheme] = (g.rss_kb() - before) / warm
    check(not BARE or all(x <= MOST_KB for x in cost.values()), f"KB a connection: {cost}")
    print(", ".join(f"{x:.2f} KB a connection over {k}" for k, x in cost.items()), end="")
