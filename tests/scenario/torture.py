"""The torture set with its oracle against the program, where HOLDFAST_SHARED names the folder that holds it. The floors below are what was reached; they
may only rise: fewer passes than that fail, more say that the floor is due to be raised."""
import os, re, socket, subprocess, sys

from _certs import Authority
from scenario import FULL, SLOW, Skip, check, free_port

TIMEOUT = 600
FLOOR = {"sip-udp": (193, 0), "sip-tls": (193, 191), "rdp": (92, 6)}    # passes; of rdp the runner's checks, of sip-tls (196 where nothing else runs) those in cuts


def passed(text):
    return [(int(a), int(b)) for a, b in re.findall(r"(\d+) of (\d+)", next((x for x in reversed(text.splitlines()) if x.startswith("passed ")), ""))]


def verdict(name, r, faults):
    got = passed(r.stdout)
    if not got:
        faults.append(f"{name}: no verdict: {(r.stdout + r.stderr)[-1500:]}")
        return
    good, checks = got[0][0], got[1][0] if len(got) > 1 else 0
    print(f"{name} {' and checks '.join(f'{a} of {b}' for a, b in got[:2])}{'' if (good, checks) == FLOOR[name] else f', the floor is {FLOOR[name]}'}; ", end="")
    if good < FLOOR[name][0] or checks < FLOOR[name][1]:
        fails = "\n".join(x for x in r.stdout.splitlines() if "FAIL" in x)[:6000]
        faults.append(f"{name}: passed {good}, checks {checks}, the floor is {FLOOR[name]}\n{fails}")


def keep(s, name, r):
    where = os.environ.get("HOLDFAST_TORTURE_OUT")
    if where:
        os.makedirs(where, exist_ok=True)
        with open(os.path.join(where, name + ".txt"), "w") as f:
            f.write(r.stdout + r.stderr)


def run(s):
    shared = os.environ.get("HOLDFAST_SHARED", "")
    data = os.path.join(shared, "torture")
    if not os.path.isdir(os.path.join(data, "run")):
        raise Skip("HOLDFAST_SHARED names no folder with the torture set")
    faults = []
    servers = [f"127.0.20.{101 + i}:{free_port(f'127.0.20.{101 + i}', socket.SOCK_DGRAM)}" for i in range(3)]
    g = s.gateway(s.ini_gateway("sip") + s.ini_sip([f"s{i} {a}" for i, a in enumerate(servers)], listen="udp://127.0.20.100:0"), name="sip")
    r = subprocess.run([sys.executable, os.path.join(data, "run", "sip-torture.py"), "--proxy", g.at(), *(x for a in servers for x in ("--server", a)),
                        "--set", f"{data}/sip/expected.tsv", "--set", f"{data}/sip/extra/expected.tsv", "--jobs", "4"], capture_output=True, text=True, timeout=300 * SLOW)
    keep(s, "sip-udp", r)
    verdict("sip-udp", r, faults)
    g.stop()

    g = s.gateway(s.ini_gateway("tls") + s.ini_sip([f"s{i} {a}" for i, a in enumerate(servers)], listen="udp://127.0.20.100:0 tls://127.0.20.100:0",
                                                   service=f"tls-certificate = {Authority(s).make('gw', 'DNS:gw.example.com').line()}"), name="tls")
    r = subprocess.run([sys.executable, os.path.join(data, "run", "sip-torture.py"), "--proxy", g.at(), "--tls", g.at("calls", "tls"), *(x for a in servers for x in ("--server", a)), "--no-udp",
                        "--cuts", "whole,octets,random" if FULL else "whole,random", "--set", f"{data}/sip/expected.tsv", "--set", f"{data}/sip/extra/expected.tsv", "--jobs", "4"],
                       capture_output=True, text=True, timeout=300 * SLOW)
    keep(s, "sip-tls", r)
    verdict("sip-tls", r, faults)
    g.stop()

    hosts = [f"127.0.30.{11 + i}:{free_port(f'127.0.30.{11 + i}')}" for i in range(4)]
    g = s.gateway(s.ini_gateway("rdp") + s.ini_rdp([f"h{i} {a}" for i, a in enumerate(hosts)], service="handshake-timeout = 10s", listen="tcp://127.0.30.1:0"), name="rdp")
    r = subprocess.run([sys.executable, os.path.join(data, "run", "rdp-torture.py"), "--proxy", g.at("desktops"), "--backends", ",".join(hosts), "--set", f"{data}/rdp/expected.tsv",
                        "--trap-port", str(free_port()), "--cuts", "all,named,octets" if os.environ.get("HOLDFAST_FULL") != "1" else "all,named,octets,random"],
                       capture_output=True, text=True, timeout=300 * SLOW)
    keep(s, "rdp", r)
    verdict("rdp", r, faults)
    g.stop()
    check(not faults, "\n".join(faults))
