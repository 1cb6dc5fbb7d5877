#!/usr/bin/env python3
"""Runs scenarios: run.py [-j N] [--list] [NAME...]     with HOLDFAST_BIN (and HOLDFASTCTL, else beside it) in the environment.

Each runs in a process of its own with a deadline. Prints `ok NAME (s)`, `FAIL NAME (s)` with the logs, or `skip NAME: why`, and ends with a
count. Exit 1 when one failed."""
import concurrent.futures, glob, importlib.util, os, signal, subprocess, sys, time, traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from scenario import SLOW, Failed, Scenario, Skip

SKIPPED = 77


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
        s.close(code == 1)
    return code


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
    if p.returncode == SKIPPED:
        return "skip", f"skip {name}: {out.strip()}"
    if p.returncode == 0:
        return "ok", f"ok {name} ({seconds:.1f} s){'' if not out.strip() else ': ' + out.strip()}"
    return "FAIL", f"FAIL {name} ({seconds:.1f} s)\n{out.rstrip()}"


def main(argv):
    if argv[:1] == ["--one"]:
        return one(argv[1])
    if argv[:1] == ["--list"]:
        print("\n".join(names()))
        return 0
    jobs = int(argv[1]) if argv[:1] == ["-j"] else 1
    chosen = argv[2:] if argv[:1] == ["-j"] else argv
    unknown = set(chosen) - set(names())
    if unknown:
        print(f"no such scenario: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    if not os.access(os.environ.get("HOLDFAST_BIN", ""), os.X_OK):
        print("HOLDFAST_BIN names no program", file=sys.stderr)
        return 2
    count = dict(ok=0, FAIL=0, skip=0)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        # the long ones first, so that two lanes end together
        todo = sorted(chosen or names(), key=lambda n: -getattr(load(n), "TIMEOUT", 60))
        for done in concurrent.futures.as_completed([pool.submit(timed, n) for n in todo]):
            verdict, text = done.result()
            count[verdict] += 1
            print(text, flush=True)
    print(f"scenarios: {count['ok']} passed, {count['FAIL']} failed, {count['skip']} skipped")
    return 1 if count["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
