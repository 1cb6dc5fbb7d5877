"""A real xfreerdp through the gateway: its cookie arrives unchanged at a scripted host and every spelling at the same one; then it reaches a real
xrdp, whose login screen is on the screenshot. A gateway that rebuilds the request, or cuts TLS, shows here."""
import os, re, subprocess

from scenario import check, equal, free_port, need, until

TIMEOUT = 120


def screen(s):
    """an X server of its own -> its DISPLAY"""
    read, write = os.pipe()
    s.start("xvfb", ["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24", "-nolisten", "tcp", "-noreset"], pass_fds=[write])
    os.close(write)
    with os.fdopen(read) as f:
        return ":" + f.readline().strip()


def client(s, display, at, name, user, *more):
    host, port = at.rsplit(":", 1)
    env = dict(os.environ, DISPLAY=display, HOME=s.dir, XDG_CONFIG_HOME=s.dir)
    return s.start(name, ["xfreerdp", f"/u:{user}", f"/v:{host}", f"/port:{port}", "/size:640x480", "/bpp:24", "/cert:ignore", "/log-level:WARN", "-decorations", *more], env=env)


def scripted(s, display):
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3)]
    g = s.gateway(s.ini_gateway() + s.ini_rdp(hosts))
    seen = lambda: [(h.label, r["line"]) for h in hosts for r in h.ask("requests")["requests"]]
    for n, user in enumerate(("alice", "alice@lab.example", "LAB\\alice", "ALICE"), 1):
        c = client(s, display, g.at("desktops"), f"client{n}", user, "/sec:tls")
        until(f"the request of {user} at a host", lambda: len(seen()) >= n, 15)
        c.end(3)
        equal(len({h for h, _ in seen()}), 1, f"hosts that the user reached as {user}: {seen()}")
    lines = {line for _, line in seen()}
    check("Cookie: mstshash=alice" in lines and "Cookie: mstshash=alice@lab.example" in lines, "cookies as the client sends them:", lines)
    g.stop()


def xrdp(s, display):
    port = free_port()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=xrdp.lab", "-keyout", s.path("key.pem"), "-out", s.path("cert.pem")],
                   check=True, capture_output=True)
    for n in ("key.pem", "cert.pem"):
        os.chmod(s.path(n), 0o644)
    os.chmod(s.dir, 0o755)
    with open("/etc/xrdp/xrdp.ini") as f:
        ini = f.read()
    for name, value in dict(port=f"tcp://127.0.0.1:{port}", certificate=s.path("cert.pem"), key_file=s.path("key.pem"), LogFile=s.path("xrdp-own.log"), EnableSyslog="false").items():
        ini = re.sub(rf"(?m)^{name}=.*", f"{name}={value}", ini)
    with open(s.path("xrdp.ini"), "w") as f:
        f.write(ini)
    x = s.start("xrdp", ["xrdp", "--nodaemon", "--config", s.path("xrdp.ini")])
    g = s.gateway(s.ini_gateway("second") + s.ini_rdp([f"xrdp1 127.0.0.1:{port}"], "probe = confirm\nprobe-interval = 500ms\nprobe-timeout = 300ms\nprobe-rise = 1"), name="second")
    until("xrdp confirms a probe", lambda: g.state("xrdp1") == "up" or check(x.alive(), "xrdp ended:", x.text()[-1000:]), 10)
    c = client(s, display, g.at("desktops"), "desktop", "carol")
    shot = s.path("shot.png")

    def colours():
        subprocess.run(["import", "-display", display, "-window", "root", shot], capture_output=True, timeout=20)
        r = subprocess.run(["identify", "-format", "%k", shot], capture_output=True, text=True, timeout=20)
        return int(r.stdout or 0) if r.returncode == 0 else 0
    until("the login screen of xrdp is on the screen", lambda: colours() > 30 or check(c.alive(), "xfreerdp ended:", c.text()[-1500:]), 20, 0.5)
    seen = colours()
    keep = os.environ.get("HOLDFAST_SHOTS")
    if keep:
        os.makedirs(keep, exist_ok=True)
        subprocess.run(["cp", shot, os.path.join(keep, "xfreerdp_xrdp.png")])
    got = g.where("user:carol", "farm")
    equal((got["server"], got["why"]), ("xrdp1", "bond"), "carol's bond")
    equal(g.server("xrdp1")["sessions"], 1, "sessions of xrdp1")
    c.end(5)
    print(f"screenshot with {seen} colours", end="")


def run(s):
    need("xfreerdp", "Xvfb", "import", "identify")
    display = screen(s)
    scripted(s, display)
    need("xrdp", "openssl")
    xrdp(s, display)
