#!/usr/bin/env python3
"""calls.py BUILD: how often a relayed connection, and a small round trip on one that is held, calls the system, by strace; exit 1 when a call is made
more often than the tables say, 77 without strace or the right to use it.

Counts are the same however busy the machine is, but for those that it decides: how often there is something to wait for, and whether a client's
first octets are there when it is accepted. Breaks when: a flow is watched anew in its life, a socket's options are set that it inherits or has no
use for, or what is closed is shut down first."""
import os, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import bench

CONNECTIONS, FLOWS, RATE, SECONDS = 500, 50, 400, 2
OPEN = {"accept4": 2, "recvfrom": 5, "sendto": 2, "socket": 1, "connect": 1, "setsockopt": 1, "epoll_ctl": 2, "shutdown": 1, "close": 2}  # a connection
HELD = {**OPEN, "setsockopt": 6}                                                                                                          # and a session
TRIP = {"recvfrom": 2, "sendto": 2}
FREE = {"epoll_wait", "sched_yield", "futex", "mprotect", "munmap", "madvise", "mmap", "brk", "read", "write", "restart_syscall"}
SLACK = 1.05  # the threads beside the workers', and octets that came in two pieces


def counted(build, load):
    """The load's figures and the gateway's calls; None when strace may not."""
    with bench.Running(bench.holdfast(build, "rdp", "tcp", "table"), True) as r, tempfile.NamedTemporaryFile("r") as table:
        strace = subprocess.Popen(["strace", "-f", "-c", "-o", table.name, "-p", str(r.proxy.pid)], stderr=subprocess.PIPE, text=True)
        if "attached" not in strace.stderr.readline():
            strace.wait()
            return None
        numbers = [str(n) for n in load[1:]]
        out = subprocess.run([f"{build}/bench_rdpload", load[0], str(r.port), *numbers, str(r.proxy.pid), *map(str, r.servers)],
                             capture_output=True, text=True, timeout=60).stdout
        time.sleep(0.3)
        strace.send_signal(signal.SIGINT)
        strace.wait(20)
        rows = [line.split() for line in table.read().splitlines()]
    calls = {row[-1]: int(row[3]) for row in rows if len(row) >= 5 and row[3].isdigit() and row[-1] != "total"}
    return {k: float(v) for k, v in (w.split("=") for w in out.split())}, calls


def over(what, calls, most):
    """Says what was called more often than it may be; how many those are."""
    bad = 0
    for name, n in sorted(calls.items()):
        if name not in FREE and n > most.get(name, 0) * SLACK + 20:
            print(f"{what}: {name} was called {n} times, at most {most.get(name, 0)} are needed")
            bad += 1
    print(f"{what}: " + " ".join(f"{name}={n}" for name, n in sorted(calls.items())))
    return bad


def main(build):
    if not shutil.which("strace"):
        print("skipped: there is no strace")
        return 77
    opened = counted(build, ("open", CONNECTIONS, 8))
    held = opened and counted(build, ("held", FLOWS, RATE, SECONDS))
    if not held:
        print("skipped: strace may not look at other processes")
        return 77
    bad = over(f"{CONNECTIONS} connections", opened[1], {k: n * CONNECTIONS for k, n in OPEN.items()})
    trips = int(held[0]["trips"])
    bad += over(f"{trips} round trips of {FLOWS} sessions", held[1], {k: HELD.get(k, 0) * FLOWS + TRIP.get(k, 0) * trips for k in {**HELD, **TRIP}})
    return 1 if bad or opened[0]["done"] < CONNECTIONS or trips < RATE * SECONDS * 0.9 else 0


sys.exit(main(sys.argv[1]))
