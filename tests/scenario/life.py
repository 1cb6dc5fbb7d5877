"""A day of calls and weeks of a desktop farm in a minute each (the torture folder's sip-call-life and rdp-farm-life, where HOLDFAST_SHARED names it), with
servers that join, drain, are weighed anew, leave, fall silent and die. Not one request may reach a server that does not hold its call, and no
user may get a second session, not even by a host that was down for a moment."""
import os, re, socket, subprocess, sys, time

from scenario import FULL, SLOW, Skip, check, free_port, until

TIMEOUT = 400
CALLS = int((2400 if FULL else 1200) / SLOW)        # the farm's clock cannot be slowed, so a slow gateway gets less of it
# edits the pool's lines and reloads: EDIT add|remove NAME ADDR PORT
EDIT = """import re, subprocess, sys
ini, ctl, sock, what, name, addr, port = sys.argv[1:]
text = re.sub(rf"(?m)^server = {name} .*\\n", "", open(ini).read())
if what == "add":
    text = text.rstrip("\\n") + f"\\nserver = {name} {addr}:{port}\\n"
open(ini, "w").write(text)
sys.exit(subprocess.run([ctl, "-s", sock, "reload"]).returncode)
"""


def play(args):
    """runs one; its clients have fixed addresses, so it waits for another run of it on this machine, by whomever"""
    with socket.socket(socket.AF_UNIX) as mark:
        until("nobody else plays it", lambda: mine(mark), 200, 0.5)
        for _ in range(4):
            r = subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=200 * SLOW)
            if "Address already in use" not in r.stderr:
                break
            time.sleep(20)
        return r


def mine(mark):
    try:
        mark.bind("\0holdfast-life")
    except OSError:
        return False
    return True


def tell(name, r, faults, **limits):
    """its last line holds the numbers; none may be above its limit"""
    last = ([x for x in r.stdout.splitlines() if x.strip()] or ["no output"])[-1]
    print(f"{name}: {last[:160]}; ", end="")
    got = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)(?!\.)", last)}
    wrong = [k for k, most in limits.items() if got.get(k, most + 1) > most]
    if wrong:
        faults.append(f"{name}: too many {', '.join(wrong)}\n{(r.stdout + r.stderr)[-3500:]}")


def sip(s, run_dir, faults):
    """all servers are one process: when the machine leaves it out for a moment, none of them is down"""
    servers = [f"s{i}=127.0.21.{30 + i}:{free_port(f'127.0.21.{30 + i}')}" for i in range(1, 7)]
    lines = [x.replace("=", " ") for x in servers]
    g = s.gateway(s.ini_gateway("sip") + s.ini_sip(lines[:-1], f"probe = options\nprobe-interval = {int(500 * SLOW)}ms\nprobe-timeout = 2s\nprobe-fall = 3\nprobe-rise = 1", listen="udp://127.0.21.1:0", service="try-timeout = 3s"), name="sip")
    program, edit = s.program("HOLDFASTCTL", "holdfastctl"), s.path("edit.py")
    ctl = f"{program} -s {g.socket}"
    with open(edit, "w") as f:
        f.write(EDIT)
    change = f"{sys.executable} {edit} {g.ini} {program} {g.socket} %s {{name}} {{addr}} {{port}}"
    r = play([os.path.join(run_dir, "sip-call-life.py"), "--proxy", g.at(), "--servers", ",".join(servers), "--calls", str(CALLS),
                        "--seconds", "40" if FULL else "20", "--cmd-drain", ctl + " drain {name}", "--cmd-undrain", ctl + " undrain {name}", "--cmd-weight", ctl + " weight {name} {weight}",
                        "--cmd-add", change % "add", "--cmd-remove", change % "remove", "--cmd-reload", ctl + " reload"])
    # a call that was on its way when the drain came is no fault, nor those of a second that the machine takes for itself; a drain that is not heard has 70
    tell("calls", r, faults, misrouted=0, lost=0, refused=0, on_drained=20, order=0, wrong_client=0, other=0)
    g.stop()


def rdp(s, run_dir, faults):
    hosts = [f"h{i}=127.0.30.{30 + i}:{free_port(f'127.0.30.{30 + i}')}" for i in range(1, 6)]
    g = s.gateway(s.ini_gateway("rdp") + s.ini_rdp([x.replace("=", " ") for x in hosts], "probe = connect\nprobe-interval = 300ms\nprobe-timeout = 3s\nprobe-fall = 1\nprobe-rise = 1",
                                                   "own-domains = CORP", listen="tcp://127.0.30.1:0"), name="rdp")
    ctl = f"{s.program('HOLDFASTCTL', 'holdfastctl')} -s {g.socket}"
    r = play([os.path.join(run_dir, "rdp-farm-life.py"), "--proxy", g.at("desktops"), "--hosts", ",".join(hosts), "--users", "2000" if FULL else "600",
                        "--rounds", "60" if FULL else "30", "--batch", "400" if FULL else "200", "--strict", "--cmd-drain", ctl + " drain {host}", "--cmd-undrain", ctl + " undrain {host}"])
    tell("desktops", r, faults, not_by_down=0)
    g.stop()


def run(s):
    run_dir = os.path.join(os.environ.get("HOLDFAST_SHARED", ""), "torture", "run")
    if not os.path.isdir(run_dir):
        raise Skip("HOLDFAST_SHARED names no folder with sip-call-life and rdp-farm-life")
    faults = []
    sip(s, run_dir, faults)
    rdp(s, run_dir, faults)
    check(not faults, "\n".join(faults))
