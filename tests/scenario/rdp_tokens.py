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
    d = s.desktops(g)

    def token(*words):
        line = g.ctl("token", *words)["token"]
        check(line.startswith(HEAD + "Cookie: msts=hf1."), "the line:", line)
        return line[len(HEAD):].encode()

    def opened(line, source="127.0.0.1", by=None):
        """a connection of a request with this line, and the host that it got"""
        before = {h.label: h.stats()["requests"] for h in hosts}
        host, _, port = (by or g).at("desktops").rpartition(":")
        c = socket.create_connection((host, int(port)), 5, (source, 0))
        c.settimeout(20 * SLOW)
        c.sendall(rdp_text.request(line))
        got = c.recv(4096)
        check(got[5:6] == b"\xd0", "no Confirm:", repr(got))
        return c, next(h.label for h in hosts if h.stats()["requests"] > before[h.label])

    def come(line, source="127.0.0.1"):
        c, label = opened(line, source)
        c.close()
        return label

    def lives(c, label):
        c.sendall(b"who\n")
        check(c.recv(100).startswith(f"host {label}".encode()), f"a desktop at {label}")

    def r64_two_at_once():
        """One user wants two desktops on two hosts at the same time: tokens name them, or the service has no affinity."""
        two = [opened(token("--user", "pat", "--server", h.label), "127.0.0.11") for h in hosts[:2]]
        equal([label for _, label in two], ["ts1", "ts2"], "two tokens of one user")
        none = s.gateway(s.ini_gateway("none", workers=1) + s.ini_rdp(hosts, "probe = none\naffinity = none\nbalance = round-robin"), name="none")
        free = [opened(b"Cookie: mstshash=pat", "127.0.0.11", none) for _ in hosts]
        equal(sorted(label for _, label in free), ["ts1", "ts2", "ts3"], "three connections of one user, without affinity")
        for c, label in two + free:
            lives(c, label)
            c.close()
        none.stop()

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

    first, second = hosts[:2]                                # r33: what the first token named does not bind who shows a second one
    equal(come(token("--user", "rita", "--server", first.label), "127.0.0.12"), first.label, "a signed token")
    equal(come(rdp_text.token(second.host, second.port), "127.0.0.12"), second.label, "and a host's own for another member")
    r64_two_at_once()
    g.stop()
