"""The torture set with its oracle against the program, where HOLDFAST_SHARED names the folder that holds it: every message passes, in every cut, and none
of the set is missing. The runner begins to look for a request of its own when it has sent it, waits for an event for 0.3 s, and takes two that came to two servers in the
order of its sockets: on a busy machine it misses what was there. It is asked again for single messages, one at a time: what is wrong is wrong then, too."""
import os, re, subprocess, sys

from _certs import Authority
from scenario import FULL, SLOW, Skip, check, free_port

TIMEOUT = 1200
MISSED, AGAIN = "no request came through to answer", 8      # times: it has missed four of ten where five times as much ran as there are processors
GRAVE = r"sent to|^(?!.*forwardx2).*another server"         # once is too often; of two requests in one segment the runner may take the other one's server
SINGLE = 20                                                 # messages of a set: more than that is no chance
ONE_PLACE = "probe = none\nload-factor = off"           # a server that has more than its share of sessions would send a Call-ID elsewhere than before
ALL = {"sip-udp": [194], "sip-tls": [196, 196], "rdp": [105, 6]}    # of each cut; of rdp messages, and the runner's own checks


def passed(text):
    return [(int(a), int(b)) for a, b in re.findall(r"(\d+) of (\d+)", next((x for x in reversed(text.splitlines()) if x.startswith("passed ")), ""))]


def verdict(name, r, faults, again=()):
    """again: the fails that were none"""
    got = passed(r.stdout)
    print(f"{name} {', '.join(f'{a} of {b}' for a, b in got)}{f', asked again and passed: {len(again)}' if again else ''}; ", end="")
    fails = [x for x in r.stdout.splitlines() if "FAIL" in x and x not in again]
    if sum(b - a for a, b in got) != len(again) or len(got) < len(ALL[name]) or any(b < n for (_, b), n in zip(got, ALL[name])):
        faults.append(f"{name}: {got}, all are {ALL[name]}\n" + "\n".join(fails or [(r.stdout + r.stderr)[-1500:]])[:6000])


def sip(s, name, data, argv, faults):
    """the runner over both sets, and once more for what it could not ask"""
    argv = [sys.executable, os.path.join(data, "run", "sip-torture.py"), *argv, "--set", f"{data}/sip/expected.tsv", "--set", f"{data}/sip/extra/expected.tsv"]
    ask = lambda *more: subprocess.run([*argv, *more], capture_output=True, text=True, timeout=1000 * SLOW)
    cuts, again = "whole,octets,random" if FULL else "whole,random", []
    r = ask("--jobs", "4", "--cuts", cuts)
    keep(s, name, r)
    for line in [x for x in re.findall(r"^FAIL .*$", r.stdout, flags=re.M) if not re.search(GRAVE, x)][:SINGLE]:
        _, kind, how, file, *_ = line.split()
        good = rf"^ok +{kind} +{how} +{re.escape(file)} "
        if any(re.search(good, ask("--jobs", "1", "--cuts", how, "--only", file, "--verbose").stdout, flags=re.M) for _ in range(AGAIN if line.endswith(MISSED) else 2)):
            again.append(line)
    verdict(name, r, faults, again)


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
    net = f"127.0.{40 + os.getpid() % 26}"                     # of its own: the runner sees all that leaves the gateway's address, and would see another run's
    servers = [f"{net}.{101 + i}:{free_port(f'{net}.{101 + i}')}" for i in range(3)]
    ends = ["--client", f"{net}.2", "--trap", f"{net}.250", *(x for a in servers for x in ("--server", a))]
    g = s.gateway(s.ini_gateway("sip") + s.ini_sip([f"s{i} {a}" for i, a in enumerate(servers)], ONE_PLACE, listen=f"udp://{net}.100:0"), name="sip")
    sip(s, "sip-udp", data, ["--proxy", g.at(), *ends], faults)
    g.stop()

    g = s.gateway(s.ini_gateway("tls") + s.ini_sip([f"s{i} {a}" for i, a in enumerate(servers)], ONE_PLACE, listen=f"udp://{net}.100:0 tls://{net}.100:0",
                                                   service=f"tls-certificate = {Authority(s).make('gw', 'DNS:gw.example.com').line()}"), name="tls")
    sip(s, "sip-tls", data, ["--proxy", g.at(), "--tls", g.at("calls", "tls"), *ends, "--no-udp"], faults)
    g.stop()

    hosts = [f"127.0.30.{11 + i}:{free_port(f'127.0.30.{11 + i}')}" for i in range(4)]
    g = s.gateway(s.ini_gateway("rdp") + s.ini_rdp([f"h{i} {a}" for i, a in enumerate(hosts)], service="handshake-timeout = 10s", listen="tcp://127.0.30.1:0 udp://127.0.30.1:0"), name="rdp")
    r = subprocess.run([sys.executable, os.path.join(data, "run", "rdp-torture.py"), "--proxy", g.at("desktops", "tcp"), "--backends", ",".join(hosts), "--set", f"{data}/rdp/expected.tsv",
                        "--trap-port", str(free_port()), "--udp", g.at("desktops", "udp"), "--cuts", "all,named,octets" if os.environ.get("HOLDFAST_FULL") != "1" else "all,named,octets,random"],
                       capture_output=True, text=True, timeout=1000 * SLOW)
    keep(s, "rdp", r)
    verdict("rdp", r, faults)
    g.stop()
    check(not faults, "\n".join(faults))
