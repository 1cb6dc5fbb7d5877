"""Agents: what a scripted one says over TCP decides who gets new users, and is shown. Percents make shares, drain keeps who is there, down and maint
send others away, silence and rubbish change nothing, and what the agent took only the agent gives back. Without agent.c's connection nothing of it
happens; with marks that silence or a probe ends, the host that is down comes back."""
import re, socket, threading

from scenario import check, equal, until

POOL = "probe = connect\nprobe-interval = 200ms\nprobe-timeout = 3s\nbalance = least-sessions\nload-factor = off\nagent-interval = 100ms\non-down = move\nlinger = 1h"


class Agent:
    """answers each connection with `line`; None: not at all"""
    def __init__(self, line):
        self.line, self.asked, self.heard = line, 0, b""
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            c, _ = self.socket.accept()
            with c:
                c.settimeout(5)
                try:
                    self.heard = c.recv(100)
                    if self.line is not None:
                        c.sendall(self.line)
                    self.asked += 1
                except OSError:
                    pass

    def says(self, line):
        """in force: it was asked twice since"""
        self.line, n = line, self.asked
        until(f"{line} was asked for", lambda: self.asked >= n + 2)


def sessions(g):
    return {x["name"]: x["sessions"] for x in g.ctl("servers")["servers"]}


def shown(g, a):
    x = g.server("ts1")
    equal((x["agent"]["port"], x["agent"]["said"], x["agent"]["percent"]), (a.port, "up ready 50% # ok", 50), "ts1's agent")
    check(x["agent"]["said_s"] < 60 and g.server("ts2")["agent"] is None, "agents:", x)
    line = next(line for line in g.run_ctl("servers").stdout.splitlines() if " ts1 " in line)
    check(re.search(r" up ready 50% # ok \(\d+s ago\)", line), "for people:", line)
    text = g.run_ctl("metrics").stdout
    check('holdfast_server_agent_percent{pool="farm",server="ts1"} 50' in text and 'holdfast_server_agent_age_seconds{pool="farm",server="ts1"}' in text, "metrics")


def run(s):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2)]
    a = Agent(b"up ready 50% # ok\n")
    g = s.gateway(s.ini_gateway() + s.ini_rdp([(hosts[0], f"agent={a.port}"), hosts[1]], POOL + "\nagent-send = farm"))
    for h in hosts:
        g.wait_state(h.label, "up")
    until("its half", lambda: g.server("ts1")["agent"]["percent"] == 50)
    equal(a.heard, b"farm\n", "what it is sent first")
    d = s.desktops(g)
    equal(d.ask("many 30 prefix=half").get("confirm"), 30, "users")
    equal(sessions(g), {"ts1": 10, "ts2": 20}, "by half of a weight")
    shown(g, a)

    a.line = b"down # patching\n"
    g.wait_state("ts1", "down")
    x = g.server("ts1")
    check(x["marks"] == ["agent-down"] and x["last_failure"] == "agent: down # patching", "taken down:", x)
    told = str(g.ctl("explain", "user:half-0", "--pool", "farm"))
    a.says(None)                                       # silence
    a.says(b"hello\n")
    equal(g.state("ts1"), "down", "an agent that says nothing")
    d.ask("close")
    got = d.ask("many 30 prefix=half")
    equal((got.get("confirm"), got["hosts"]), (30, {"ts2": 30}), "all are at ts2 (" + told[:200] + ")")
    a.says(b"100%\r\n")
    equal(g.state("ts1"), "down", "percents bring nobody up")
    a.line = b"UP"                                     # and the end of the connection
    g.wait_state("ts1", "up")

    a.line = b"drain"
    g.wait_state("ts1", "drain")
    g.ctl("drain", "ts1")
    equal(g.ctl("undrain", "ts1")["marks"], ["agent-drain"], "what remains is the agent's")
    told = g.ctl("explain", "user:nobody-yet", "--pool", "farm")
    a.line = b"ready"
    g.wait_state("ts1", "up")
    g.ctl("drain", "ts1")
    a.says(b"up ready 100%")
    equal(g.state("ts1"), "drain", "the operator's drain stands")
    g.ctl("undrain", "ts1")
    d.ask("close")

    got = d.ask("many 20 prefix=maint")
    check(got["hosts"].get("ts1", 0) > 5, "new users:", got)
    a.line = b"maint"
    g.wait_state("ts1", "off")
    equal(d.ask("check")["lost"], 0, "who is connected stays")
    equal(d.ask("connect user=fresh")["host"], "ts2", "a new one")
    g.reload(s.ini_gateway() + s.ini_rdp(hosts, POOL))
    equal((g.state("ts1"), g.server("ts1")["agent"]), ("up", None), "nobody asks any more")
    s.no_strangers()
