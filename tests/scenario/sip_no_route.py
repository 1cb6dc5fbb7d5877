"""Agents that ignore Record-Route: sipp's built-in client sends ACK and BYE to the gateway without Route. The calls are up while the pool changes
twice, so a gateway that only hashes the Call-ID sends the BYE of a moved slot to another server."""
from scenario import FULL, equal, need, until

TIMEOUT = 90


def run(s):
    need("sipp")
    a, b, c = (s.sip_server(f"pbx{i}") for i in (1, 2, 3))
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_sip([a, b]))
    n = 3000 if FULL else 600
    host, port = g.at().rsplit(":", 1)
    sipp = s.start("sipp", ["sipp", "-sn", "uac", "-i", "127.0.0.1", "-r", str(n // 3), "-m", str(n), "-l", str(n), "-d", "5000", "-nostdin", "-trace_stat",
                            "-stf", s.path("sipp.csv"), "-buff_size", "1048576", f"{host}:{port}"])
    up = lambda most: until(f"{most} calls are up", lambda: sum(x.stats()["held"] for x in s.servers) > most)
    up(n / 3)                                             # each is up for five seconds, so that most meet both changes
    g.reload(head + s.ini_sip([a, b, c]))
    up(n / 2)
    g.ctl("drain", "pbx1")
    up(n * 2 / 3)
    g.ctl("undrain", "pbx1")
    code = sipp.p.wait(60)
    with open(s.path("sipp.csv")) as f:
        names, *_, last = [line.rstrip("\n").split(";") for line in f]
    row = dict(zip(names, last))
    equal((code, row["SuccessfulCall(C)"], row["FailedCall(C)"]), (0, str(n), "0"), "sipp's exit code, good and failed calls")
    s.no_strangers()
    print(f"{n} calls of sipp's own client", end="")
