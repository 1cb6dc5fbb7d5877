"""Reload by signal and by command: a good file takes hold, a wrong one changes nothing, and calls stay either way. Without the check before the
build, or with a table that forgets its entries at a reload, it fails."""
import signal

from scenario import check, equal, until

CALLS = 300


def run(s):
    a, b, c = (s.sip_server(f"pbx{i}") for i in (1, 2, 3))
    head = s.ini_gateway()
    g = s.gateway(head + s.ini_sip([a, b]))
    phones = s.phones(g)
    s.all_home(phones.ask(f"call {CALLS}"), "calls before")

    g.reload(head + s.ini_sip([a, b, c]), how="hup")
    s.all_home(phones.ask("ask all"), "after the first reload")
    got = phones.ask(f"call {CALLS}")
    s.all_home(got, "calls with three servers")
    check(got["by_server"].get("pbx3", 0) > CALLS / 6, "the new server takes its share:", got["by_server"])

    slots = lambda: {x["name"]: (x["slots"], x["weight"]) for x in g.ctl("servers")["servers"]}
    before, owned, text = g.status(), slots(), len(g.text())
    for bad in (head + s.ini_sip([a, b, c]) + "colour = red\n", head + s.ini_sip([a, b, c], pool="load-factor = 0.5"), head, "", head + s.ini_sip([a, a])):
        g.write(bad)
        got = g.run_ctl("--json", "reload")
        equal(got.returncode, 1, f"exit code of a reload of a wrong file ({got.stdout})")
        check("gateway.ini:" in got.stdout or "gateway.ini:" in got.stderr or bad in ("", head), "the wrong line is not named:", got.stdout, got.stderr)
        g.kill(signal.SIGHUP)
    until("the refusals of SIGHUP are in the log", lambda: g.text()[text:].count("event=reload-refused") >= 5)
    after = g.status()
    equal(after["config_generation"], before["config_generation"], "generation after refused reloads")
    equal(slots(), owned, "servers after refused reloads")
    s.all_home(phones.ask("ask all method=INVITE"), "after refused reloads")

    for i in range(20):                                  # many in a row, alternately without and with pbx3: its calls stay with it
        g.reload(head + s.ini_sip([a, b] if i % 2 == 0 else [a, b, c]))
    s.all_home(phones.ask("ask all"), "after twenty reloads")
    new_port = g.uris["calls"][0].replace(g.at(), "127.0.0.1:0")
    g.reload(head + s.ini_sip([a, b, c], listen=f"{g.uris['calls'][0]} {new_port}"))
    until("the second listener is open", lambda: g.text().count("event=listen") >= 2)
    s.all_home(phones.ask("ask all"), "with one more listener")
    s.all_home(phones.ask("bye all"), "at the end")
    s.no_strangers()
