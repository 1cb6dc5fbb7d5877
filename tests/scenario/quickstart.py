"""The demonstration of conf/quickstart.sh, as somebody who has just cloned the project runs it, with the programs of this build: a thousand calls and some
desktops, a server that joins, one that is drained, one that dies, and none of the live sessions is moved. It waits for states as the answers of holdfastctl
tell them, so that it ends early when their form is another than it reads."""
import os, subprocess

from scenario import HERE, SLOW, Skip, check

TIMEOUT = 150
TAKEN = ("cannot be used", "is running already", "a gateway of yours runs")    # it has a place of its own, which others may have


def run(s):
    build = os.path.dirname(os.environ["HOLDFAST_BIN"])
    if not os.access(os.path.join(build, "holdfastctl"), os.X_OK):
        raise Skip("holdfastctl is not beside HOLDFAST_BIN")
    p = s.start("quickstart", ["sh", os.path.join(os.path.dirname(os.path.dirname(HERE)), "conf", "quickstart.sh")], env={**os.environ, "HOLDFAST_BUILD": build})
    try:
        p.p.wait(120 * SLOW)
    except subprocess.TimeoutExpired:
        p.end(20)
    said = p.text()
    if p.p.returncode and any(x in said for x in TAKEN):
        raise Skip(said.strip().splitlines()[-1])
    check(p.p.returncode == 0 and "0 live sessions were moved. 0 calls or desktops failed" in said, f"ended with {p.p.returncode}:", said[-3000:])
