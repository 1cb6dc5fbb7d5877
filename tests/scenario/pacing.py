"""A host that comes back: 300 users who are bound to it wait, and are dialled so many at once, in the order in which they came; all are back on it. Who is
left at a host that drains is listed with the time that is left. Without gate.c all 300 dials are open at once; with a pass that is given back
when a dial fails nobody's turn is kept."""
import asyncio, re, socket, sys, threading

from scenario import PEERS, SLOW, check, equal, free_port, until

sys.path.insert(0, PEERS)
import rdp_text

TIMEOUT = 90
USERS, MOST, SECONDS = 300, 10, 0.02   # a host takes that long to answer


class Host:
    """counts the connections that are open and not answered yet"""
    def __init__(self, label):
        self.label, self.opening, self.most, self.users, self.server, self.port = label, 0, 0, [], None, free_port()   # it comes back there
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.up()

    def call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10 * SLOW)

    async def connection(self, reader, writer):
        try:
            pdu = await rdp_text.read_pdu(reader)           # the gateway's look whether it is back says nothing, and is no dial
            self.opening += 1
            self.most = max(self.most, self.opening)
            self.users.append(rdp_text.read_line(pdu)[0].decode().rsplit("=", 1)[1])
            await asyncio.sleep(SECONDS)
            self.opening -= 1
            writer.write(rdp_text.confirm(True))
            while data := await reader.read(4096):
                writer.write(data)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        writer.close()

    async def start(self):
        self.server = await asyncio.start_server(self.connection, "127.0.0.1", self.port, backlog=1024)

    def up(self):
        self.call(self.start())
        self.at = f"127.0.0.1:{self.port}"

    def down(self):
        self.loop.call_soon_threadsafe(self.server.close)
        until("nobody listens", lambda: not self.server.is_serving())
        self.users, self.most = [], 0


def come(g, n):
    """user n's request is on its way"""
    host, port = g.at("desktops").rsplit(":", 1)
    c = socket.create_connection((host, int(port)), 10 * SLOW)
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    c.sendall(rdp_text.request(b"Cookie: mstshash=u%05d" % n))
    return c


def proved(c):
    """it is there, and has done more than begin"""
    check(c.recv(19, socket.MSG_WAITALL) == rdp_text.confirm(True), "no Confirm")
    c.sendall(b"x" * 1500)
    check(len(c.recv(1500, socket.MSG_WAITALL)) == 1500, "no echo")
    return c


def at(g, x):
    s = g.server("ts1")
    return (s["connecting"], s["queued"]) if x else s["flows"]


def run(s):
    a, b = Host("ts1"), Host("ts2")
    pool = f"probe = none\nprobe-fall = 1\nbalance = least-sessions\nload-factor = off\nmax-connecting = {MOST}\ndial-limit = 60s\ndial-timeout = 60s\non-down = hold 10m"
    ini = s.ini_gateway() + s.ini_rdp([a, (b, "weight=0")], pool)
    g = s.gateway(ini)
    live = [proved(c) for c in [come(g, n) for n in range(USERS)]]
    check(a.most <= MOST and len(a.users) == USERS and not b.users, "at first:", a.most, len(a.users))

    a.down()
    for c in live:
        c.close()
    until("all have gone", lambda: at(g, 0) == 0)
    live = []
    for n in range(USERS):
        live.append(come(g, n))
        if n == 0:
            g.wait_state("ts1", "down")      # his dial has told it
        if n % MOST == MOST - 1:             # a worker that the machine has left out sees them later than they came
            until(f"user {n} has come", lambda: sum(at(g, 1)) == n + 1)
    until("all wait", lambda: at(g, 1) == (MOST, USERS - MOST), 20)
    check(re.search(rf" ts1 .* \d+ \({USERS - MOST} wait\) ", g.run_ctl("servers").stdout), "for people")
    text = g.run_ctl("metrics").stdout
    check(f'holdfast_server_openings{{pool="farm",server="ts1",state="queued"}} {USERS - MOST}' in text, "metrics")
    a.up()
    live = [proved(c) for c in live]
    check(a.most <= MOST, f"{a.most} dials were open at once")
    equal((len(a.users), len(b.users)), (USERS, 0), "users at ts1, at ts2")
    late = max(abs(i - int(u[1:])) for i, u in enumerate(a.users))
    check(late <= 3 * MOST, f"a user was {late} places from his turn: {a.users}")   # ten came at once, ten are dialled at once, two workers
    until("nothing waits", lambda: at(g, 1) == (0, 0))

    g.reload(ini.replace("on-down", "drain-deadline = 1h\non-down"))
    g.ctl("drain", "ts1")
    got = g.ctl("sessions", "--server", "ts1")["pools"][0]
    check(got["matching"] >= got["counted"] >= got["connected"] >= USERS and 3500 < got["deadline_s"] <= 3600 and got["state"] == "drain", "who is left:", {k: got[k] for k in got if k != "sessions"})
    check(re.search(rf"pool farm: {got['counted']} sessions, {got['connected']} of them live; ts1 is off in (60m00s|59m\d\ds)[;\n]", g.run_ctl("sessions", "--server", "ts1").stdout), "for people")
    for c in live:
        c.close()
