"""Behind a real haproxy that speaks PROXY v2, and another that speaks v1, the client's own address decides its bond, and counts for its limits: two
clients without a name keep a host each, whichever haproxy they come through. A connection from a listed source without a header, with half of one or a
broken one is closed without an octet and counted `proxy-header`; a source that is not listed is not believed: its header is no RDP.
Without the header being read both clients are 127.0.0.1; without the check of the source anybody could be anybody."""
import socket, struct, sys

from scenario import PEERS, SLOW, Peer, check, equal, free_port, need, until

sys.path.insert(0, PEERS)
import rdp_text

SIGN = b"\r\n\r\n\0\r\nQUIT\n"


def v2(source, port=51000):
    return SIGN + b"\x21\x11\x00\x0c" + socket.inet_aton(source) + socket.inet_aton("127.0.0.1") + struct.pack("!HH", port, 3389)


def haproxy(s, gateways):
    """one frontend for each gateway address and word -> its port"""
    ports = [free_port() for _ in gateways]
    text = "global\n  maxconn 100\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n"
    for i, (at, word) in enumerate(gateways):
        text += f"frontend f{i}\n  bind 127.0.0.1:{ports[i]}\n  default_backend b{i}\nbackend b{i}\n  server gw {at} {word}\n"
    with open(s.path("haproxy.cfg"), "w") as f:
        f.write(text)
    p = s.start("haproxy", ["/usr/sbin/haproxy", "-db", "-f", s.path("haproxy.cfg")])

    def takes(port):
        check(p.alive(), "haproxy ended:", p.text()[-1000:])
        with socket.socket() as c:
            return c.connect_ex(("127.0.0.1", port)) == 0
    for port in ports:
        until("haproxy listens", lambda: takes(port))
    return ports


def talk(at, octets, source="127.0.0.1", half=False):
    """what came back until the end"""
    host, port = at.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 5, (source, 0)) as c:
        c.settimeout(20 * SLOW)
        got = b""
        try:
            c.sendall(octets)
            if half:
                c.shutdown(socket.SHUT_WR)
            while d := c.recv(4096):
                got += d
                if got[5:6] == b"\xd0":
                    break
        except ConnectionError:
            pass
        return got


def through(s, ports, g):
    """the same two clients without a name, by either way and more than once"""
    ways = [Peer(s, f"way{i}", "rdp_client.py", f"127.0.0.1:{port}") for i, port in enumerate(ports)]
    homes = {}
    for _ in range(2):                                       # four at once: source-limit
        for way in ways:
            for at in ("127.0.0.21", "127.0.0.22"):
                got = way.ask(f"connect user=nobody{at[-1]} cookie=none at={at}")
                equal(got["answer"], "confirm", f"{at} through {way.label}")
                equal(homes.setdefault(at, got["host"]), got["host"], f"{at} has its host by its own address, through {way.label}")
    equal(len(set(homes.values())), 2, "two clients, two hosts of no more than their share")
    for at, host in homes.items():
        got = g.where(f"source:{at}", "farm")
        equal((got["why"], got["server"]), ("bond", host), f"the bond of {at}")
    check(g.where("source:127.0.0.1", "farm")["why"] != "bond", "haproxy's own address has a bond")


def broken(g):
    request = rdp_text.request(rdp_text.cookie(b"alice"))
    before = g.drops("desktops").get("proxy-header", 0)
    bad = [request, b"PROXY TCP4 127.0.0.9 127.0.0.1 51000\r\n" + request, b"PROXY TCP4 127.0.0.9 127.0.0.1 51000 3389\n" + request, SIGN + b"\x31\x11\0\x0c" + request,
           b"PROXY " + b"x" * 200, SIGN + b"\x21\x11\0\x04abcd" + request]
    for octets in bad:
        equal(talk(g.at("desktops"), octets), b"", f"after {octets[:24]!r}")
    for octets in (b"", b"PROXY TCP4 127.0.0.9", v2("127.0.0.9")[:20]):
        equal(talk(g.at("desktops"), octets, half=True), b"", f"half a header: {octets[:24]!r}")
    until("all counted", lambda: g.drops("desktops").get("proxy-header", 0) == before + len(bad) + 3)
    check(talk(g.at("desktops"), v2("127.0.0.9") + request)[5:6] == b"\xd0", "a good header goes on")
    check(talk(g.at("desktops"), SIGN + b"\x20\0\0\0" + request)[5:6] == b"\xd0", "the balancer's own check, LOCAL")


def unlisted(g):
    """the second service lists 127.0.0.1 alone"""
    request = rdp_text.request(rdp_text.cookie(b"bob"))
    at = g.at("strict")
    check(talk(at, request, "127.0.0.33")[5:6] == b"\xd0", "a client of its own")
    before = g.drops("strict")
    equal(talk(at, v2("127.0.0.9") + request, "127.0.0.33"), b"", "a header from anywhere")
    equal(talk(at, b"PROXY TCP4 127.0.0.9 127.0.0.1 51000 3389\r\n" + request, "127.0.0.33"), b"", "the same in words")
    until("counted as what is no RDP", lambda: g.drops("strict").get("not-rdp", 0) == before.get("not-rdp", 0) + 2)
    equal(g.drops("strict").get("proxy-header", 0), 0, "not read as a header")


def run(s):
    need("haproxy")
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2)]
    pool = "probe = none\nload-factor = 1"                # no host more than its share
    g = s.gateway(s.ini_gateway() + s.ini_rdp(hosts, pool, "proxy-from = 127.0.0.0/8") +
                  s.ini_rdp(hosts, pool, "proxy-from = 127.0.0.1", name="strict", pool_name="farm2"))
    ports = haproxy(s, [(g.at("desktops"), "send-proxy-v2"), (g.at("desktops"), "send-proxy")])
    through(s, ports, g)
    broken(g)
    unlisted(g)
    g.stop()
