"""A host redirects its client, and the client drops the token and comes back by its name alone, as rdesktop does: after redirect-rounds such rounds it is told no,
once and in a way that ends it. Another user of its address is served meanwhile, and so is this one a few seconds later. Without loops() (protocols/rdp/ask.c) it
goes round for ever."""
import sys, threading, time

from _desk import Host, connect, ended, exactly, request
from scenario import PEERS, Skip, check, equal, until

sys.path.insert(0, PEERS)
import rdp_text

TIMEOUT = 60
ROUNDS = 3
REFUSAL = bytes.fromhex("0300000b06800000000000")


def rounds(g, host, name, n, most, **k):
    """so many legs of one user, each over in `most` seconds: on a machine that stalled, of another user once more -> answers, user"""
    for i in range(9):
        user, got, slow = f"{name}{i}", [], False
        for _ in range(n):
            begin = time.monotonic()
            got.append(round_trip(g, host, user, **k))
            slow |= time.monotonic() - begin > most
        if not slow:
            return got, user
    raise Skip("this machine stalls all the time")


def round_trip(g, host, user, talks=True, lasts=0.6):
    """one leg: what the gateway or the host answers; the host ends it, as one that has redirected does"""
    c = connect(g)
    c.sendall(request(user))
    if (head := exactly(c, 11)) == REFUSAL:
        equal(ended(c), "eof", "behind the refusal")
        return "refused"
    h = host.taken.pop()
    equal(head + exactly(c, 8), rdp_text.confirm(True), "an answer")
    begin = time.monotonic()
    for a, b in ((c, h), (h, c)) if talks else ():
        a.sendall(bytes(2000))
        exactly(b, 2000)
    while time.monotonic() - begin < lasts:                 # what a logon takes; thrice what is a round at least
        time.sleep(0.05)
    h.close()
    equal(ended(c), "eof", "the end of a leg")
    c.close()
    return "served"


class Redirects(Host):
    """takes every connection in a thread of its own, so that a client that is refused waits for nobody"""
    def __init__(self, label):
        super().__init__(label)
        self.s.settimeout(None)
        self.taken = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            sock = self.s.accept()[0]
            head = exactly(sock, 4)
            exactly(sock, int.from_bytes(head[2:], "big") - 4)
            self.taken.append(sock)
            sock.sendall(rdp_text.confirm(True))


def run(s):
    host = Redirects("ts1")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([host], f"probe = none\nredirect-rounds = {ROUNDS}"))
    got, alice = rounds(g, host, "alice", ROUNDS + 1, 2)
    equal(got, ["served"] * ROUNDS + ["refused"], "alice's rounds")
    until("it is counted", lambda: g.drops("desktops").get("redirect-loop", 0) >= 1)
    equal(round_trip(g, host, "bob"), "served", "another user")
    equal([round_trip(g, host, "Administr", talks=False) for _ in range(ROUNDS + 2)], ["served"] * (ROUNDS + 2), "a scanner, which is other limits' affair")
    equal(rounds(g, host, "carol", ROUNDS + 2, 0.15, lasts=0)[0], ["served"] * (ROUNDS + 2), "a host that is done with her in no time")
    equal(g.where(f"user:{alice}", "farm")["why"], "bond", "alice's bond")
    until("alice is served again", lambda: round_trip(g, host, alice) == "served", 20)
    g.stop()
