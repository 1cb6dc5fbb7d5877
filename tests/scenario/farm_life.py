"""Weeks of a desktop farm: users of every spelling come and go while hosts blip, reboot, drain and are patched one after the other, and the gateway is
stopped, killed and started again. Not one user gets a second session beside one that is held: with `on-down = hold` not even by a host that was down for a
moment, with `move` only by one that was down then. New users are spread within the load factor. 400 users, or 10,000 with HOLDFAST_FULL=1."""
from scenario import FULL, Peer, check, equal, place, until

TIMEOUT = 900 if FULL else 150
USERS, HOSTS = (10000, 8) if FULL else (400, 4)
STEP = USERS // 8                          # logons between two events
# a busy machine is no host that is down: that one refuses at once
PROBE = "probe = connect\nprobe-interval = 300ms\nprobe-timeout = 3s\nprobe-rise = 1\nprobe-fall = 2\nload-factor = 1.25\n"


class Life:
    def __init__(self, s, name, pool, *more):
        self.s, self.name = s, name
        self.hosts = [s.rdp_host(f"{name}{i}") for i in range(1, HOSTS + 1)]
        self.ini = s.ini_gateway(name) + s.ini_rdp(self.hosts, PROBE + pool, "own-domains = CORP", listen=f"tcp://{place()}")
        self.start()
        for h in self.hosts:
            self.g.wait_state(h.label, "up")
        self.farm = Peer(s, name + "-users", "rdp_farm.py", self.g.at("desktops"), "--users", USERS, "--seed", 7, *more)

    def start(self):
        self.g = self.s.gateway(self.ini, name=self.name)

    def some(self, n=STEP):
        """life goes on for n more logons"""
        until_more = self.farm.stats().get("logons", 0) + n
        until(f"{n} more logons", lambda: self.farm.stats()["logons"] >= until_more, 60 if FULL else 40, 0.1)

    # ---- what happens

    def down(self, h, lose):
        self.farm.ask(f"host name={h.label} state=down")
        h.ask("set mode=down")
        if lose:
            h.ask("lose")
            self.farm.ask(f"host name={h.label} state=lost")
        self.g.wait_state(h.label, "down")

    def up(self, h):
        h.ask("set mode=up")
        until(f"{h.label} is seen to be up", lambda: self.g.state(h.label) != "down")
        self.farm.ask(f"host name={h.label} state=up")

    def blip(self, h):
        self.down(h, False)
        self.up(h)

    def reboot(self, h):
        self.down(h, True)
        self.up(h)

    def drain(self, h):
        self.g.ctl("drain", h.label)
        self.some()
        self.g.ctl("undrain", h.label)

    def patch_night(self):
        for h in self.hosts:
            self.g.ctl("drain", h.label)
            self.down(h, True)
            self.up(h)
            self.g.ctl("undrain", h.label)
            self.some(20)

    def restart(self, how):
        getattr(self.g, how)()
        until("it is gone", lambda: not self.g.alive())
        self.start()
        for h in self.hosts:
            self.g.wait_state(h.label, "up")

    # ---- what must be

    def fill(self):
        got = self.farm.ask("fill")
        equal((got["logons"], got.get("refused", 0), got["splits"]), (USERS, 0, 0), "everybody's first logon")
        held = [len(h.ask("sessions")["sessions"]) for h in self.hosts]
        equal(sum(held), USERS, "sessions")
        check(max(held) <= 1.25 * (USERS + 1) / HOSTS + 3, "spread above the load factor:", held)        # two workers may each place one above it
        return max(held) * HOSTS / USERS

    def verdict(self):
        got = self.farm.ask("pause")
        where, twice = {}, 0
        for h in self.hosts:
            for user in h.ask("sessions")["sessions"]:
                twice += user in where
                where[user] = h.label
        check(got["bad"] == 0, f"{got['bad']} users were split and no host's downtime excuses it:", self.farm.ask("splits")["splits"])
        return got, twice


def held(s):
    """the strict form: no host is down for longer than its users are held"""
    life = Life(s, "hold", "on-down = hold 60s")
    spread = life.fill()
    life.farm.ask("play")
    a, b, c, d = life.hosts[:4]
    steps = [lambda: life.blip(a), lambda: life.drain(b), lambda: life.reboot(c), lambda: life.restart("stop"), lambda: life.blip(d), lambda: life.restart("kill"),
             life.patch_night, lambda: life.blip(b)]
    for step in steps:
        step()
        life.some()
    got, twice = life.verdict()
    equal((got["splits"], twice), (0, 0), "users with two sessions")
    life.g.stop()
    print(f"{got['logons']} logons of {USERS} users, {got.get('refused', 0)} refused, the longest {got['longest_ms']} ms; fullest host {spread:.2f} of the mean; ", end="")


def moved(s):
    """whichever of a user's names comes first while his host is down, with a domain, cut or none at all, decides for all of them"""
    life = Life(s, "move", "on-down = move", "--silent", 0.4, "--base", "127.61")
    life.fill()
    life.farm.ask("play")
    for h in life.hosts[:2]:
        life.blip(h)
        life.some()
    life.down(life.hosts[2], False)
    life.some()
    life.up(life.hosts[2])
    life.some()
    got, twice = life.verdict()
    check(got["splits"] > 0 and twice > 0, "with `move` users of a host that was down are found elsewhere:", got)
    life.g.stop()
    print(f"with move {got['splits']} splits, each by a host that was down", end="")


def run(s):
    held(s)
    moved(s)
