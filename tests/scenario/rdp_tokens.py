"""A line from `holdfastctl token` brings a user to the host that it names, past her bond and the placement of new users; without it she then finds
that host by her name. What has had its time or was changed is ignored and counted. Without the signature's check a changed host would be dialled;
without the bond's move she would be back where she was."""
import socket, sys

from scenario import PEERS, SLOW, check, equal, until

sys.path.insert(0, PEERS)
import rdp_text

TIMEOUT = 60
HEAD = "loadbalanceinfo:s:"


def run(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3)]
    g = s.gateway(s.ini_gateway() + s.ini_rdp(hosts, "probe = none\non-down = move"))
    at, port = g.at("desktops").rsplit(":", 1)
    d = s.desktops(g)

    def token(*words):
        line = g.ctl("token", *words)["token"]
        check(line.startswith(HEAD + "Cookie: msts=hf1."), "the line:", line)
        return line[len(HEAD):].encode()

    def come(line, source="127.0.0.1"):
        """the host that a request with this line gets"""
        before = {h.label: h.stats()["requests"] for h in hosts}
        with socket.create_connection((at, int(port)), 5, (source, 0)) as c:
            c.settimeout(20 * SLOW)
            c.sendall(rdp_text.request(line))
            got = c.recv(4096)
            check(got[5:6] == b"\xd0", "no Confirm:", repr(got))
            return next(h.label for h in hosts if h.stats()["requests"] > before[h.label])

    def dropped(reason):
        return g.drops("desktops").get(reason, 0)

    home = d.ask("connect user=alice")["host"]
    d.ask("close")
    other = next(h.label for h in hosts if h.label != home)
    equal(come(token("--user", "OFFICE\\alice", "--server", other)), other, "with a token")
    equal(g.where("user:alice", "farm")["server"], other, "where user:alice, after the token")
    equal(d.ask("connect user=alice")["host"], other, "by name, after the token")
    d.ask("close")
    equal(come(token("--user", "Alice"), "127.0.0.7"), other, "a token that names the user alone")
    g.ctl("drain", home)
    equal(come(token("--server", home, "--ttl", "2m"), "127.0.0.8"), home, "a token that names a host alone")
    g.ctl("undrain", home)

    line = token("--user", "bob", "--server", home, "--ttl", "1s")
    until("its time is over", lambda: come(line, "127.0.0.9") and dropped("token-expired"))
    forged = bytearray(token("--user", "alice", "--server", home))
    forged[-12] ^= 3                                         # still a digit of the form, or a character that is none
    equal(come(bytes(forged) + b"\r\nCookie: mstshash=alice"), other, "a changed token, and her name beside it")
    equal(dropped("token-forged"), 1, "changed tokens")
    check("no server 'nobody'; nearest: ts" in g.ctl("token", "--user", "a", "--server", "nobody", want=1)["error"], "a host that is not there")
    equal(d.ask("check")["moved"], 0, "live desktops that were moved")
    g.stop()
