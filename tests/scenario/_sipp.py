"""sipp as servers that say their name and as callers that check who answers inside a call (sipp/*.xml): helpers of the scenarios with sipp."""
import os

from scenario import HERE, check, free_port, until

XML = os.path.join(HERE, "sipp")


def bracketed(host):
    return f"[{host}]" if ":" in host else host


def bound(port, kind):
    """does a program have it? proc(5); TCP: it listens"""
    for path in (f"/proc/net/{kind}", f"/proc/net/{kind}6"):
        if os.path.exists(path):
            with open(path) as f:
                if any(int(x[1].rpartition(":")[2], 16) == port and (kind == "udp" or x[3] == "0A") for x in (line.split() for line in f.readlines()[1:])):
                    return True
    return False


def server(s, name, transport="u1", host="127.0.0.1"):
    """a sipp server and its line for the pool; sipp cannot say which port it took"""
    port = free_port(host)
    p = s.start(name, ["sipp", "-sf", f"{XML}/server.xml", "-t", transport, "-i", host, "-p", str(port), "-l", "5000", "-nostdin", "-key", "srv", name, "-trace_err", "-error_file", s.path(f"{name}.err"),
                       "-trace_stat", "-stf", s.path(f"{name}.csv"), "-fd", "1", "-buff_size", "1048576"], cwd=s.dir)
    kind = "udp" if transport[0] == "u" else "tcp"
    until(f"{name} has its port", lambda: bound(port, kind) or check(p.alive(), f"{name} ended:", p.text()[-500:]))
    return p, f"{name} {kind}://{bracketed(host)}:{port}"


def callers(s, at, n, rate, hold_ms, transport="u1", name="callers"):
    """n calls of about 2 * hold_ms each"""
    host, port = at.rsplit(":", 1)
    return s.start(name, ["sipp", "-sf", f"{XML}/callers.xml", "-t", transport, "-i", host.strip("[]"), "-r", str(rate), "-m", str(n), "-l", str(n), "-d", str(hold_ms), "-nostdin", "-max_socket", "5000",
                          "-trace_stat", "-stf", s.path(f"{name}.csv"), "-trace_logs", "-log_file", s.path(f"{name}.moved"), "-trace_err", "-error_file", s.path(f"{name}.err"),
                          "-buff_size", "1048576", f"{host}:{port}"], cwd=s.dir)


def row(path):
    with open(path) as f:
        names, *_, last = [line.rstrip("\n").split(";") for line in f]
    return dict(zip(names, last))


def text(path):
    if not os.path.exists(path):
        return ""
    with open(path, errors="replace") as f:
        return f.read()


def spoilt(s, p, seconds=80):
    """have calls failed, and does a sipp say that the machine was too slow for it? As a server it then gives up calls whose INVITE comes again, late and the same"""
    return p.p.wait(seconds) != 0 and any("Overload warning" in text(s.path(f"{x.name}.err")) for x in s.children)


def all_good(s, p, n, what, seconds=80):
    code = p.p.wait(seconds)
    got = row(s.path(f"{p.name}.csv"))
    check(code == 0 and got["FailedCall(C)"] == "0" and got["SuccessfulCall(C)"] == str(n), f"{what}: sipp: exit {code}, {got['SuccessfulCall(C)']} good, {got['FailedCall(C)']} failed;",
          text(s.path(f"{p.name}.moved"))[:500], text(s.path(f"{p.name}.err"))[:1500])
    return got
