"""Three baresip phones register at kamailio through the gateway. Two call each other: both legs of the call run through it, and it lasts while a second
server joins the pool, is held and resumed (re-INVITE), and is transferred to the third phone (REFER). Every request of it is kamailio's.
(kamailio opens the second leg itself: what a member sends goes where its request says.)"""
import glob, json, os, re, socket

from _certs import Authority
from scenario import Skip, check, equal, free_port, need, until

TIMEOUT = 90
DOMAIN = "lab.example"
KAMAILIO = """#!KAMAILIO
# A registrar and proxy: the smallest that lets two phones call each other through their path.
debug=2
log_stderror=yes
children=2
disable_tcp={disable_tcp}
tcp_children=1
auto_aliases=no
dns=no
rev_dns=no
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "xlog.so"
loadmodule "siputils.so"
loadmodule "textops.so"
loadmodule "usrloc.so"
loadmodule "registrar.so"
loadmodule "path.so"
modparam("usrloc", "db_mode", 0)
modparam("registrar", "use_path", 1)
modparam("registrar", "path_mode", 0)
{tls}
request_route {
    xlog("L_NOTICE", "SEEN $rm $ci from $si:$sp\\n");
    if (is_method("OPTIONS") && $rU == $null) { sl_send_reply("200", "OK"); exit; }
    if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
    if (has_totag()) {
        if (loose_route()) { t_relay(); exit; }
        if (is_method("ACK")) { if (t_check_trans()) t_relay(); exit; }
        sl_send_reply("404", "Not here");
        exit;
    }
    if (is_method("REGISTER")) { save("location"); exit; }
    record_route();
    if (!lookup("location")) { sl_send_reply("404", "Not registered"); exit; }
    t_relay();
}
"""
# it shows a certificate, and wants one that it can believe of whoever comes
TLS = """enable_tls=yes
loadmodule "tls.so"
modparam("tls", "certificate", "{cert}")
modparam("tls", "private_key", "{key}")
modparam("tls", "ca_list", "{ca}")
modparam("tls", "verify_certificate", 1)
modparam("tls", "require_certificate", 1)
modparam("tls", "tls_method", "TLSv1.2+")
"""


def phone(s, name, user, ip, gateway, control, transport, renews=60, config=""):
    d = s.path(name)
    os.makedirs(d)
    with open(f"{d}/config", "w") as f:
        f.write(f"sip_listen {ip}:0\nnet_interface {ip}\naudio_source ausine,440\nausrc_srate 48000\nausrc_channels 2\nrtp_ports 20000-29999\n"
                "module_path /usr/lib/baresip/modules\nmodule g711.so\nmodule ausine.so\nmodule aufile.so\nmodule uuid.so\nmodule_app account.so\nmodule_app menu.so\n"
                f"module_app debug_cmd.so\nmodule_app ctrl_tcp.so\nctrl_tcp_listen {control[0]}:{control[1]}\n{config}")
    with open(f"{d}/accounts", "w") as f:
        f.write(f"<sip:{user}@{DOMAIN};transport={transport}>;auth_pass=none;outbound=\"sip:{gateway};transport={transport}\";regint={renews};answermode=auto;ptime=20;audio_codecs=PCMU\n")
    with open(f"{d}/contacts", "w") as f:
        f.write(f"\"x\" <sip:x@{DOMAIN}>\n")
    return s.start(name, ["baresip", "-v", "-s", "-f", d], cwd=d)


def controls(addresses):
    """where each phone is told what to do: at its own address, where no other program has taken the port meanwhile"""
    return [(ip, free_port(ip)) for ip in addresses]


def command(control, name, params=""):
    text = json.dumps(dict(command=name, params=params, token="t"))
    with socket.create_connection(control, 20) as c:
        c.sendall(f"{len(text)}:{text},".encode())
        c.settimeout(10)
        got = b""
        try:
            while d := c.recv(65536):
                got += d
                if b'"response":true' in got and got.endswith(b"},"):    # netstrings of JSON: events, and the answer
                    break
        except socket.timeout:
            pass
        return got.decode(errors="replace")


def answers(g, name, kamailio):
    """it has seen a probe, and is up; before any probe has failed it is taken for up, too"""
    until(f"{name} answers the probe", lambda: ("SEEN OPTIONS" in kamailio.text() and g.state(name) == "up") or check(kamailio.alive(), f"{name} ended:", kamailio.text()[-1500:]))


def run(s):
    play(s, "udp")


def with_tls(s):
    """kamailio's part, our service's and pool's, the phones': all have their certificates of one authority, and show them where they are asked"""
    if not glob.glob("/usr/lib/*/kamailio/modules/tls.so"):
        raise Skip("kamailio-tls-modules is not installed")
    ca = Authority(s)
    kam, gw, ours, phones = (ca.make(name, san) for name, san in (("kam", "DNS:kam.lab.example"), ("gw", "DNS:gw.lab.example,IP:127.0.0.1"), ("ours", "DNS:gw.lab.example"), ("phones", "DNS:phones.lab.example")))
    both = s.path("phones.both")
    with open(both, "w") as f:
        f.write("".join(open(x).read() for x in (phones.cert, phones.key)))
    return (TLS.format(cert=kam.cert, key=kam.key, ca=ca.cert), f"tls-certificate = {gw.line()}\n",
            f"tls-ca = {ca.cert}\ntls-name = kam.lab.example\ntls-certificate = {ours.line()}\n", f"sip_cafile {ca.cert}\nsip_certificate {both}\n")


def play(s, transport):
    """phones and kamailio speak this transport to the gateway"""
    need("kamailio", "baresip")
    tls, service, pool, config = with_tls(s) if transport == "tls" else ("", "", "", "")
    port = free_port()
    with open(s.path("kamailio.cfg"), "w") as f:
        f.write(KAMAILIO.replace("{disable_tcp}", "yes" if transport == "udp" else "no").replace("{tls}", tls))
    other = s.sip_server("pbx2")
    head = s.ini_gateway()
    ini = lambda *more: head + s.ini_sip([f"kam {transport}://127.0.0.1:{port}", *more], listen=f"udp://127.0.0.1:0 {transport}://127.0.0.1:0" if transport != "udp" else "udp://127.0.0.1:0",
                                          service=service, pool=f"{pool}probe = options\nprobe-interval = 500ms\nprobe-timeout = 2s\nprobe-rise = 1")
    kam = s.start("kamailio", ["/usr/sbin/kamailio", "-DD", "-E", "-f", s.path("kamailio.cfg"), "-P", s.path("kamailio.pid"), "-Y", s.dir, "-m", "64", "-M", "8", "-l", f"{transport}:127.0.0.1:{port}"])
    g = s.gateway(ini())
    answers(g, "kam", kam)
    at, net = g.at("calls", transport), {"udp": "127.0.6", "tcp": "127.0.7", "tls": "127.0.9"}[transport]
    ports = controls(f"{net}.{n + 1}" for n in range(3))
    phones = [phone(s, user, user, ports[n][0], at, ports[n], transport, config=config) for n, user in enumerate(("alice", "bob", "carol"))]
    until("all phones are registered", lambda: all("200 OK" in p.text() for p in phones))
    sources = set(re.findall(r"SEEN REGISTER \S+ from (\S+)", kam.text()))
    check(sources and all(x.startswith("127.0.0.1:") for x in sources) and (transport != "udp" or len(sources) == 1), "kamailio sees the gateway alone:", sorted(sources))
    before = g.status()["services"][0]["parcels"]
    command(ports[0], "dial", f"sip:bob@{DOMAIN}")
    calls = lambda: [len(re.findall(r"ESTABLISHED", command(p, "listcalls"))) for p in ports]
    until("the call is up at both phones", lambda: calls() == [1, 1, 0], every=0.3)
    g.reload(ini(other))
    g.wait_state("pbx2", "up")
    sessions = {x["name"]: x["sessions"] for x in g.ctl("servers")["servers"]}
    check(sessions["kam"] >= 1 and sessions["pbx2"] == 0, "sessions:", sessions)
    call = re.search(r"SEEN INVITE (\S+)", kam.text())[1]
    times = lambda method: len(re.findall(rf"SEEN {method} {re.escape(call)} ", kam.text()))
    for n, what in ((2, "hold"), (3, "resume")):
        command(ports[0], what)
        until(f"kamailio has the re-INVITE and the ACK of {what}", lambda: (times("INVITE"), times("ACK")) == (n, n))
        equal(calls(), [1, 1, 0], f"calls after {what}")
    g.ctl("drain", "pbx2")                                  # the call that a transfer makes is a new one, and only kamailio knows where carol is
    command(ports[0], "transfer", f"sip:carol@{DOMAIN}")
    until("bob's call is with carol", lambda: calls() == [0, 1, 1], every=0.3)
    check(times("REFER") >= 1, "kamailio saw no REFER of the call")
    notes = g.status()["services"][0]["requests"].get("NOTIFY", 0)
    check(notes >= 1, "no NOTIFY of the transfer came to alice through the gateway")
    command(ports[1], "hangup")
    until("the call is over at all phones", lambda: calls() == [0, 0, 0], every=0.3)
    seen = re.findall(r"SEEN (\w+) \S+ from 127\.0\.0\.1:(\d+)", kam.text())
    for method in ("INVITE", "ACK", "REFER", "BYE"):
        check(any(m == method and (transport != "udp" or p == at.rsplit(":", 1)[1]) for m, p in seen), f"kamailio saw no {method} from the gateway:", seen[-10:])
    legs = g.status()["services"][0]["parcels"] - before
    check(legs >= 12, f"{legs} parcels for a call whose two legs run through the gateway")
    equal(sum(other.stats()["heard"][m] for m in other.stats()["heard"] if m != "OPTIONS"), 0, "requests of the call at the other server")
    until("the sessions are ended", lambda: sum(x["sessions"] for x in g.ctl("servers")["servers"]) == 0)
