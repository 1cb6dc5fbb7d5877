"""Reload by signal and by command: a good file takes hold, a wrong one changes nothing, and calls stay either way. Without the check before the
build, or with a table that forgets its entries at a reload, it fails."""
import signal

from scenario import check, equal, place, until

CALLS = 300


def run(s):
    a, b, c = (s.sip_server(f"pbx{i}") for i in (1, 2, 3))
    head = s.ini_gateway()
    listen = f"udp://{place()}"
    ini = lambda *servers, **k: head + s.ini_sip(servers, **dict(dict(listen=listen), **k))
    g = s.gateway(ini(a, b))
    phones = s.phones(g)
    s.all_home(phones.ask(f"call {CALLS}"), "calls before")

    g.reload(ini(a, b, c), how="hup")
    s.all_home(phones.ask("ask all"), "after the first reload")
    until("a third of the slots is pbx3's", lambda: g.server("pbx3")["slots"] > 65536 * 0.3)
    got = phones.ask(f"call {CALLS}")
    s.all_home(got, "calls with three servers")
    check(got["by_server"].get("pbx3", 0) > CALLS / 6, "the new server takes its share:", got["by_server"])

    slots = lambda: {x["name"]: (x["slots"], x["weight"]) for x in g.ctl("servers")["servers"]}
    before, owned, text = g.status(), slots(), len(g.text())
    for bad in (ini(a, b, c) + "colour = red\n", ini(a, b, c, pool="load-factor = 0.5"), head, "", ini(a, a)):
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
        g.reload(ini(a, b) if i % 2 == 0 else ini(a, b, c))
    s.all_home(phones.ask("ask all"), "after twenty reloads")
    g.reload(ini(a, b, c, listen=f"{listen} udp://127.0.0.1:0"))
    uris = next(x for x in g.status()["services"] if x["name"] == "calls")["listen"]
    check(len(uris) == 2 and listen in uris and not any(x.endswith(":0") for x in uris), "listeners after one was added:", uris)
    second = s.phones_at(uris[1 - uris.index(listen)].partition("://")[2], "second")
    s.all_home(second.ask("call 50"), "calls at the new listener")
    s.all_home(second.ask("bye all"), "calls at the new listener")
    s.all_home(phones.ask("ask all"), "with one more listener")
    s.all_home(phones.ask("bye all"), "at the end")
    s.no_strangers()
