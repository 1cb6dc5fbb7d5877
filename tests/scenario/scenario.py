"""What every scenario stands on: the real program on loopback with a generated configuration, peers, and checks.

A scenario is a file beside this one with a docstring, `def run(s)` and, where it differs, TIMEOUT in seconds. `s` is a Scenario: it makes a
directory, starts the gateway and the peers, and ends exactly the processes that it started. A check that fails raises Failed; Skip says
why a scenario cannot run here. run.py runs them."""
import contextlib, hashlib, json, os, random, re, shutil, signal, socket, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(os.path.dirname(HERE), "peers")
FULL = os.environ.get("HOLDFAST_FULL") == "1"
SLOW = float(os.environ.get("HOLDFAST_SLOW", "1"))     # a factor on waits, for sanitizer builds
BARE = os.environ.get("HOLDFAST_SANITIZED") != "1"      # its memory is the gateway's own, and no sanitizer's beside it
PATIENCE = 20.0        # s until a condition that must come is given up: a test's length when it fails, and no measure, as a machine may leave a process out for seconds
PORTS = range(10000, 20000)                             # below those that the system gives away by itself, so that no socket of another program is there meanwhile


class Failed(Exception):
    pass


class Skip(Exception):
    pass


def check(ok, *what):
    if not ok:
        raise Failed(" ".join(x if isinstance(x, str) else json.dumps(x, default=str) for x in what))


def equal(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


def until(what, test, seconds=PATIENCE, every=0.05):
    """waits for test() to be true and returns its value"""
    end = time.monotonic() + seconds * SLOW
    while True:
        late = time.monotonic() > end                      # before it is looked once more
        value = test()
        if value:
            return value
        check(not late, f"not within {seconds * SLOW:g} s: {what}")
        time.sleep(every)


def need(*programs):
    for p in programs:
        if not shutil.which(p, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            raise Skip(f"{p} is not installed")


taken = []             # the marks of ports, held for as long as this process lives


def free_port(host="127.0.0.1"):
    """a port for who cannot say which one he took, or has to come back to it: free over UDP and TCP, and no other scenario beside this one is given it"""
    for port in random.sample(PORTS, len(PORTS)):
        mark, at = socket.socket(socket.AF_UNIX), (host, port)
        try:
            mark.bind(f"\0holdfast-port-{port}")
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind) as s:
                    s.bind(at)
        except OSError:
            mark.close()
            continue
        taken.append(mark)
        return port
    raise Failed("no port is free")


def place(host="127.0.0.1"):
    """where a listener comes back to after a restart: host and such a port"""
    return f"{host}:{free_port(host)}"


class Process:
    """a child with its output in a file; ended by its own pid"""
    def __init__(self, s, name, argv, **k):
        self.name, self.log = name, os.path.join(s.dir, f"{name}.log")
        self.out = open(self.log, "ab")
        self.begin = self.out.tell()                       # a second process of the same name writes behind the first
        k.setdefault("stdout", self.out)
        k.setdefault("stdin", subprocess.DEVNULL)
        self.p = subprocess.Popen(argv, stderr=self.out, **k)
        s.children.append(self)

    @property
    def pid(self):
        return self.p.pid

    def text(self):
        with open(self.log, "rb") as f:
            f.seek(self.begin)
            return f.read().decode(errors="replace")

    def alive(self):
        return self.p.poll() is None

    def kill(self, sig=signal.SIGKILL):
        if self.alive():
            self.p.send_signal(sig)

    def end(self, seconds=5.0):
        """TERM, and KILL when that does not help -> exit code"""
        self.kill(signal.SIGTERM)
        try:
            return self.p.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            return None


class Peer(Process):
    """a scripted peer of tests/peers: `peer.ask("call 20")` -> its answer; tell and answer are the two halves"""
    def __init__(self, s, name, program, *args):
        env = dict(os.environ, HOLDFAST_PEER=f"{s.name} {len(s.children)}")     # its Call-IDs are made of that
        super().__init__(s, name, [sys.executable, os.path.join(PEERS, program), *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.label, self.ready = name, self.answer()
        self.host, self.port = self.ready.get("host", "127.0.0.1"), self.ready.get("port", 0)
        self.at = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def tell(self, command):
        self.p.stdin.write((command + "\n").encode())
        self.p.stdin.flush()

    def answer(self):
        line = self.p.stdout.readline()
        check(line, f"peer {self.name} ended")
        got = json.loads(line)
        check(got.get("ok", True), f"peer {self.name}:", got)
        return got

    def ask(self, command):
        self.tell(command)
        return self.answer()

    def stats(self):
        return self.ask("stats")


class Gateway(Process):
    def __init__(self, s, ini, name="gateway", wait=True, program=None, arguments=(), **k):
        self.s, self.ini = s, os.path.join(s.dir, f"{name}.ini")
        self.socket = os.path.join(s.dir, f"{name}.sock")
        self.write(ini)
        super().__init__(s, name, [program or s.program("HOLDFAST_BIN", "holdfast"), "-c", self.ini, *arguments], **k)
        self.uris = {}
        if wait:
            self.wait_ready()

    def write(self, ini):
        with open(self.ini, "w") as f:
            f.write(ini)

    def wait_ready(self):
        until("the gateway is ready", lambda: re.search(r"event=ready\b", self.text()) or check(self.alive(), "the gateway ended:", self.text()[-2000:]))
        self.uris = {}
        for service, uri in re.findall(r"event=listen\b.* service=(\S+) uri=(\S+)", self.text()):
            self.uris.setdefault(service, [])
            if uri not in self.uris[service]:
                self.uris[service].append(uri)

    def at(self, service="calls", transport=None):
        """HOST:PORT of a service's first listener of that transport"""
        for uri in self.uris.get(service, []):
            scheme, _, where = uri.partition("://")
            if transport in (None, scheme):
                return where
        raise Failed(f"no listener of {service}: {self.uris}")

    def rss_kb(self):
        with open(f"/proc/{self.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])

    def run_ctl(self, *args, timeout=60, stdin=None):
        return subprocess.run([self.s.program("HOLDFASTCTL", "holdfastctl"), "-s", self.socket, *args], capture_output=True, text=True, timeout=timeout, input=stdin)

    def ctl(self, *args, want=0, stdin=None):
        """the JSON answer of a command"""
        r = self.run_ctl("--json", *args, stdin=stdin)
        check(r.returncode == want, f"holdfastctl {' '.join(args)}: exit {r.returncode}, want {want}: {r.stdout} {r.stderr}")
        return json.loads(r.stdout) if r.stdout.strip() else {}

    def status(self):
        return self.ctl("status")

    def server(self, name, pool=None):
        return next((x for x in self.ctl("servers")["servers"] if x["name"] == name and pool in (None, x["pool"])), None)

    def where(self, key, pool=None):
        return self.ctl("where", *(["--pool", pool] if pool else []), key)

    def state(self, name):
        x = self.server(name)
        return x["state"] if x else None

    def wait_state(self, name, state, seconds=PATIENCE):
        until(f"server {name} is {state}", lambda: self.state(name) == state, seconds)

    def reload(self, ini=None, how="ctl"):
        """a good configuration takes hold; returns once it has"""
        if ini:
            self.write(ini)
        before = self.status()["config_generation"]
        if how == "ctl":
            self.ctl("reload")
        else:
            self.kill(signal.SIGHUP)
        until("the configuration is in force", lambda: self.status()["config_generation"] > before)

    def store(self, pool):
        """the pool's copy on disk"""
        return next(x["store"] for x in self.status()["pools"] if x["name"] == pool)

    def synced(self, *pools):
        """what was done before this call is on the disk"""
        begin = time.monotonic()

        def later(pool):
            x = self.store(pool)
            return x["condition"] == "ok" and x["age_ms"] < (time.monotonic() - begin) * 1000 - 50
        for pool in pools:
            until(f"pool {pool} is on the disk", lambda: later(pool), every=0.02)

    def drops(self, service="calls"):
        return next(x["drops"] for x in self.status()["services"] if x["name"] == service)

    def stop(self):
        """as an operator does; a clean end, and soon, is part of every scenario"""
        check(self.alive(), "the gateway ended by itself:", self.text()[-3000:])
        equal(self.end(PATIENCE), 0, "the gateway's exit code after TERM")
        self.complaints()

    def complaint(self):
        return re.search(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|event=bug\b|LeakSanitizer", self.text())

    def fell(self):
        """ended by a signal that nobody sent, or complained of itself"""
        return (self.p.poll() or 0) < 0 and self.p.returncode not in (-signal.SIGKILL, -signal.SIGTERM) or bool(self.complaint())

    def complaints(self):
        bad = self.complaint()
        check(not bad, "the gateway's log complains:", self.text()[bad.start() if bad else 0:][:3000])


class Scenario:
    def __init__(self, name):
        self.name, self.children, self.dir = name, [], tempfile.mkdtemp(prefix=f"hf-{name[:20]}.")
        self.servers = []

    def program(self, variable, name):
        path = os.environ.get(variable)
        if not path and os.environ.get("HOLDFAST_BIN"):
            path = os.path.join(os.path.dirname(os.environ["HOLDFAST_BIN"]), name)
        check(path and os.access(path, os.X_OK), f"{variable} names no program: {path}")
        return path

    def path(self, name):
        return os.path.join(self.dir, name)

    # ---- peers

    def sip_server(self, name, *args, host="127.0.0.1"):
        p = Peer(self, name, "sip_server.py", name, host if ":" in host else host + ":0", *args)
        self.servers.append(p)
        return p

    def rdp_host(self, name, host="127.0.0.1"):
        p = Peer(self, name, "rdp_host.py", name, host if ":" in host else place(host))      # it goes down and comes back
        self.servers.append(p)
        return p

    def phones(self, gateway, *args, name="phones", service="calls"):
        return self.phones_at(gateway.at(service, "udp"), name, *args)

    def phones_at(self, at, name, *args):
        return Peer(self, name, "sip_client.py", at, "--name", name, *args)

    def desktops(self, gateway, name="desktops", service="desktops"):
        return Peer(self, name, "rdp_client.py", gateway.at(service))

    def start(self, name, argv, **k):
        return Process(self, name, argv, **k)

    # ---- configuration

    def ini_gateway(self, name="gateway", workers=2, extra="", keys=True):
        """keys: the same ones at each run; else it draws its own"""
        if not os.path.isdir(self.path(f"{name}.state")):
            os.makedirs(self.path(f"{name}.state"))
            if keys:
                self.keys(name)
        os.makedirs(self.path(f"{name}.run"), exist_ok=True)
        return (f"[gateway]\nworkers = {workers}\nstate-dir = {self.path(name + '.state')}\nrun-dir = {self.path(name + '.run')}\n"
                f"admin-socket = {self.path(name + '.sock')}\n{extra}\n")

    def keys(self, name):
        """the secret of a gateway, where it would make one: whose home is where is no matter of chance, and no share of calls is ever far from its mean"""
        drawn = hashlib.sha256(f"{self.name} {name}".encode()).hexdigest()
        with open(self.path(f"{name}.state/cluster.secret"), "w", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
            f.write(f"hash {drawn[:32]}\nsign {drawn[32:]}\n")

    def ini_servers(self, servers):
        """lines of peers, or of (peer or "NAME ADDRESS", "weight=50") pairs"""
        lines = []
        for x in servers:
            x, more = x if isinstance(x, tuple) else (x, "")
            lines.append(f"server = {x if isinstance(x, str) else f'{x.label} {x.at}'} {more}".rstrip())
        return "\n".join(lines)

    def ini_sip(self, servers, pool="probe = none", service="", name="calls", listen="udp://127.0.0.1:0", pool_name="pbx"):
        """the longest try-timeout where none is said: a server that the machine has left out for two seconds is not silent, and must not share its call with the next"""
        if "try-timeout" not in service and "failover = no" not in service:
            service += "\ntry-timeout = 16s"
        return f"[service {name}]\nprotocol = sip\nlisten = {listen}\npool = {pool_name}\n{service}\n\n[pool {pool_name}]\n{pool}\n{self.ini_servers(servers)}\n\n"

    def ini_rdp(self, servers, pool="probe = none", service="", name="desktops", listen="tcp://127.0.0.1:0", pool_name="farm"):
        return f"[service {name}]\nprotocol = rdp\nlisten = {listen}\npool = {pool_name}\n{service}\n\n[pool {pool_name}]\n{pool}\n{self.ini_servers(servers)}\n\n"

    def gateway(self, ini, **k):
        return Gateway(self, ini, **k)

    # ---- verdicts that many scenarios share

    def all_home(self, got, what, lost=0):
        check(got["moved"] == 0 and got["lost"] == lost and not got["refused"], f"{what}:", got)

    def no_strangers(self, *peers):
        for p in peers or self.servers:
            got = p.stats() if p.alive() else {}
            if "strangers" in got:                       # a SIP peer, alive
                check(got["strangers"] == 0 and got["stray_acks"] == 0 and got["stray_cancels"] == 0 and got["moved"] == 0, f"{p.label} got what is not its own:", got)

    def close(self, keep):
        """-> whether a gateway fell, which no second try excuses"""
        for c in reversed(self.children):
            if c.alive():
                with contextlib.suppress(Exception):
                    c.end(1.0) if not isinstance(c, Gateway) else c.end()
        for c in self.children:
            c.out.close()
        if keep:
            self.dump()
        fell = any(isinstance(c, Gateway) and c.fell() for c in self.children)
        shutil.rmtree(self.dir, ignore_errors=True)
        return fell

    def dump(self):
        for c in self.children:
            text = c.text()
            if text.strip():
                print(f"---- {c.name} ({c.log}), the last lines\n{text[-2000:]}", flush=True)
