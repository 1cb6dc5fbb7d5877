"""Probes by a program of the operator's own: it gets the server's address, port and name, its exit code is the answer and its first line the reason; one
that does not end is killed with all that it started and leaves no zombie; never more than one for a server, nor sixteen in all; one that is not there is
refused by a reload, and says nothing about servers when it vanishes later. Without the kill, the reaping or the limits it fails."""
import glob, os, re

from scenario import check, equal, until

TIMEOUT = 60
# What it does is in the file of the server's name; each run leaves a line `NAME ADDRESS PORT POOL PID`.
CHECK = """#!/bin/sh
dir=$1
echo "$2 $3 $4 $5 $$" >>"$dir/runs"
. "$dir/$2"
"""
WELL, SICK = "exit 0\n", 'echo "disk \\"full\\""; echo "second line"; exit 3\n'
HANGS = 'echo half way; sleep 600 & echo $! >>"$dir/left"; exec sleep 600\n'


def children(g):
    """pids and states of what the gateway has started"""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as f:
                pid, state, parent = re.fullmatch(r"(\d+) \(.*\) (\S) (\d+) .*", f.read().strip()).groups()
        except (OSError, AttributeError):
            continue
        if int(parent) == g.pid:
            found.append((int(pid), state))
    return found


def lines(s, name):
    try:
        with open(s.path(name)) as f:
            return f.read().split("\n")[:-1]
    except OSError:
        return []


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return ") Z " in f.read()
    except OSError:
        return True


def tell(s, name, text):
    with open(s.path(name + ".new"), "w") as f:
        f.write(text)
    os.replace(s.path(name + ".new"), s.path(name))


def hangs(s, g):
    tell(s, "pbx1", HANGS)
    g.wait_state("pbx1", "down")
    until("the reason is the deadline, with what was printed till then", lambda: g.server("pbx1")["last_failure"] == "no end in time: half way")
    equal(g.state("pbx2"), "up", "the other server")
    for _ in range(40):
        check(len(children(g)) <= 2, "more than one a server:", children(g))
        if len(lines(s, "left")) > 3:
            break
        until("another one runs", lambda n=len(lines(s, "left")): len(lines(s, "left")) > n)
    tell(s, "pbx1", WELL)
    g.wait_state("pbx1", "up")
    until("what the killed ones had started has ended", lambda: all(is_gone(pid) for pid in lines(s, "left")))
    until("there is no zombie", lambda: all(state != "Z" for _, state in children(g)))


def moves(s, g, ini, b):
    """a server's address changes while it is being asked for: the answer would be another's, so it is asked anew at once"""
    tell(s, "moves", HANGS)
    n, rare = len(lines(s, "left")), lambda text: re.sub("probe-(interval|timeout) = .*", r"probe-\1 = 30s", text)
    g.reload(rare(ini(["moves 127.0.1.1:5060", b])))
    until("it is being asked", lambda: len(lines(s, "left")) > n)
    g.reload(rare(ini(["moves 127.0.1.2:5060", b])))
    until("it is asked at its new address", lambda: any(x.startswith("moves 127.0.1.2 5060 ") for x in lines(s, "runs")))


def many(s, g, ini):
    """more servers than may be asked at one time, and all of them hang: they go down all the same"""
    names = [f"many{i}" for i in range(40)]
    for n in names:
        tell(s, n, HANGS)
    g.reload(ini([f"{n} 127.0.1.{i + 1}:5060" for i, n in enumerate(names)]))
    most = 0
    for n in names:
        while g.state(n) != "down":
            most = max(most, len(children(g)))
            check(most <= 16, f"{most} at one time")
    check(most > 1, "they run beside each other")


def run(s):
    script = s.path("check.sh")
    with open(script, "w") as f:
        f.write(CHECK)
    os.chmod(script, 0o755)
    a, b = s.sip_server("pbx1"), s.sip_server("pbx2")
    for n in ("pbx1", "pbx2"):
        tell(s, n, WELL)

    def ini(servers, program=script):
        return s.ini_gateway() + s.ini_sip(servers, f"probe = program\nprobe-program = {program} {s.dir} {{server}} {{address}} {{port}} of-{{pool}}\n"
                                           "probe-interval = 300ms\nprobe-timeout = 1s\nprobe-rise = 1\nprobe-fall = 2")
    g = s.gateway(ini([a, b]))
    until("both were asked", lambda: {x.split()[0] for x in lines(s, "runs")} == {"pbx1", "pbx2"})
    equal(lines(s, "runs")[0].split()[:4] in ([a.label, "127.0.0.1", str(a.port), "of-pbx"], [b.label, "127.0.0.1", str(b.port), "of-pbx"]), True, f"arguments {lines(s, 'runs')[0]}")
    for n in ("pbx1", "pbx2"):
        g.wait_state(n, "up")
    tell(s, "pbx1", SICK)
    g.wait_state("pbx1", "down")
    equal(g.server("pbx1")["last_failure"], "disk \\x22full\\x22", "its first line")
    check('event=server-down pool=pbx server=pbx1 reason="disk \\x22full\\x22"' in g.text(), "the log says why")
    tell(s, "pbx1", "exit 7\n")
    until("without a word, the exit code", lambda: g.server("pbx1")["last_failure"] == "exit code 7")
    tell(s, "pbx1", WELL)
    g.wait_state("pbx1", "up")
    hangs(s, g)

    g.write(ini([a, b], "/nonexistent/check"))
    got = g.run_ctl("reload")
    check(got.returncode == 1 and "probe-program /nonexistent/check: No such file or directory" in got.stdout + got.stderr, "a program that is not there:", got.stdout, got.stderr)
    os.rename(script, script + ".away")
    until("it cannot be run", lambda: "the probe cannot be run" in g.server("pbx1")["last_failure"])
    equal([g.state("pbx1"), g.state("pbx2")], ["up", "up"], "servers that nobody could ask")
    os.rename(script + ".away", script)
    moves(s, g, ini, b)
    many(s, g, ini)
    s.no_strangers()
    left = children(g)
    g.stop()
    until("nothing of it outlives the gateway", lambda: all(is_gone(pid) for pid, _ in left))
