"""A collection's token chooses the pool: its clients go to that pool's hosts and come back to the one that they had, by their source, through a reload, a
restart and a redirect; others stay in the service's own pool. Without the choice all would be there; were the flow's pool asked of the service once more
(the dial, the entry, the datagrams beside it), a host of the wrong pool or none would be found."""
import json, signal, socket, subprocess, sys

from _desk import WAIT, confirmed
from scenario import PEERS, SLOW, check, equal, place, until

sys.path.insert(0, PEERS)
import rdp_text
from rdp_udp import Both, syn

TIMEOUT = 60
TSV = b"tsv://MS Terminal Services Plugin.1."


def datagrams(s):
    """A desktop's datagrams go to its host, which no other pool has."""
    ours, theirs = Both("ts1"), Both("sales1")
    g = s.gateway(s.ini_gateway("udp") + s.ini_rdp([ours], "probe = none", "collection = Sales sales", listen="tcp://127.0.0.1:0 udp://127.0.0.1:0") +
                  f"[pool sales]\nprobe = none\nserver = {theirs.label} {theirs.at}\n", name="udp")
    tcp, udp = (g.at("desktops", t).rsplit(":", 1) for t in ("tcp", "udp"))
    with socket.create_connection((tcp[0], int(tcp[1])), WAIT, ("127.0.4.1", 0)) as c, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
        c.sendall(rdp_text.request(TSV + b"Sales"))
        h = theirs.accept()
        confirmed(c)
        u.bind(("127.0.4.1", 0))
        u.settimeout(WAIT)
        u.sendto(syn(), (udp[0], int(udp[1])))
        got, back = theirs.datagram()
        equal(got, syn(), "the SYN at the host")
        theirs.u.sendto(b"answer", back)
        equal(u.recv(2048), b"answer", "what the host says")
        ours.silent()
        h.close()
    g.stop()


def run(s):
    datagrams(s)
    farm, sales = [s.rdp_host(f"ts{i}") for i in (1, 2)], [s.rdp_host(f"sales{i}") for i in (1, 2, 3)]
    ours, theirs = {h.label for h in farm}, {h.label for h in sales}
    pools = s.ini_servers(sales)

    def ini(lines, linger="60s", at=place()):
        return s.ini_gateway() + s.ini_rdp(farm, "probe = none\nlinger = 2h", lines, listen=f"tcp://{at}") + f"[pool sales]\nprobe = none\nsource-linger = {linger}\n{pools}\n"

    both = "collection = Sales sales\ncollection = Big Apps sales\ncollection = Office farm"
    g = s.gateway(ini(both))
    at, port = g.at("desktops").rsplit(":", 1)

    def come(line, source):
        """the host that a request with this line gets; it gets it as it was sent"""
        before = {h.label: h.stats()["requests"] for h in farm + sales}
        with socket.create_connection((at, int(port)), 5, (source, 0)) as c:
            c.settimeout(20 * SLOW)
            c.sendall(rdp_text.request(line))
            got = c.recv(4096)
            check(got[5:6] == b"\xd0", "no Confirm:", repr(got))
            h = next(h for h in farm + sales if h.stats()["requests"] > before[h.label])
            if line.startswith(b"tsv:") or line.startswith(b"mth:"):
                check(line.decode() in json.dumps(h.ask("requests")), "passed on as it was:", line.decode(), h.ask("requests"))
            return h.label

    def unknown():
        return g.drops("desktops").get("collection-unknown", 0)

    def hosts_of(line, n, first=10):
        return {f"127.0.1.{first + i}": come(line, f"127.0.1.{first + i}") for i in range(n)}

    homes = hosts_of(TSV + b"Sales", 12)
    check(set(homes.values()) <= theirs and len(set(homes.values())) > 1, "hosts of the collection:", homes)
    check(come(b"Cookie: mstshash=alice", "127.0.2.1") in ours, "a user without a token")
    check(come(TSV + b"Sale", "127.0.2.2") in ours and come(b"mth://Sales/x", "127.0.2.3") in ours, "collections of no pool")
    equal(unknown(), 2, "collections of no pool, counted")
    check(come(b"tsv://VMResource.1.SALES", "127.0.2.4") in theirs and come(b"mth://big apps", "127.0.2.5") in theirs, "in any case, with a blank")
    check(come(TSV + b"Office", "127.0.2.6") in ours, "a name of the service's own pool")
    equal({a: come(TSV + b"Sales", a) for a in homes}, homes, "each comes back by its source")
    one, home = next(iter(homes.items()))
    w = g.where(f"source:{one}", "sales")
    equal((w["server"], w["why"]), (home, "bond"), "where its source is")
    check(w["expires_s"] <= 68, "the time of a bond is that pool's own:", w)
    check(g.where(f"source:{one}", "farm")["why"] != "bond", "nothing of it is in the other pool")
    target = next(h for h in sales if h.label != home)
    equal(come(rdp_text.token(target.host, target.port), one), target.label, "a redirect to a host of that pool")
    equal(g.drops("desktops").get("token-outside", 0), 0, "tokens outside")
    raw = rdp_text.request(TSV + b"Sales").hex()
    told = json.loads(subprocess.run([s.program("HOLDFASTCTL", "holdfastctl"), "-s", g.socket, "--json", "explain", "--hex", "--from", f"{one}:1"],
                                     input=raw, capture_output=True, text=True, check=True).stdout)["stories"]
    equal((len(told), told[0]["pool"], told[0]["server"]), (1, "sales", home), "explained")
    check("error" in g.ctl("token", "--user", "a", "--server", "sales1", want=1), "a signed token for a pool that only a collection chooses")

    d = s.desktops(g)
    equal(d.ask("connect user=clerk line=tsv://VMResource.1.Sales at=127.0.3.1")["answer"], "confirm", "a desktop that stays")
    stays = d.ask("list")
    g.reload(ini(both, "90s"))
    equal({a: come(TSV + b"Sales", a) for a in homes}, homes, "after a reload")
    g.reload(ini(""))                              # nobody sends there any more
    equal(d.ask("check")["same"], 1, "the desktop whose collection is gone")
    check(come(TSV + b"Sales", one) in ours, "without a collection")
    equal(unknown(), 2, "a service without collections counts none")
    g.reload(ini(both))
    equal({a: come(TSV + b"Sales", a) for a in homes}, homes, "the collection is back")
    equal(d.ask("check")["same"], 1, "the desktop lives on")
    equal(d.ask("list"), stays, "the desktop is where it was")

    for label in theirs:
        g.ctl("drain", label)                                # whom no bond leads there would go elsewhere
    g.ctl("undrain", next(h for h in theirs if h != home))
    g.kill(signal.SIGKILL)
    until("it is gone", lambda: not g.alive())
    g = s.gateway(ini(both))
    equal({a: come(TSV + b"Sales", a) for a in homes}, homes, "after a restart, past hosts that take nobody new")
    g.stop()
