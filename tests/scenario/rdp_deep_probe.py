"""The deep probe of RDP hosts against real ones: xrdp (TLS) and a FreeRDP shadow server that wants NLA are up, one whose password is checked too goes by the
right and the wrong one, a port that takes connections and says nothing is down by the deadline; no process is left. Without the stop at the certificate
the probe would hang where a password is needed."""
import os

from _screens import screen
from probe_program import children
from rdp_shadow import listens, shadow
from scenario import Skip, check, equal, need, until
from xrdp_farm import host

TIMEOUT = 120


def credentials(s, password):
    path = s.path(f"secret.{password}")
    with open(path, "w", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
        f.write(f"# of the probe\nuser alice\npassword {password}\n")
    return path


def run(s):
    need("xrdp", "xrdp-sesman", "openssl", "unshare", "freerdp-shadow-cli", "winpr-hash", "xterm", "xsetroot")
    if os.geteuid() != 0:
        raise Skip("namespaces of our own need root")
    try:
        probe = s.program("HOLDFAST_RDP_PROBE", "holdfast-rdp-probe")
    except Exception:
        raise Skip("holdfast-rdp-probe is not built: no libfreerdp")
    os.chmod(s.dir, 0o755)
    xrdp = host(s, 1)
    p, nla = shadow(s, screen(s))
    for line in (xrdp, nla):
        until("it listens", lambda at=line: listens(at))
    mute = s.rdp_host("mute")
    mute.ask("set mode=silence")

    def ini(asked="", silent="--timeout 1", patience="5s"):
        rest = "probe-rise = 1\nprobe-fall = 1\nprobe-program = "
        return (s.ini_gateway() + s.ini_rdp([xrdp, nla], f"probe = program\nprobe-interval = 5s\nprobe-timeout = 5s\n{rest}{probe} {asked} {{address}} {{port}}") +
                s.ini_rdp([mute], f"probe = program\nprobe-interval = 500ms\nprobe-timeout = {patience}\n{rest}{probe} {silent} {{address}} {{port}}", name="other", pool_name="other"))
    g = s.gateway(ini())
    g.wait_state("mute", "down")
    equal(g.server("mute")["last_failure"], "no answer in time", "of the silent one")
    g.reload(ini(silent="--timeout 60", patience="1s"))
    until("killed by the gateway", lambda: g.server("mute")["last_failure"] == "no end in time", 20)
    until("the other two were asked", lambda: len(children(g)) < 2)
    for name in ("xrdp1", "shadow1"):
        equal((g.state(name), g.server(name)["last_failure"]), ("up", ""), name)
    check(p.alive(), "the shadow server ended")

    g.reload(ini(f"--credentials {credentials(s, 'wrong')}").replace("probe-interval = 5s", "probe-interval = 1s"))
    g.wait_state("shadow1", "down")
    equal(g.server("shadow1")["last_failure"], "refused the log-on by NLA", "a wrong password")
    g.reload(ini(f"--credentials {credentials(s, 'lab')}").replace("probe-interval = 5s", "probe-interval = 1s"))
    g.wait_state("shadow1", "up")
    g.stop()
