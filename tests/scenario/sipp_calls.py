"""sipp against sipp with the gateway between: each call checks inside itself, twice and at its end, that the server of its first answer still
answers, while a server joins, one drains and one is weighed anew."""
import os, socket, time

from scenario import FULL, HERE, check, equal, free_port, need, until

TIMEOUT = 120
XML = os.path.join(HERE, "sipp")


def server(s, name):
    """a sipp server and its line for the pool; sipp cannot say which port it took"""
    port = free_port(kind=socket.SOCK_DGRAM)
    p = s.start(name, ["sipp", "-sf", f"{XML}/server.xml", "-i", "127.0.0.1", "-p", str(port), "-l", "5000", "-nostdin", "-key", "srv", name, "-trace_err", "-error_file", s.path(f"{name}.err"),
                       "-trace_stat", "-stf", s.path(f"{name}.csv"), "-fd", "1", "-buff_size", "1048576"], cwd=s.dir)
    return p, f"{name} 127.0.0.1:{port}"


def row(path):
    with open(path) as f:
        names, *_, last = [line.rstrip("\n").split(";") for line in f]
    return dict(zip(names, last))


def run(s):
    need("sipp")
    servers = [server(s, f"uas{i}") for i in (1, 2, 3)]
    lines = [line for _, line in servers]
    time.sleep(0.5)
    for p, _ in servers:
        check(p.alive(), f"{p.name} did not start:", p.text()[-500:])
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_sip(lines[:2]))
    n, (host, port) = 2000 if FULL else 400, g.at().rsplit(":", 1)
    callers = s.start("callers", ["sipp", "-sf", f"{XML}/callers.xml", "-i", "127.0.0.1", "-r", str(n // 2), "-m", str(n), "-l", str(n), "-d", "4000", "-nostdin", "-trace_stat", "-stf", s.path("callers.csv"),
                                  "-trace_logs", "-log_file", s.path("moved.log"), "-trace_err", "-error_file", s.path("callers.err"), "-buff_size", "1048576", f"{host}:{port}"], cwd=s.dir)
    time.sleep(1.5)
    g.reload(head + s.ini_sip(lines))
    g.ctl("drain", "uas1")
    time.sleep(0.5)
    sessions = sum(x["sessions"] for x in g.ctl("servers")["servers"])
    check(sessions > n / 2, f"only {sessions} calls are up while the pool changes")
    g.ctl("weight", "uas2", "10")
    code = callers.p.wait(80)
    got, moved = row(s.path("callers.csv")), open(s.path("moved.log")).read() if os.path.exists(s.path("moved.log")) else ""
    check(code == 0 and got["FailedCall(C)"] == "0" and got["SuccessfulCall(C)"] == str(n), f"sipp: exit {code}, {got['SuccessfulCall(C)']} good, {got['FailedCall(C)']} failed; {moved[:500]}")
    until("no session is left", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
    print(f"{n} calls, none moved", end="")
