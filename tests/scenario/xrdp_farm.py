"""Two real xrdp hosts, real logins by xfreerdp: the desktop of a user (the picture that it was the first time, and one session in all) is the same after a
disconnect, while its host drains, after a reload that adds a third host, after the gateway was stopped, and after it was killed; a new user does not land at the draining one. Without the bond a
second desktop is started elsewhere. Each host lives in namespaces of its own, with its own /etc/xrdp and accounts: nothing of the machine changes."""
import os, re, subprocess

from _screens import keep, look, near, same, screen, xfreerdp
from rdp_shadow import listens
from scenario import Skip, check, equal, free_port, need, until

TIMEOUT = 300
COLOURS = {1: "000080", 2: "006400", 3: "800000"}
USERS = ("hfalice", "hfbob", "hfcarol")
PASSWORD = "lab"
SESSION = """#!/bin/sh
# a session: a root window in the host's colour, an xterm that names it; and a line in the user's home for each session that begins
echo "{i} $DISPLAY $$" >> "$HOME/sessions"
xsetroot -solid '#{colour}'
exec xterm -fa Monospace -fs 20 -geometry 30x5+20+20 -e sh -c 'echo "host xrdp{i}"; echo "user $USER"; echo "display $DISPLAY"; exec sleep 3600'
"""
# One namespace a host: its configuration, accounts and sockets lie over the machine's; its processes end with it.
HOST = """set -e
mount --bind "$1/etc" /etc/xrdp
for f in passwd shadow group; do mount --bind "$1/$f" /etc/$f; done
mkdir -p /run/xrdp && mount -t tmpfs none /run/xrdp && mkdir -p /run/xrdp/sockdir && chmod 1777 /run/xrdp/sockdir
xrdp-sesman --nodaemon &
xrdp --nodaemon &
wait
"""


def edit(path, **values):
    with open(path) as f:
        text = f.read()
    for name, value in values.items():
        text = re.sub(rf"(?m)^#?{name}=.*", f"{name}={value}", text, count=1)
    with open(path, "w") as f:
        f.write(text)


def accounts(s, d):
    digest = subprocess.run(["openssl", "passwd", "-6", PASSWORD], capture_output=True, text=True, check=True).stdout.strip()
    rows = dict(passwd=[], shadow=[], group=[])
    for n, u in enumerate(USERS):
        home, uid = s.path(f"home.{u}"), 61000 + n
        os.makedirs(home, exist_ok=True)
        os.chown(home, uid, uid)
        rows["passwd"].append(f"{u}:x:{uid}:{uid}::{home}:/bin/sh")
        rows["shadow"].append(f"{u}:{digest}:19000:0:99999:7:::")
        rows["group"].append(f"{u}:x:{uid}:")
    for name, more in rows.items():
        with open(f"/etc/{name}") as f:
            text = f.read()
        with open(f"{d}/{name}", "w", opener=lambda p, flags: os.open(p, flags, 0o600 if name == "shadow" else 0o644)) as f:
            f.write(text.rstrip("\n") + "\n" + "\n".join(more) + "\n")


def host(s, i):
    """an xrdp with its session manager -> its line for the pool"""
    d, port = s.path(f"host{i}"), free_port()
    subprocess.run(["cp", "-a", "/etc/xrdp", f"{d}.etc"], check=True)
    os.makedirs(d)
    os.rename(f"{d}.etc", f"{d}/etc")
    accounts(s, d)
    for name in ("key.pem", "cert.pem"):
        if os.path.lexists(f"{d}/etc/{name}"):
            os.unlink(f"{d}/etc/{name}")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN=xrdp{i}.lab", "-keyout", f"{d}/etc/key.pem", "-out", f"{d}/etc/cert.pem"],
                   check=True, capture_output=True)
    edit(f"{d}/etc/xrdp.ini", port=f"tcp://127.0.0.1:{port}", certificate=f"{d}/etc/cert.pem", key_file=f"{d}/etc/key.pem", LogFile=f"{d}/xrdp.log", EnableSyslog="false", autorun="Xvnc")
    edit(f"{d}/etc/sesman.ini", ListenPort=free_port(), X11DisplayOffset=100 + os.getpid() % 400 * 10 + 3 * i, LogFile=f"{d}/sesman.log", EnableSyslog="false", EnableUserWindowManager="false")
    with open(f"{d}/etc/startwm.sh", "w") as f:
        f.write(SESSION.format(i=i, colour=COLOURS[i]))
    os.chmod(f"{d}/etc/startwm.sh", 0o755)
    s.start(f"xrdp{i}", ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child=KILL", "sh", "-c", HOST, "sh", d])
    return f"xrdp{i} 127.0.0.1:{port}"


def sessions(s, user):
    path = s.path(f"home.{user}/sessions")
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return f.read().splitlines()


def come(s, displays, g, user, name):
    """logs in, waits for the desktop, which later looks as it did the first time, leaves -> the number of the host that the picture shows"""
    c, seen = xfreerdp(s, displays[user], g.at("desktops"), name, user, f"/p:{PASSWORD}"), []

    def desktop():
        seen[:] = look(s, displays[user], name)
        check(c.alive(), f"xfreerdp of {user} ended:", c.text()[-1500:])
        like = look(s, displays[user], f"{name}-still")[0] if name.endswith("-first") else s.path(f"{user}-first.png")
        return any(near(seen[2], k) for k in COLOURS.values()) and seen[1] > 2 and same(like, seen[0])
    until(f"{user}'s desktop is on the screen ({name})", desktop, 60, 0.4)
    keep(seen[0])
    c.end(5)
    return next(i for i, colour in COLOURS.items() if near(colour, seen[2]))


def run(s):
    need("xrdp", "xrdp-sesman", "Xvnc", "xterm", "xsetroot", "xauth", "openssl", "xfreerdp", "unshare")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode:
        raise Skip("namespaces of our own are not allowed here")
    os.chmod(s.dir, 0o755)
    displays = {u: screen(s) for u in USERS}
    lines = [host(s, i) for i in (1, 2, 3)]
    probe = "probe = confirm\nprobe-interval = 500ms\nprobe-timeout = 3s\nprobe-rise = 1\nload-factor = 1.0"
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_rdp(lines[:2], probe))
    for i in (1, 2):
        until(f"xrdp{i} listens and confirms a probe", lambda: listens(lines[i - 1]) and g.state(f"xrdp{i}") == "up")
    homes = {}
    for u in USERS[:2]:
        homes[u] = come(s, displays, g, u, f"{u}-first")
        equal(g.where(f"user:{u}", "farm")["server"], f"xrdp{homes[u]}", f"{u}'s bond")
        equal(come(s, displays, g, u, f"{u}-again"), homes[u], f"{u} after a disconnect")
    equal(sorted(homes.values()), [1, 2], "with a load factor of 1 two users have two hosts")
    alice, other = f"xrdp{homes['hfalice']}", homes["hfbob"]
    g.ctl("drain", alice)
    equal(come(s, displays, g, "hfalice", "hfalice-drained"), homes["hfalice"], "alice while her host drains")
    equal(come(s, displays, g, "hfcarol", "hfcarol-first"), other, "a new user while a host drains")
    g.reload(head + s.ini_rdp(lines, probe))
    g.wait_state("xrdp3", "up")
    for u in USERS[:2]:
        equal(come(s, displays, g, u, f"{u}-reloaded"), homes[u], f"{u} after a reload")
    for how in ("stop", "kill"):
        getattr(g, how)()
        until("the gateway is gone", lambda: not g.alive())
        g = s.gateway(head + s.ini_rdp(lines, probe))
        for u in USERS[:2]:
            equal(come(s, displays, g, u, f"{u}-{how}"), homes[u], f"{u} after a {how} of the gateway")
    for u in USERS:
        equal(len(sessions(s, u)), 1, f"sessions that {u} has had: {sessions(s, u)}")
    g.stop()
    print("3 users, 12 logins, 3 desktops", end="")
