#!/usr/bin/env python3
"""Runs scenarios: run.py [--list] [--again] [-j N] [NAME...]     with HOLDFAST_BIN (and HOLDFASTCTL, else beside it) in the environment.

Each runs in a process of its own with a deadline. Prints `ok NAME (s)`, `FAIL NAME (s)` with the logs, or `skip NAME: why`, and ends with a
count. Exit 1 when one failed.

--again, for machines that stall a process for seconds: a scenario that failed is asked once more, alone, when the others have ended. Its first
failure is printed whole, as `first NAME`, and the count names it. Not asked again: one whose gateway crashed or complained of itself, and any
when more than two failed."""
import argparse, concurrent.futures, glob, importlib.util, os, signal, subprocess, sys, textwrap, time, traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from scenario import SLOW, Failed, Scenario, Skip

SKIPPED, GRAVE = 77, 78                                 # exit codes of a child
UNLUCKY = 2                                             # so many at most are asked again


def names():
    return sorted(n for n in (os.path.basename(p)[:-3] for p in glob.glob(os.path.join(HERE, "*.py"))) if n not in ("run", "scenario") and not n.startswith("_"))


def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stopped(*_):
    raise Failed("took too long, or was interrupted")


def one(name):
    """in the child: run, clean up, say"""
    signal.signal(signal.SIGTERM, stopped)
    signal.signal(signal.SIGINT, stopped)
    s, code = Scenario(name), 0
    try:
        load(name).run(s)
        for c in s.children:
            if hasattr(c, "complaints"):
                if c.alive():
                    c.stop()
                c.complaints()
    except Skip as e:
        code = SKIPPED
        print(e)
    except Failed as e:
        code = 1
        where = traceback.extract_tb(e.__traceback__)
        line = next((f"{os.path.basename(x.filename)}:{x.lineno}: {x.line}" for x in where if os.path.basename(x.filename) == name + ".py"), "")
        print(f"{line}\n  {e}")
    except Exception:
        code = 1
        traceback.print_exc(file=sys.stdout)
    finally:
        fell = s.close(code == 1)
    return GRAVE if code == 1 and fell else code


def timed(name):
    begin, limit = time.monotonic(), getattr(load(name), "TIMEOUT", 60) * SLOW
    p = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--one", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        out, _ = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        p.terminate()                                       # it ends its children and says what it knows
        try:
            out, _ = p.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            p.kill()
            out, _ = p.communicate()
        out += f"  not done within {limit:g} s\n"
    seconds = time.monotonic() - begin
    text = textwrap.indent(out.rstrip(), "  ")              # a line that begins like a verdict is ours alone
    if p.returncode == SKIPPED:
        return "skip", f"skip {name}: {text.strip()}"
    if p.returncode == 0:
        return "ok", f"ok {name} ({seconds:.1f} s){'' if not text.strip() else ': ' + text.strip()}"
    return "FAIL, grave" if p.returncode == GRAVE else "FAIL", f"FAIL {name} ({seconds:.1f} s)\n{text}"


def all_of(todo, jobs):
    """-> NAME: (verdict, what to print), each as it ends"""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        # the long ones first, so that two lanes end together
        running = {pool.submit(timed, n): n for n in sorted(todo, key=lambda n: -getattr(load(n), "TIMEOUT", 60))}
        for done in concurrent.futures.as_completed(running):
            yield running[done], done.result()


def run_all(a):
    """-> NAME: verdict"""
    verdicts = {}
    for name, (verdicts[name], text) in all_of(a.names or names(), a.jobs):
        print("first" + text[4:] if a.again and verdicts[name].startswith("FAIL") else text, flush=True)
    failed = [n for n, v in verdicts.items() if v.startswith("FAIL")] if a.again else []
    second = failed if len(failed) <= UNLUCKY and all(verdicts[n] == "FAIL" for n in failed) else []
    for name in failed:
        if name not in second:
            print(f"FAIL {name}: see above, from its line `first`", flush=True)
    for name, (verdict, text) in all_of(second, 1):
        verdicts[name] = "ok, later" if verdict == "ok" else verdict
        print(text, flush=True)
    return verdicts


def options(argv):
    p = argparse.ArgumentParser()
    p.add_argument("--one")
    p.add_argument("--list", action="store_true")
    p.add_argument("--again", action="store_true")
    p.add_argument("-j", type=int, default=1, dest="jobs")
    p.add_argument("names", nargs="*")
    return p.parse_args(argv)


def main(argv):
    a = options(argv)
    if a.one:
        return one(a.one)
    if a.list:
        print("\n".join(names()))
        return 0
    unknown = set(a.names) - set(names())
    if unknown:
        print(f"no such scenario: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    if not os.access(os.environ.get("HOLDFAST_BIN", ""), os.X_OK):
        print("HOLDFAST_BIN names no program", file=sys.stderr)
        return 2
    verdicts = run_all(a)
    count = {v: sum(x.startswith(v) for x in verdicts.values()) for v in ("ok", "FAIL", "skip")}
    lucky = " ".join(n for n, v in verdicts.items() if v == "ok, later")
    print(f"scenarios: {count['ok']} passed{f' (at the second try: {lucky})' if lucky else ''}, {count['FAIL']} failed, {count['skip']} skipped")
    return 1 if count["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
