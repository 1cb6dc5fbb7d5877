"""The admin socket: every command, all fields of --json, exit codes, and garbage. A field that is dropped from the report, or a reader that
trusts what it is sent, makes it fail."""
import json, os, socket, stat

from scenario import check, equal, until

STATUS = "version boot pid uptime_s workers config_file config_generation services pools"
SERVICE = "name protocol pool listen sessions max_sessions flows parcels drops"
POOL = "name affinity hash slots entries exceptions max_entries"
SERVER = "pool name address transport state marks weight file_weight sessions flows connecting queued cap slots fair_slots since_s last_failure last_failure_s agent max_sessions deadline_s removed"
WHERE = "pool key fingerprint slot owner server why state expires_s runner_up"


def fields(what, got, names):
    check(set(names.split()) <= set(got), f"{what} lacks {sorted(set(names.split()) - set(got))}:", got)


def raw(g, octets, seconds=3):
    with socket.socket(socket.AF_UNIX) as c:
        c.settimeout(seconds)
        c.connect(g.socket)
        got = b""
        try:
            c.sendall(octets)
            while d := c.recv(65536):
                got += d
                if got.endswith(b"\n"):
                    break
        except OSError:
            pass
        return got


def garbage(g):
    for octets in (b"\n", b"statu\n", b"status extra\n", b"weight\n", b"weight pbx1 257\n", b"weight pbx1 -1\n", b"\0\0\0\n", b"where\n", b"{\"command\":\"status\"}\n",
                   b"\xff\xfe" * 50 + b"\n", b"drain " + b"x" * 200 + b"\n"):
        got = raw(g, octets)
        check(got.endswith(b"\n") and json.loads(got)["ok"] is False, f"the answer to {octets[:30]!r}:", repr(got[:200]))
    for octets in (b"status", b"A" * 200000, b"A" * 200000 + b"\n", b"status\n" * 5000, b""):
        raw(g, octets, 0.3)                              # any answer will do; it must live
    idle = [socket.socket(socket.AF_UNIX) for _ in range(40)]
    try:
        for c in idle:
            c.settimeout(1)
            try:
                c.connect(g.socket)
            except OSError:
                break                                    # a bound on connections is fine, as long as it comes back
    finally:
        for c in idle:
            c.close()
    until("the admin socket answers after all that", lambda: g.run_ctl("status").returncode == 0)


def commands(s, g, phones):
    equal(g.ctl("drain", "pbx1")["ok"], True, "drain")
    equal(g.state("pbx1"), "drain", "state after drain")
    got = phones.ask("call 60")
    check("pbx1" not in got["by_server"] and got["answered"] == 60, "new calls while pbx1 drains:", got)
    g.ctl("undrain", "pbx1")
    equal(g.state("pbx1"), "up", "state after undrain")
    g.ctl("weight", "pbx2", "10")
    x = g.server("pbx2")
    equal((x["weight"], x["file_weight"]), (10, 100), "weights")
    check("10 (file 100)" in g.run_ctl("servers").stdout, "people see both weights:", g.run_ctl("servers").stdout)
    until("the slots follow the weight", lambda: g.server("pbx2")["slots"] < g.server("pbx1")["slots"] / 5)
    g.ctl("weight", "pbx2", "file")
    equal(g.server("pbx2")["weight"], 100, "weight after `file`")
    for args in (("drain", "nobody"), ("weight", "nobody", "3"), ("undrain", "pbx/nobody"), ("where", "--pool", "nobody", "x"), ("weight", "pbx1", "300")):
        equal(g.run_ctl(*args).returncode, 1, f"exit code of {' '.join(args)}")
        check(g.run_ctl(*args).stderr + g.run_ctl(*args).stdout, "a refusal says why")
    for args in ((), ("nonsense",), ("drain",), ("weight", "pbx1"), ("--nonsense", "status")):
        equal(g.run_ctl(*args).returncode, 2, f"exit code of holdfastctl {' '.join(args)}")


def run(s):
    a, b, host = s.sip_server("pbx1"), s.sip_server("pbx2"), s.rdp_host("ts1")
    g = s.gateway(s.ini_gateway() + s.ini_sip([a, b]) + s.ini_rdp([host]))
    mode = os.stat(g.socket).st_mode
    check(stat.S_ISSOCK(mode) and not mode & 0o007, f"the admin socket is open to all: {mode:o}")
    phones = s.phones(g)
    s.all_home(phones.ask("call 40"), "calls")
    got = g.status()
    fields("status", got, STATUS)
    equal((got["pid"], got["workers"], got["config_file"]), (g.pid, 2, g.ini), "status")
    for x in got["services"]:
        fields("a service", x, SERVICE)
    for x in got["pools"]:
        fields("a pool", x, POOL)
    by_name = {x["name"]: x for x in got["services"]}
    equal(by_name["calls"]["listen"], g.uris["calls"], "listeners in status")
    until("parcels are counted, the last ACK too", lambda: next(x for x in g.status()["services"] if x["name"] == "calls")["parcels"] >= 40 * 4)
    equal([(x["name"], x["affinity"], x["slots"]) for x in got["pools"]], [("pbx", "auto", 65536), ("farm", "table", 65536)], "pools")
    servers = g.ctl("servers")["servers"]
    for x in servers:
        fields("a server", x, SERVER)
    equal({x["name"] for x in servers}, {"pbx1", "pbx2", "ts1"}, "servers")
    equal(sum(x["sessions"] for x in servers if x["pool"] == "pbx"), 40, "sessions of pbx")
    equal(sum(x["slots"] for x in servers if x["pool"] == "pbx"), 65536, "slots of pbx")
    calls = phones.ask("calls")["calls"]
    for c in calls[:10]:
        got = g.where(c["id"], "pbx")
        fields("where", got, WHERE)
        equal(got["server"], c["server"], f"where {c['id']} ({got['why']})")
    got = g.where("never-seen@lab.example", "pbx")
    check(got["server"] == got["owner"] and got["why"] == "home" and got["runner_up"] not in ("", None, got["owner"]), "where an unknown call would go:", got)
    for args in (("status",), ("servers",), ("where", calls[0]["id"], )):
        r = g.run_ctl(*args) if args[0] != "where" else g.run_ctl("where", "--pool", "pbx", args[1])
        check(r.returncode == 0 and r.stdout.strip() and not r.stdout.lstrip().startswith("{"), "for people:", r.stdout[:300])
    commands(s, g, phones)
    garbage(g)
    s.all_home(phones.ask("ask all"), "calls after all that")
