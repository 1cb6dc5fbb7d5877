"""sipp's calls over TLS on both sides, through socat: INVITE, INFO, re-INVITE and BYE of each reach the server of the first answer while a second server joins,
certificates change, and a crowd of connections comes and goes beside them; behind the crowd the gateway's memory is what it was (case b125)."""
import contextlib, socket

from _certs import Authority, dial
from _sipp import all_good, callers, server
from scenario import BARE, FULL, check, free_port, need, until

TIMEOUT = 150


def wrapped(s, name, pair, at):
    """a server's plain port behind a TLS one"""
    port = free_port()
    s.start(f"{name}-tls", ["socat", f"OPENSSL-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,cert={pair.cert},key={pair.key},verify=0", f"TCP:{at}"])
    listens(port)
    return f"127.0.0.1:{port}"


def listens(port):
    def there():
        with socket.socket() as c:
            return not c.connect_ex(("127.0.0.1", port))
    until("socat listens", there)


def churn(g, context, rounds, crowd):
    """connections up, used, and gone, a crowd at a time; the gateway's memory behind each round"""
    kb = []
    for n in range(rounds):
        socks = [dial(g.at("calls", "tls"), context) for _ in range(crowd)]
        for c in socks:
            c.sendall(b"\r\n\r\n")
        for c in socks:
            check(c.recv(2) == b"\r\n", "a keep-alive's answer")
        for i, c in enumerate(socks):
            if i % 2:
                c.close()                                 # without a word
            else:
                c.settimeout(0.001)                       # in order; the other side's end may wait for answers, and is not waited for
                with contextlib.suppress(OSError):
                    c.unwrap()
                c.close()
        until("they are gone", lambda: g.status()["services"][0]["flows"] <= 12)
        kb.append(g.rss_kb())
    return kb


def run(s):
    need("sipp", "socat")
    ca = Authority(s)
    gw, pbx = ca.make("gw", "DNS:gw.example.com,IP:127.0.0.1"), ca.make("pbx", "DNS:pbx.example.com")
    plain = [server(s, f"uas{x}", "t1") for x in "ab"]
    lines = [f"uas{x} tls://{wrapped(s, f'uas{x}', pbx, line.split('://')[1])} tls-name=pbx.example.com" for x, (_, line) in zip("ab", plain)]
    top = s.ini_gateway()
    ini = lambda n: top + s.ini_sip(lines[:n], listen="tls://127.0.0.1:0", service=f"tls-certificate = {gw.line()}\nmax-openings-source = off", pool=f"probe = none\ntls-ca = {ca.cert}")
    g = s.gateway(ini(1))
    port = free_port()
    s.start("phones-tls", ["socat", f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork", f"OPENSSL:{g.at('calls', 'tls')},cafile={ca.cert},commonname=gw.example.com"])
    listens(port)
    calls = 400 if FULL else 100
    c = callers(s, f"127.0.0.1:{port}", calls, calls / 2, 1500, "t1", "callers")
    until("half of the calls are up", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) > calls / 2 or not c.alive())
    g.reload(ini(2))
    for _ in range(3):
        ca.make("gw", "DNS:gw.example.com,IP:127.0.0.1", into="gw")
        g.reload(ini(2))
    crowd, rounds = (1000, 50) if FULL else (190, 6)
    kb = churn(g, ca.trusts(), rounds, crowd)
    all_good(s, c, calls, "calls over TLS")
    until("no session is left", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
    check(not BARE or kb[-1] < kb[1] + 1500, "memory grows with connections that came and went:", kb)
    print(f"{calls} calls, {rounds * crowd} connections beside them, {kb[1]} to {kb[-1]} KB", end="")
    g.stop()
