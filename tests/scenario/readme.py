"""The fragments of configuration in README pass --check as they stand there, with nothing beside them but the lines that every service and pool has, and
files that exist for those that it names. A comment behind a value, an option that has another name now, or a word that is missing makes it fail."""
import os, re, subprocess

from _certs import Authority
from scenario import HERE, check, equal

SERVICE, POOL = "protocol = sip\npool = pbx\n", "server = pbx9 192.0.2.19:5060\n"


def fragments(text):
    """indented blocks that begin with a section"""
    return [b for b in re.findall(r"(?:^(?: {4}.*)?\n)+", text, flags=re.M) if re.match(r"\s*\[[a-z]+( \w+)?\]\n", b)]


def whole(fragment, cert, key):
    """with what a service and a pool must have, where the fragment leaves it out"""
    text = re.sub(r"^ +", "", fragment, flags=re.M).strip() + "\n"
    if "protocol =" not in text:
        text = text.replace("[service calls]\n", "[service calls]\n" + SERVICE)
    if "[pool pbx]" not in text:
        text += "[pool pbx]\n" + POOL
    return re.sub(r"/etc/holdfast/[\w.-]+", lambda m: key if m[0].endswith(".key") else cert, text)


def run(s):
    pair = Authority(s)
    with open(os.path.join(HERE, "..", "..", "README.md"), encoding="utf-8") as f:
        found = fragments(f.read())
    equal([bool(re.search(x, b)) for b, x in zip(found, ("weight=50", "tls-name", "wss://", "advertise="))], [True] * 4, "the fragments that are there")
    for b in found:
        with open(s.path("fragment.ini"), "w") as f:
            f.write(f"[gateway]\nstate-dir = {s.path('state')}\n" + whole(b, pair.cert, pair.key))
        r = subprocess.run([s.program("HOLDFAST_BIN", "holdfast"), "-c", f.name, "--check"], capture_output=True, text=True, timeout=60)
        check(r.returncode == 0 and len(re.findall("warning:", r.stderr)) == 1, "refused, or more is said than that there is no cluster-secret-file:", r.stdout + r.stderr, open(f.name).read())
