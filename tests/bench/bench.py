#!/usr/bin/env python3
"""Runs every proxy under every load, one after the other, round after round, and prints medians with their ratios; run.sh calls it.

A proxy starts anew for each load, on free ports, with a configuration written for it. Figures are processor time of the proxy's own threads,
so that how busy the machine is with the load, or with others, moves them little; what it moves is the same for all of a round: ratios count."""
import argparse, os, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

MODULES = "/usr/lib/x86_64-linux-gnu/kamailio/modules/"
SERVERS = 3


def free_ports(count):
    """Ports that neither datagrams nor connections use now."""
    held, ports = [], []
    while len(ports) < count:
        t, u = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        held += [t, u]
        t.bind(("127.0.0.1", 0))
        port = t.getsockname()[1]
        try:
            u.bind(("127.0.0.1", port))
            ports.append(port)
        except OSError:
            pass
    for s in held:
        s.close()
    return ports


def family(pid):
    """A process and all that came of it."""
    found = [pid]
    for p in found:
        try:
            for task in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{task}/children") as f:
                    found += [int(c) for c in f.read().split()]
        except OSError:
            pass
    return found


# ---- proxies: each writes its configuration into a folder and says its command

def certificate(d):
    """what a proxy shows over TLS: a certificate and its key, in two files"""
    cert, key = f"{d}/cert.pem", f"{d}/key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=bench.example.com", "-days", "2", "-keyout", key, "-out", cert],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cert, key


def kamailio(tcp, on="forward", tls=False):
    def make(d, port, servers):
        listen = "tls" if tls else "tcp" if tcp else "udp"
        with open(f"{d}/list", "w") as f:
            f.writelines(f"1 sip:127.0.0.1:{p}{';transport=tcp' if tcp else ''}\n" for p in servers)
        with open(f"{d}/kamailio.cfg", "w") as f:
            f.write("#!KAMAILIO\ndebug=1\nlog_stderror=yes\nfork=yes\nchildren=2\nauto_aliases=no\n")
            f.write("tcp_children=2\n" if tcp else "disable_tcp=yes\n")
            f.write(f"listen={listen}:127.0.0.1:{port}\n" + ("enable_tls=yes\nlisten=tcp:127.0.0.2:%d\n" % port if tls else "") + f"mpath=\"{MODULES}\"\n")
            f.writelines(f"loadmodule \"{m}.so\"\n" for m in ("kex", "tm", "sl", "rr", "pv", "maxfwd", "dispatcher"))
            if tls:
                cert, key = certificate(d)
                f.write(f'loadmodule "tls.so"\nmodparam("tls", "certificate", "{cert}")\nmodparam("tls", "private_key", "{key}")\nmodparam("tls", "tls_method", "TLSv1.2+")\n')
            f.write(f"modparam(\"dispatcher\", \"list_file\", \"{d}/list\")\n"
                    "request_route {\n  if (!mf_process_maxfwd_header(\"10\")) { sl_send_reply(\"483\", \"Too Many Hops\"); exit; }\n"
                    "  record_route();\n  if (!ds_select_dst(\"1\", \"0\")) { sl_send_reply(\"503\", \"No servers\"); exit; }\n" f"  {on}();\n}}\n")
        return ["kamailio", "-x", "fm", "-X", "fm", "-m", "512", "-M", "16", "-DD", "-E", "-Y", d, "-P", f"{d}/pid", "-f", f"{d}/kamailio.cfg"]
    return make


def haproxy(table):
    def make(d, port, servers):
        with open(f"{d}/haproxy.cfg", "w") as f:
            f.write("global\n  nbthread 2\n  maxconn 6000\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n"
                    f"  option splice-auto\nfrontend rdp\n  bind 127.0.0.1:{port}\n  tcp-request inspect-delay 5s\n"
                    "  tcp-request content accept if RDP_COOKIE\n  default_backend farm\nbackend farm\n")
            f.write("  balance leastconn\n  stick-table type string len 32 size 1m expire 8h\n  stick on rdp_cookie(mstshash)\n" if table else
                    "  balance rdp-cookie\n  hash-type consistent\n")
            f.writelines(f"  server s{i} 127.0.0.1:{p}\n" for i, p in enumerate(servers))
        return ["haproxy", "-db", "-f", f"{d}/haproxy.cfg"]
    return make


def holdfast(build, protocol, transport, affinity, gateway="", service=""):
    def make(d, port, servers):
        tls = transport == "tls"
        more = "tls-certificate = %s %s\n" % certificate(d) if tls else ""
        with open(f"{d}/holdfast.ini", "w") as f:
            f.write(f"[gateway]\nworkers = 2\nstate-dir = {d}\nrun-dir = {d}/run\nadmin-socket = off\n{gateway}"
                    f"[service bench]\nprotocol = {protocol}\nlisten = {transport}://127.0.0.1:{port}\npool = servers\n{service}{more}"
                    f"[pool servers]\naffinity = {affinity}\nprobe = none\n")
            f.writelines(f"server = s{i} {'tcp' if tls else transport}://127.0.0.1:{p}\n" for i, p in enumerate(servers))
        return [f"{build}/holdfast", "-c", f"{d}/holdfast.ini"]
    return make


def floor(build, how):
    return lambda d, port, servers: [f"{build}/bench_floor", how, str(port)] + [str(p) for p in servers]


# ---- one measurement

class Running:
    """A proxy at work in a folder of its own; leaves nothing behind."""

    def __init__(self, make, stream):
        self.dir = tempfile.mkdtemp(prefix="holdfast-bench-")
        self.port, *self.servers = free_ports(1 + SERVERS)
        self.log = open(f"{self.dir}/log", "w")
        self.proxy = subprocess.Popen(make(self.dir, self.port, self.servers), stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, cwd=self.dir)
        self.stream = stream

    def __enter__(self):
        for _ in range(100):
            time.sleep(0.05)
            if self.proxy.poll() is not None or self.listens():
                break
        time.sleep(0.3)   # forks of the others follow their sockets
        self.pids = family(self.proxy.pid)
        return self

    def listens(self):
        with open("/proc/net/tcp" if self.stream else "/proc/net/udp") as f:
            return any(line.split()[1] == f"0100007F:{self.port:04X}" for line in f.readlines()[1:])

    def __exit__(self, *_):
        try:
            self.proxy.terminate()
            self.proxy.wait(5)
        except subprocess.TimeoutExpired:
            for p in self.pids:
                try:
                    os.kill(p, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.proxy.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def measure(build, make, load):
    """The load's figures, or None when it did not come to any."""
    program, mode, *numbers = load
    stream = mode != "udp"
    with Running(make, stream) as r:
        cmd = [f"{build}/bench_{program}", mode, str(r.port)] + [str(n) for n in numbers] + [",".join(map(str, r.pids))] + [str(p) for p in r.servers]
        try:
            out = subprocess.run(cmd, capture_output=True, text=True, timeout=60).stdout
        except subprocess.TimeoutExpired:
            return None
    return {k: float(v) for k, v in (w.split("=") for w in out.split())} if "=" in out else None


# ---- the plan: (section, figure's key, unit, load, proxies); the first proxy is what the others are compared with

def plan(build, quick):
    s = 2 if quick else 3
    hf = lambda *a, **k: holdfast(build, *a, **k)
    for what, transport, clients, rate in (("SIP over UDP, 8,000 transactions a second", "udp", 16, 8000), ("SIP over UDP, 2,000 transactions a second", "udp", 16, 2000),
                                           ("SIP over 1 TCP connection", "tcp", 1, 8000), ("SIP over 100 TCP connections", "tcp", 100, 8000)):
        tcp = transport == "tcp"
        proxies = {"kamailio, stateless": kamailio(tcp), "holdfast, auto": hf("sip", transport, "auto"), "holdfast, hash": hf("sip", transport, "hash")}
        if not tcp:
            proxies["holdfast, no gathering"] = hf("sip", transport, "auto", "udp-gather = off\n")
            proxies["floor"] = floor(build, "udp")
        yield what, {"us": "us a transaction", "ms": "ms until half are answered"}, ("sipload", transport, clients, rate, s), proxies
    secure = {"kamailio, stateless": kamailio(True, tls=True), "holdfast, auto": hf("sip", "tls", "auto"), "holdfast, hash": hf("sip", "tls", "hash")}
    if os.path.exists(MODULES + "tls.so"):
        yield "SIP over 100 TLS connections, servers over TCP", {"us": "us a transaction", "ms": "ms until half are answered"}, ("sipload", "tls", 100, 8000, s), secure
    held = {"kamailio, stateful": kamailio(False, "t_relay"), "holdfast, failover": hf("sip", "udp", "auto"), "holdfast, no failover": hf("sip", "udp", "auto", service="failover = no\n")}
    yield "SIP over UDP, requests that are kept", {"us": "us a transaction", "ms": "ms until half are answered"}, ("sipload", "udp", 16, 4000, s), held
    desktops = {"haproxy, hash": haproxy(False), "haproxy, table": haproxy(True), "holdfast, table": hf("rdp", "tcp", "table"), "holdfast, hash": hf("rdp", "tcp", "hash")}
    copy, pipes = {"floor, copy": floor(build, "copy")}, {"floor, splice": floor(build, "splice")}
    yield "RDP connections", {"us": "us a connection", "ms": "ms until half are confirmed"}, ("rdpload", "open", 3000 if quick else 6000, 16), {**desktops, **copy}
    yield "RDP held flows", {"us": "us a small round trip", "ms": "ms until half are back", "kb": "resident KB a flow"}, ("rdpload", "held", 2000, 4000, s), {**desktops, **copy}
    yield "RDP sessions of 2 MB", {"s": "CPU s a GB", "mb_s": "MB a second"}, ("rdpload", "fetch", 2, 200 if quick else 500), {**desktops, **copy, **pipes}
    yield "RDP bulk", {"s": "CPU s a GB", "mb_s": "MB a second"}, ("rdpload", "bulk", 300 if quick else 500, 2), {**desktops, **copy, **pipes}


def spread(values):
    return f"{statistics.median(values):8.3f}  ({min(values):.3f} .. {max(values):.3f})" if values else "   no figure"


def show(section, results):
    figures, proxies, rounds = section[1], list(section[3]), results[section[0]]
    first = proxies[0]
    for key, unit in figures.items():
        print(f"\n{section[0]}: {unit}\n{'':22}{'median':>8}  {'(min .. max)':22}{'ratio to ' + first:>8}")
        for name in proxies:
            values = [r[name][key] for r in rounds if r.get(name)]
            ratios = [r[name][key] / r[first][key] for r in rounds if r.get(name) and r.get(first) and r[first][key] > 0]
            print(f"{name:22}{spread(values):32}{spread(ratios)}")
    for name in proxies:
        bad = [r[name] for r in rounds if r.get(name) and faulty(r[name])]
        if bad:
            print(f"note: {name}: {bad[0]}")


def faulty(r):
    lost = r.get("sent", 0) - r.get("answered", r.get("trips", r.get("sent", 0)))
    return lost > 0.01 * r.get("sent", 0) or r.get("failed") or r.get("refused") or r.get("octets", 0) < r.get("of", 0)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build")
    a.add_argument("--quick", action="store_true")
    a.add_argument("--rounds", type=int)
    a.add_argument("--only", choices=["sip", "rdp", "engine"])
    a.add_argument("--match", default="", help="only proxies whose name has this in it, and what they are compared with")
    a = a.parse_args()
    begin, limit = time.monotonic(), 100 if a.quick else 500
    sections = [s for s in plan(a.build, a.quick) if not a.only or s[0].lower().startswith(a.only)]
    for tool in ("kamailio", "haproxy"):
        if not shutil.which(tool):
            print(f"{tool} is not installed: nothing to compare with")
    if a.only in (None, "engine"):
        print("The engine alone, a million sessions:")
        sys.stdout.flush()
        subprocess.run([f"{a.build}/bench_engine"], timeout=120, check=False)
        print("\nBeside other ways to choose:")
        sys.stdout.flush()
        subprocess.run([f"{a.build}/bench_methods"], timeout=120, check=False)
        subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "stick.py"), "50000"], timeout=120, check=False)
    if a.only in (None, "sip"):
        print("The SIP scanner alone:")
        sys.stdout.flush()
        subprocess.run([f"{a.build}/bench_scan"], timeout=120, check=False)
    results, rounds, longest = {s[0]: [] for s in sections}, a.rounds or (1 if a.quick else 5), 0
    for n in range(rounds):
        from_ = time.monotonic()
        if from_ - begin + longest > limit:
            print(f"time is up after {n} rounds")
            break
        for what, _, load, proxies in sections:
            names = [p for i, p in enumerate(proxies) if not i or a.match in p]
            results[what].append({p: measure(a.build, proxies[p], load) for p in names if not p.startswith(("kamailio", "haproxy")) or shutil.which(p.split(",")[0])})
        longest = max(longest, time.monotonic() - from_)
        print(f"round {n + 1} of {rounds}: {longest:.0f} s, load of the machine {os.getloadavg()[0]:.1f}", flush=True)
    for s in sections:
        show(s, results)
    print(f"\n{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
