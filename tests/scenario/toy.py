"""What the gateway's own protocols use only in part, with the toy protocol (tests/front_toy): a flow is told something by another flow, and by a
datagram, on whatever worker it lives; a name of another boot or of a flow that is gone reaches nobody; a datagram is held for its time and
then goes to its key's server; an entry that was learnt decides. Without letters between workers half of the flows hear nothing."""
import os, socket, threading, time

from scenario import SLOW, Skip, check, equal, until


class Lines:
    """a server of the toy protocol: answers each line with its name, over TCP; keeps datagrams with the time they came"""
    def __init__(self, name):
        self.name, self.got = name, []
        self.tcp, self.udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        for target in (self.accept, self.datagrams):
            threading.Thread(target=target, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=self.tcp.accept()[:1], daemon=True).start()

    def serve(self, c):
        with c, c.makefile("rb") as f:
            try:
                for line in f:
                    c.sendall(self.name.encode() + b" " + line)
            except OSError:
                pass

    def datagrams(self):
        while True:
            self.got.append((self.udp.recv(2048), time.monotonic()))

    def line(self, kind):
        return f"{self.name} {kind}://127.0.0.1:{(self.tcp if kind == 'tcp' else self.udp).getsockname()[1]}"


class Flow:
    def __init__(self, at):
        host, port = at.rsplit(":", 1)
        self.c = socket.create_connection((host, int(port)), 20)
        self.f = self.c.makefile("rb")
        self.c.settimeout(20 * SLOW)
        self.name = self.ask("name").decode().split()

    def ask(self, line):
        self.c.sendall(line.encode() + b"\n")
        return self.f.readline()


def letters(g, flows, ask_udp):
    workers = {f.name[0] for f in flows}
    equal(workers, {"0", "1"}, "workers that hold flows")
    for n, (a, b) in enumerate(zip(flows, flows[1:])):        # neighbours: of the same and of another worker
        b.c.sendall(f"tell {' '.join(a.name)} word{n}.\n".encode())
        equal(a.c.recv(100), f"word{n}.".encode(), f"what {a.name} heard from {b.name}")
    for n, a in enumerate(flows):
        ask_udp(f"tell {' '.join(a.name)} datagram{n}.")
        equal(a.c.recv(100), f"datagram{n}.".encode(), f"what {a.name} heard from a datagram")
    gone = lambda: g.drops("toys").get("flow-gone", 0)
    worker, slot, generation, boot = flows[0].name
    before = gone()
    for wrong in ((worker, slot, str(int(generation) + 1), boot), (worker, "999999", generation, boot), ("7", slot, generation, boot), (worker, slot, generation, str(int(boot) ^ 1))):
        ask_udp(f"tell {' '.join(wrong)} nothing")
    until("letters to nobody are counted", lambda: gone() >= before + 3)
    flows[0].c.settimeout(0.2)
    try:
        check(False, "a letter with a wrong name arrived:", repr(flows[0].c.recv(100)))
    except socket.timeout:
        pass


def run(s):
    program = os.path.join(os.path.dirname(s.program("HOLDFAST_BIN", "holdfast")), "holdfast-toy")
    if not os.access(program, os.X_OK):
        raise Skip("holdfast-toy is not built beside HOLDFAST_BIN")
    servers = [Lines(f"toy{i}") for i in (1, 2, 3)]
    pool = lambda name, kind: f"[pool {name}]\nprobe = none\n" + "\n".join("server = " + x.line(kind) for x in servers) + "\n\n"
    g = s.gateway(s.ini_gateway() + "[service toys]\nprotocol = toy\nlisten = tcp://127.0.0.1:0 udp://127.0.0.1:0\npool = toys\n\n" + pool("toys", "tcp")
                  + "[service holds]\nprotocol = toy\nlisten = udp://127.0.0.1:0\npool = holds\n\n" + pool("holds", "udp"), program=program)
    flows = [Flow(g.at("toys", "tcp")) for _ in range(24)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
        u.settimeout(10 * SLOW)
        to = lambda service: (lambda h, p: (h, int(p)))(*g.at(service, "udp").rsplit(":", 1))
        letters(g, flows, lambda text: u.sendto(text.encode(), to("toys")))

        for i in range(20):                                   # a held datagram goes where an entry, made meanwhile, says
            u.sendto(f"learn key{i}".encode(), to("holds"))
            home = u.recv(100).decode()
            equal(g.where(f"key{i}", "holds")["server"], home, f"where key{i}")
            begin = time.monotonic()
            u.sendto(f"hold 300 key{i} text{i}".encode(), to("holds"))
            if i % 5 == 0:
                server = next(x for x in servers if x.name == home)
                until(f"text{i} at {home}", lambda: any(t == f"text{i}".encode() for t, _ in server.got))
                waited = next(at for t, at in server.got if t == f"text{i}".encode()) - begin
                check(0.25 < waited < 5 * SLOW, f"a hold of 300 ms took {waited:.3f} s")
    for n, f in enumerate(flows):
        f.c.settimeout(20 * SLOW)
        got = f.ask(f"open key{n % 6}").decode().split()
        equal(got[1:], ["open", f"key{n % 6}"], "the server's first line")
        f.home = got[0]
    for a, b in zip(flows, flows[6:]):
        equal(a.home, b.home, "flows of one key")
    for f in flows:
        equal(f.ask("anything").decode(), f"{f.home} anything\n", "what is relayed")
    equal(sum(x["sessions"] for x in g.ctl("servers")["servers"] if x["pool"] == "toys"), 6, "sessions of toys")
    for f in flows:
        f.c.close()
