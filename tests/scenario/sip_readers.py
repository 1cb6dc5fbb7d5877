"""Two workers at one UDP port: with some traffic one of them reads for both and the other one sleeps; calls that were being set up before are
cancelled as if nothing had changed, and when the traffic ends each reads its own again. Without lend_turn both wake for ever; without the directory of
who holds what (keepers), a CANCEL finds nothing; without give_back nobody reads what comes to the second one."""
import os, socket, sys, threading, time

from _ends import endpoint, hop, request
from scenario import PEERS, SLOW, equal, until

sys.path.insert(0, PEERS)
from sip_text import Message

TIMEOUT = 120
OVER = 24                                                  # s: behind 32 a silent server's call is answered 408
CLIENTS = 16                                               # whose ports the system spreads over both workers


def wakes(g):
    """how often each of the two workers has gone to sleep"""
    tasks = f"/proc/{g.pid}/task"
    both = sorted(os.listdir(tasks), key=int)[-2:]         # they start last
    return [int(line.split()[1]) for t in both for line in open(f"{tasks}/{t}/status") if line.startswith("voluntary")]


class Traffic(threading.Thread):
    """OPTIONS from many ports, some hundred a second, until it is ended"""

    def __init__(self, at):
        super().__init__(daemon=True)
        self.at, self.over, self.answers = at, threading.Event(), 0
        self.ends = [endpoint() for _ in range(CLIENTS)]

    def run(self):
        n = 0
        for c, _ in self.ends:
            c.setblocking(False)
        while not self.over.wait(0.02):
            for c, me in self.ends:
                n += 1
                c.sendto(request(me, n, "OPTIONS", mark="busy"), self.at)
                try:
                    while c.recv(65535):
                        self.answers += 1
                except BlockingIOError:
                    pass

    def end(self):
        self.over.set()
        self.join()
        for c, _ in self.ends:
            c.close()


def run(s):
    server = s.sip_server("read1")
    server.ask("set invite=silent")
    g = s.gateway(s.ini_gateway(extra="udp-gather = 10ms\n") + s.ini_sip([server]))
    at = hop(g.at())
    clients = [endpoint() for _ in range(CLIENTS)]

    def heard(c):
        m = Message(c.recv(65535))
        return m.code, m.method

    def call(first, times):
        for n, (c, me) in enumerate(clients):
            c.sendto(request(me, first + n, mark="read"), at)
        until("all calls are being set up", lambda: server.stats()["heard"].get("INVITE", 0) == times * CLIENTS)
        return first, time.monotonic()

    first, begun = call(0, 1)
    traffic = Traffic(at)
    traffic.start()

    def shares():
        before = wakes(g)
        time.sleep(0.3)
        return [b - a for a, b in zip(before, wakes(g))]

    until("one worker reads for both", lambda: (lambda got: got[0] > 15 and got[1] < got[0] / 2)(shares()), every=0)
    if time.monotonic() - begun > OVER:                    # the machine let nobody rest for so long: others in place of calls that end now
        for c, _ in clients:
            c.close()
        clients = [endpoint() for _ in range(CLIENTS)]
        first, _ = call(500, 2)
    for n, (c, me) in enumerate(clients):
        c.sendto(request(me, first + n, "CANCEL", mark="read"), at)
        equal(sorted(heard(c) for _ in range(2)), [(200, "CANCEL"), (487, "INVITE")], f"what client {n} heard")
    equal(g.drops()["cancelled"], 2 * CLIENTS, "CANCELs, and calls that were ended by one")
    traffic.end()
    until("traffic was answered", lambda: traffic.answers > 0)
    time.sleep(0.1 * SLOW)                                 # some pauses without datagrams: each has its own again
    for n, (c, me) in enumerate(clients):
        c.sendto(request(me, 100 + n, "OPTIONS", mark="read"), at)
        equal(heard(c), (200, "OPTIONS"), "an answer when all is quiet")
        c.close()
    g.stop()
