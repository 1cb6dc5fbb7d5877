"""NLA through the gateway: a FreeRDP shadow server that takes nothing else accepts the right password and refuses a wrong one, and its screen is on the
client's picture. A gateway that ends TLS, or writes into the handshake, breaks CredSSP's channel binding."""
import os, socket, subprocess

from _screens import keep, look, near, screen, xfreerdp
from scenario import check, equal, free_port, need, until

TIMEOUT = 150
COLOUR = "4b0082"


def shadow(s, display):
    port, sam, home = free_port(), s.path("sam"), s.path("shadow-home")
    os.makedirs(home)
    with open(sam, "w") as f:
        f.write(subprocess.run(["winpr-hash", "-u", "alice", "-p", "lab", "-f", "sam"], capture_output=True, text=True, check=True).stdout + "\n")
    env = dict(os.environ, DISPLAY=display, HOME=home)
    subprocess.run(["xsetroot", "-solid", f"#{COLOUR}"], env=env, check=True, timeout=20)
    s.start("xterm", ["xterm", "-fa", "Monospace", "-fs", "20", "-geometry", "30x5+20+20", "-e", "sh", "-c", "echo a shadowed screen; exec sleep 600"], env=env)
    p = s.start("shadow", ["freerdp-shadow-cli", "/bind-address:127.0.0.1", f"/port:{port}", "/sec:nla", "+auth", f"/sam-file:{sam}"], env=env)
    return p, f"shadow1 127.0.0.1:{port}"


def listens(line):
    with socket.socket() as c:
        return c.connect_ex(("127.0.0.1", int(line.rpartition(":")[2]))) == 0


def run(s):
    need("freerdp-shadow-cli", "winpr-hash", "xfreerdp", "xterm", "xsetroot")
    p, line = shadow(s, screen(s))
    display = screen(s)
    until("the shadow server listens", lambda: listens(line) or check(p.alive(), "the shadow server ended:", p.text()[-1500:]))
    g = s.gateway(s.ini_gateway() + s.ini_rdp([line]))
    at = g.at("desktops")
    for password, good in (("lab", True), ("wrong", False)):
        r = xfreerdp(s, display, at, "nla", "alice", f"/p:{password}", "/sec:nla", "+auth-only", wait=True)
        equal(r.returncode == 0, good, f"NLA with the password {password}: exit {r.returncode}: {r.stdout[-600:]}{r.stderr[-600:]}")
    c, seen = xfreerdp(s, display, at, "desktop", "alice", "/p:lab", "/sec:nla"), []

    def shown():
        seen[:] = look(s, display, "shadow-nla")
        check(c.alive(), "xfreerdp ended:", c.text()[-1500:])
        return near(seen[2], COLOUR) and seen[1] > 2
    until("the shadowed screen is on the client's", shown, 60, 0.4)
    keep(seen[0])
    equal(g.where("user:alice", "farm")["why"], "bond", "alice after 1 KB each way")
    c.end(5)
    g.stop()
