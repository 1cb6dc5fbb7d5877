"""Each rule of check.py against one sample that it must refuse and one that it must take. Called by check.py --self-test."""
import os, shutil, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "TO" + "DO"
TABLE = "| rule | file | test (there) |\n|---|---|---|\n| a rule (1.2) | %s | %s |\n"

# rule, file, text, is it a fault?
SAMPLES = [
    ("floors", "src/engine/a.c", '#include "holdfast/clock.h"\n', True),
    ("floors", "src/engine/a.c", '#include "holdfast/log.h"\n', True),
    ("floors", "src/engine/a.c", "#include <sys/socket.h>\n", True),
    ("floors", "src/engine/a.c", "#include <time.h>\n", True),
    ("floors", "src/engine/a.c", '#include "holdfast/front.h"\n', True),
    ("floors", "src/engine/a.c", '#include "holdfast/engine.h"\n#include "holdfast/bytes.h"\n#include <string.h>\n#include "inside.h"\n', False),
    ("floors", "src/base/a.c", '#include "holdfast/engine.h"\n', True),
    ("floors", "src/config/a.c", '#include "holdfast/net.h"\n', True),
    ("floors", "src/net/a.c", '#include "../engine/inside.h"\n', True),
    ("floors", "src/net/a.c", '#include "holdfast/engine.h"\n#include <sys/socket.h>\n', False),
    ("floors", "protocols/sip/a.c", '#include "holdfast/engine.h"\n', True),
    ("floors", "protocols/sip/a.c", '#include "rdp/rdp.h"\n', True),
    ("floors", "protocols/rdp/a.c", "#include <sys/socket.h>\n", True),
    ("floors", "protocols/sip/a.c", '/* #include "holdfast/engine.h" */\n#include "holdfast/front.h"\n#include "scan.h"\n', False),
    ("floors", "protocols/a.c", '#include "holdfast/front.h"\n#include "sip/sip.h"\n', False),
    ("floors", "include/holdfast/bytes.h", '#include "front.h"\n', True),
    ("floors", "include/holdfast/front.h", '#include "bytes.h"\n', False),
    ("floors", "include/holdfast/stranger.h", "\n", True),
    ("floors", "src/other/a.c", "\n", True),
    ("floors", "src/engine/a.c", "#include <event2/event.h>\n", True),
    ("floors", "src/net/a.c", "#include <event2/event.h>\n", False),
    ("floors", "src/net/b.c", "#include <event2/event.h>\n", True),          # together with the line above: a second door
    ("words", "src/net/a.c", "int sip_port;\n", True),
    ("words", "src/net/a.c", 'const char *s = "mstshash=";\n', True),
    ("words", "src/net/a.c", "int readRdp(void);\n", True),
    ("words", "src/net/a.c", "int port = 5060;\n", True),
    ("words", "src/net/a.c", "/* such as SIP */ int gossip; struct hf_sip s; x = hf_sip13(k, b);\n", False),
    ("numbers", "protocols/sip/a.c", "n = strtoul(p, 0, 10);\n", True),
    ("numbers", "protocols/rdp/a.c", "n = atoi (p);\n", True),
    ("numbers", "src/net/a.c", 'sscanf(p, "%d", &n);\n', True),
    ("numbers", "src/net/a.c", "sprintf(p, q);\n", True),
    ("numbers", "src/net/a.c", 'x = "atoi(p)"; snprintf(p, 3, q); t->atoi(p); /* atoi(p) */\n', False),
    ("calls", "protocols/sip/a.c", "sendto(fd, p, n);\n", True),
    ("calls", "src/engine/a.c", "t = hf_clock_ms();\n", True),
    ("calls", "protocols/rdp/a.c", 'hf_log(1, "x");\n', True),
    ("calls", "protocols/sip/a.c", "act->send(x); my_time(y); snprintf(p, n, q);\n", False),
    ("length", "src/net/a.c", "\n" * 451, True),
    ("length", "src/net/a.c", "\n" * 450, False),
    ("top", "notes.txt", "\n", True),
    ("top", "README.md", "\n", False),
    ("marks", "src/net/a.c", f"/* {MARK} */\n", True),
    ("marks", "src/net/a.c", "int todo;\n", False),
    ("scripts", "tests/a.py", "def :\n", True),
    ("scripts", "tests/a.sh", "if true; then\n", True),
    ("scripts", "tests/a.sh", "if true; then :; fi\n", False),
    ("cases", "tests/CASES.tsv", "b01\ttests/a.py gone\n", True),
    ("cases", "tests/CASES.tsv", "b01\ttests/gone.c there\n", True),
    ("cases", "tests/CASES.tsv", "b01\tlater\n", True),
    ("cases", "tests/CASES.tsv", "b01\ttests/a.py there\nb01\ttests/a.py there\n", True),
    ("cases", "tests/CASES.tsv", "# head\ncase\ttest\tneeds\nb01\ttests/a.py there\nr2\tlater\tits feature\n", False),
    ("tables", "protocols/sip/README.md", TABLE % ("a.c there", "test_a.c b01, of_it*, scenario b there"), False),
    ("tables", "protocols/sip/README.md", TABLE % ("gone.c", "of_it*"), True),
    ("tables", "protocols/sip/README.md", TABLE % ("a.c gone", "of_it*"), True),
    ("tables", "protocols/sip/README.md", TABLE % ("a.c", "test_gone"), True),
    ("tables", "protocols/sip/README.md", TABLE % ("a.c", "test_a.c b02"), True),
    ("tables", "protocols/sip/README.md", TABLE % ("a.c", "scenario gone"), True),
]
BESIDE = {
    "src/net/b.c": [("src/net/a.c", "#include <event2/event.h>\n")],
    "tests/CASES.tsv": [("tests/a.py", "def there(s):\n    pass\n")],
    "protocols/sip/README.md": [("protocols/sip/a.c", "int there;\n"), ("tests/unit/sip/test_a.c", "b01_it(); of_it_all();\n"), ("tests/scenario/b.py", "def there(s):\n    pass\n")],
}


def faults_of(check, rule, path, text):
    root = tempfile.mkdtemp(prefix="holdfast-lint.")
    try:
        for p, body in [("tests/lint/floors.txt", open(os.path.join(HERE, "floors.txt")).read()), (path, text)] + BESIDE.get(path, []):
            full = os.path.join(root, p)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w") as f:
                f.write(body)
        return check(root, [rule])
    finally:
        shutil.rmtree(root)


def run(check, rules):
    wrong = 0
    for rule, path, text, bad in SAMPLES:
        faults = faults_of(check, rule, path, text)
        if bool(faults) != bad:
            wrong += 1
            print(f"lint self-test: rule {rule} {'missed' if bad else 'refused'} {text[:60]!r} in {path}: {faults}")
    for rule in rules:
        if not any(r == rule and bad for r, _, _, bad in SAMPLES):
            wrong += 1
            print(f"lint self-test: no bad sample for rule {rule}")
    print(f"lint self-test: {len(SAMPLES)} samples, {wrong} wrong")
    return 1 if wrong else 0
