"""Start, ready lines, exit codes and the memory of an idle gateway with two workers. Without the refusal of unknown keys, the listing of all
findings, the clean end on a signal, or the word that drains went with tables that begin anew it fails."""
import os, re, signal, socket, subprocess

from scenario import BARE, check, equal, until

RSS_LIMIT_KB = 20 * 1024      # two workers at rest; sanitizer builds are not measured


def program(s, *args, seconds=20):
    r = subprocess.run([s.program("HOLDFAST_BIN", "holdfast"), *args], capture_output=True, text=True, timeout=seconds)
    return r.returncode, r.stdout, r.stderr


def verdicts(s, good):
    code, out, _ = program(s, "--version")
    check(code == 0 and re.search(r"\d+\.\d+\.\d+", out), "--version:", out)
    code, printed, _ = program(s, "--print-config")
    check(code == 0 and "[gateway]" in printed and "load-factor" in printed, "--print-config:", printed[:300])
    with open(s.path("printed.ini"), "w") as f:
        f.write(printed)
    code, _, err = program(s, "-c", s.path("printed.ini"), "--check")
    equal(code, 0, f"--check of what --print-config printed ({err[:500]})")
    equal(program(s, "-c", good, "--check")[0], 0, "--check of a good file")
    for args in ((), ("--no-such-option",), ("-c",), ("-c", good, "surplus")):
        equal(program(s, *args)[0], 2, f"exit code of holdfast {' '.join(args)}")


def refusals(s, ini):
    bad = s.path("bad.ini")
    lines = ini.splitlines()
    with open(bad, "w") as f:
        f.write("\n".join(["[gateway]", "wrokers = 2", *lines[1:], "[pool spare]", "load-factor = 0.1", "server = a 192.0.2.300:1", "colour = red", ""]))
    total = len(open(bad).read().splitlines())
    for args in (("-c", bad, "--check"), ("-c", bad)):
        code, out, err = program(s, *args)
        equal(code, 1, f"exit code of {args}")
        text = out + err
        check(f"{bad}:2:" in text and "workers" in text, "the first wrong line and the nearest name:", text)
        for line in (total - 2, total - 1, total):
            check(f"{bad}:{line}:" in text, f"line {line} is not named:", text)
        check("event=listen" not in text, "something was opened for a wrong file:", text)
    code, _, err = program(s, "-c", s.path("absent.ini"))
    check(code in (1, 3) and "absent.ini" in err, "a file that is not there:", code, err)


def taken_port(s, services):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
        held.bind(("127.0.0.1", 0))
        with open(s.path("taken.ini"), "w") as f:
            f.write((s.ini_gateway("taken") + services).replace("udp://127.0.0.1:0", f"udp://127.0.0.1:{held.getsockname()[1]}"))
        code, _, err = program(s, "-c", s.path("taken.ini"))
        check(code == 3 and str(held.getsockname()[1]) in err and "event=ready" not in err, "a taken port:", code, err)


def tables_anew(s, pbx, host):
    """other max-entries: what was given at run time comes back from the disk's copy, or the log says that it does not"""
    second = s.gateway(s.ini_gateway() + s.ini_sip([pbx], "probe = none\nmax-entries = 5000") + s.ini_rdp([host], "probe = none\nmax-entries = 5000"))
    for pool, server, state, note in (("pbx", "pbx1", "up", "given at run time: give them again"), ("farm", "ts1", "drain", "the copy in state-dir is read")):
        line = re.search(rf"event=tables-anew pool={pool} .*", second.text())
        check(line and note in line[0], f"the line of pool {pool}:", second.text())
        equal(second.state(server), state, f"{server}, which was drained")
    second.stop()


def run(s):
    pbx, host = s.sip_server("pbx1"), s.rdp_host("ts1")
    services = s.ini_sip([pbx], listen="udp://127.0.0.1:0 udp://[::1]:0" if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6") else "udp://127.0.0.1:0") + s.ini_rdp([host])
    ini = s.ini_gateway(workers=2) + services
    g = s.gateway(ini)
    text = g.text()
    equal(len(re.findall(r"event=ready\b", text)), 1, "ready lines")
    ready = re.search(r"event=ready .*", text)[0]
    check(f"pid={g.pid}" in ready and "workers=2" in ready and re.search(r"boot=[0-9a-f]{8}\b", ready), "the ready line:", ready)
    check(text.index("event=listen") < text.index("event=ready") and not re.search(r"event=listen", text[text.index("event=ready"):]), "all listen lines come before it")
    for service, uris in g.uris.items():
        for uri in uris:
            check(not uri.endswith(":0"), f"{service} prints no port:", uri)
    if BARE:
        until(f"an idle gateway is below {RSS_LIMIT_KB} KB ({g.rss_kb()})", lambda: g.rss_kb() < RSS_LIMIT_KB)
    verdicts(s, g.ini)
    refusals(s, ini)
    taken_port(s, services)
    check(g.alive(), "the first gateway goes on")
    for server, pool in (("pbx1", "pbx"), ("ts1", "farm")):
        check("takes new sessions" in g.ctl("drain", server).get("warning", ""), "nobody is left, and it is not said")
        check(f"event=pool-closed pool={pool} " in g.text(), "nor in the log:", g.text())
    g.stop()
    check(not os.path.exists(g.socket), "the admin socket is left behind")
    tables_anew(s, pbx, host)
    second = s.gateway(ini, name="gateway", wait=True)
    second.kill(signal.SIGINT)
    equal(second.p.wait(10), 0, "exit code after INT")
    equal(second.run_ctl("status").returncode, 3, "holdfastctl without a gateway")
