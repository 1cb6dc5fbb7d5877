"""A state-dir that is full: desktops connect as ever, one line tells it and one its end, status shows it, and when there is room again a new snapshot
follows by itself, from which everybody is back after a power cut. A gateway that gives up, blocks or says it with every try fails here."""
import os, re, shutil, signal, subprocess

from scenario import Skip, check, equal, need, until


def condition(g):
    """the conditions that the metrics name"""
    return re.findall(r'^holdfast_pool_disk_condition\{pool="farm",condition="([a-z-]+)"\} 1$', g.run_ctl("metrics").stdout, flags=re.M)


def metric(g, name):
    return int(re.search(rf"^holdfast_pool_disk_{re.escape(name)} (\d+)$", g.run_ctl("metrics").stdout, flags=re.M)[1])


def run(s):
    need("unshare", "mount")
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", s.dir], capture_output=True).returncode:
        raise Skip("no namespace of our own to mount a small file system in")
    hosts = [s.rdp_host(f"ts{i}") for i in (1, 2, 3)]
    ini = s.ini_gateway(extra="sync-interval = 100ms") + s.ini_rdp(hosts, "probe = none\nload-factor = 1")
    state, small = s.path("gateway.state"), s.path("small")
    with open(small, "w") as f:
        f.write(f"#!/bin/sh\nexec unshare -rm sh -c 'mount -t tmpfs -o size=64k tmpfs {state} && exec \"$@\"' sh {s.program('HOLDFAST_BIN', 'holdfast')} \"$@\"\n")
    os.chmod(small, 0o755)
    g = s.gateway(ini, program=small)
    inside = f"/proc/{g.pid}/root{state}"
    desks = s.desktops(g)
    where = {u: desks.ask(f"connect user={u}")["host"] for u in (f"early{i}" for i in range(10))}
    g.synced("farm")

    with open(os.path.join(inside, "filler"), "wb", buffering=0) as f:
        try:
            while f.write(b"x" * 4096):
                pass
        except OSError:
            pass
    where.update((u, desks.ask(f"connect user={u}")["host"]) for u in (f"late{i}" for i in range(80)))
    check(all(where.values()), "everybody has a host:", where)
    until("status says that it is full", lambda: g.store("farm")["condition"] == "full")
    until("some tries later", lambda: g.store("farm")["age_ms"] > 1500)
    check(all(desks.ask(f"connect user={u}")["host"] == h for u, h in list(where.items())[::9]), "they come back while it is full")
    equal(g.text().count("event=state-disk"), 1, "lines that say so")
    check(condition(g) == ["full"] and metric(g, 'age_seconds{pool="farm"}') >= 1, "the metrics:", g.run_ctl("metrics").stdout)

    os.remove(os.path.join(inside, "filler"))
    until("it is well by itself", lambda: g.store("farm")["condition"] == "ok", 20)
    equal(condition(g), ["ok"], "the metric")
    equal(g.text().count("event=state-disk"), 2, "lines, with the one of its end")
    g.synced("farm")
    for name in os.listdir(inside):                        # what a disk would have kept; this one goes with the process
        shutil.copy(os.path.join(inside, name), state)
    g.kill(signal.SIGKILL)
    until("it is gone", lambda: not g.alive())
    shutil.rmtree(s.path("gateway.run"))
    g = s.gateway(ini)
    for user, host in where.items():
        equal(g.where(f"user:{user}", "farm")["server"], host, f"{user} after the power cut")
    g.stop()
