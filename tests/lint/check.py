#!/usr/bin/env python3
"""The house's rules that a compiler does not know, checked over the source text.

  check.py [ROOT]       all rules over the tree; one line a fault; exit 1 when there is one
  check.py --self-test  shows for each rule that a bad sample fails and a good one does not

Rules: floors (who may include what, floors.txt), doors (one file a foreign library), words (src/ names no protocol), numbers (wire
numbers only through our reader), calls (engine and fronts do nothing but think), length, top (names at the top level), marks, scripts, cases
(the tests that tests/CASES.tsv names are there), tables (likewise what the fronts' tables of rules name).
"""
import ast, fnmatch, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = {"src", "include", "protocols", "conf", "tests", "CMakeLists.txt", "README.md"}
LONGEST = 450                     # lines; the style asks for 150 to 300, above this a file is surely two
# What a protocol calls its things. Identifiers are split at '_' and case, so hf_sip_init would name one:
PROTOCOL_WORDS = {"sip", "sips", "rdp", "mstshash", "msts", "tpkt", "x224", "osip", "winpr", "freerdp", "invite", "rport", "mstsc", "sipp", "5060", "5061", "3389"}
# ... but SipHash is a hash: its file, and its names in include/holdfast/hash.h, are meant.
SIPHASH_FILE = "src/base/hash.c"
SIPHASH = re.compile(r"\bstruct hf_sip\b|\bhf_sip(?:13|24|_init|_add|_u16|_u32|_lp|_end)\b")
UNCHECKED = r"strto[a-z]+|ato[a-z]+|[a-z]*scanf|gets|strcpy|strcat|v?sprintf|strtok(?:_r)?"
OUTSIDE = (r"socket|send(?:to|msg|mmsg)?|recv(?:from|msg|mmsg)?|connect|bind|accept4?|open|fopen|time|clock_gettime|gettimeofday|nanosleep|usleep|sleep|poll|"
           r"hf_log\w*|hf_clock_\w+|hf_random|syslog|v?printf|perror")
PROGRAMS = ("protocols/rdp/probe/",)   # beside a front, not in it: they speak for themselves
# Split so that this file does not carry the marks that it looks for.
MARKS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def strip(text, strings=False):
    """C without comments (and, if asked, without the insides of strings); lines keep their numbers"""
    def blank(m):
        s = m[0]
        if s.startswith("/"):
            return re.sub(r"[^\n]", " ", s)
        return s[0] + s[-1] if strings else s
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


class Tree:
    def __init__(self, root):
        self.root, self.faults = root, []

    def files(self, *tops, ends=(".c", ".h")):
        for top in tops:
            for where, dirs, names in os.walk(os.path.join(self.root, top)):
                dirs[:] = sorted(d for d in dirs if d != "__pycache__")
                for n in sorted(names):
                    if n.endswith(ends):
                        yield os.path.relpath(os.path.join(where, n), self.root)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as f:
            return f.read()

    def fault(self, path, line, text):
        self.faults.append(f"{path}:{line}: {text}" if line else f"{path}: {text}")

    def grep(self, rx, text, path, say):
        for m in re.finditer(rx, text):
            self.fault(path, text.count("\n", 0, m.start()) + 1, say(m))


class Floors:
    def __init__(self, text):
        self.floors, self.doors, sets, now = {}, [], {}, None
        for line in text.splitlines():
            w = line.split("#")[0].split()
            if not w:
                continue
            if w[0] == "set":
                sets[w[1]] = w[2:]
            elif w[0] == "floor":
                now = self.floors.setdefault(w[1], {k: [] for k in ("files", "headers", "uses", "not", "system")})
            elif w[0] == "door":
                self.doors.append((w[1], w[2], w[3:]))
            else:
                for x in w[1:]:
                    now[w[0]] += sets.get(x, [x])
        self.of_header = {h: name for name, f in self.floors.items() for h in f["headers"]}
        self.of_dir = {d: name for name, f in self.floors.items() for d in f["files"]}

    def home(self, path):
        d, base = os.path.split(path)
        return self.of_header.get(base[:-2]) if d == "include/holdfast" else self.of_dir.get(d)

    def door(self, header):
        return next((d for d in self.doors if any(fnmatch.fnmatch(header, g) for g in d[2])), None)

    def refused(self, name, path, header, system):
        """why floor `name` may not include this, or None"""
        f = self.floors[name]
        if system:
            return None if any(fnmatch.fnmatch(header, g) for g in f["system"]) else f"<{header}> is not for floor {name}"
        d, inside = os.path.dirname(path), header.startswith("holdfast/")
        ours = header[len("holdfast/"):-2] if inside else header[:-2] if d == "include/holdfast" else None
        if ours is not None:
            owner = self.of_header.get(ours)
            if owner is None:
                return f"\"{header}\" belongs to no floor of floors.txt"
            if owner == name or (owner in f["uses"] and ours not in f["not"]):
                return None
            return f"\"{header}\" (floor {owner}) is not for floor {name}"
        if name == "fronts" and re.fullmatch(r"(\w+)/\1\.h", header):
            return None
        if "/" in header:
            return f"\"{header}\": a file includes what lies beside it, or holdfast/..."
        return None


def rule_floors(t):
    floors = Floors(t.read("tests/lint/floors.txt"))
    through = {}
    for path in t.files("src", "include", "protocols"):
        name = floors.home(path)
        if name is None:
            t.fault(path, 0, "lies on no floor of tests/lint/floors.txt")
            continue
        for n, line in enumerate(strip(t.read(path)).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', line)
            if not m:
                continue
            lib = floors.door(m[1] or m[2])
            if lib:
                through.setdefault(lib[0], set()).add(path)
                if lib[1] != name:
                    t.fault(path, n, f"{lib[0]} has its door on floor {lib[1]}, not on {name}")
                continue
            why = floors.refused(name, path, m[1] or m[2], bool(m[1]))
            if why:
                t.fault(path, n, why)
    for lib, paths in sorted(through.items()):
        if len(paths) > 1:
            t.fault(sorted(paths)[1], 0, f"{lib} has more than one door: {', '.join(sorted(paths))}")


def words(text):
    for m in re.finditer(r"[A-Za-z0-9_]+", text):
        for w in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", m[0].replace("_", " ")):
            yield w.lower(), m


def rule_words(t):
    for path in t.files("src", "include"):
        text = SIPHASH.sub(lambda m: " " * len(m[0]), strip(t.read(path)))
        for w, m in words(text):
            if w in PROTOCOL_WORDS and not (path == SIPHASH_FILE and w == "sip"):
                t.fault(path, text.count("\n", 0, m.start()) + 1, f"names a protocol: {m[0]}")


def rule_numbers(t):
    for path in t.files("src", "protocols", "include"):
        t.grep(rf"(?<![\w.>])({UNCHECKED})\s*\(", strip(t.read(path), True), path, lambda m: f"{m[1]} has no bound or no check")


def rule_calls(t):
    for path in t.files("src/engine", "protocols"):
        if path.startswith(PROGRAMS):
            continue
        t.grep(rf"(?<![\w.>])({OUTSIDE})\s*\(", strip(t.read(path), True), path, lambda m: f"{m[1]}: engine and fronts send, log, wait for and open nothing")


def rule_length(t):
    for path in t.files("src", "include", "protocols"):
        n = t.read(path).count("\n")
        if n > LONGEST:
            t.fault(path, 0, f"{n} lines, more than {LONGEST}")


def rule_top(t):
    here = {n for n in os.listdir(t.root) if not n.startswith(".") and not n.startswith("build")}
    for n in sorted(here - TOP):
        t.fault(n, 0, "does not belong at the top level")


def rule_marks(t):
    for path in t.files("src", "include", "protocols", "conf", "tests", ends=(".c", ".h", ".py", ".sh", ".ini", ".txt", ".cmake", ".xml")):
        t.grep(MARKS, t.read(path), path, lambda m: f"{m[0]}: finish it or leave it out")


def rule_scripts(t):
    for path in t.files("tests", "conf", ".ci", ends=(".sh", ".py", "run")):
        text = t.read(path)
        if path.endswith(".py"):
            try:
                ast.parse(text)
            except SyntaxError as e:
                t.fault(path, e.lineno, e.msg)
        else:
            shell = "bash" if "bash" in text.split("\n")[0] else "sh"
            r = subprocess.run([shell, "-n", os.path.join(t.root, path)], capture_output=True, text=True)
            if r.returncode:
                t.fault(path, 0, r.stderr.strip())


def rule_cases(t):
    """tests/CASES.tsv: CASE, tests as `PATH NAME, ...` or `later`, and what it waits for; each test is defined and, in C, listed too"""
    seen = set()
    for n, line in enumerate(t.read("tests/CASES.tsv").splitlines(), 1):
        if line.startswith("#") or line == "case\ttest\tneeds":
            continue
        case, test, needs = (line.split("\t") + ["", ""])[:3]
        if not re.fullmatch(r"[brh]\d+", case) or case in seen:
            t.fault("tests/CASES.tsv", n, f"{case!r} is no case, or here twice")
        seen.add(case)
        if test == "later":
            if not needs:
                t.fault("tests/CASES.tsv", n, f"{case} is for later, and for what is not said")
            continue
        for one in test.split(", "):
            path, _, name = one.partition(" ")
            text = t.read(path) if os.path.isfile(os.path.join(t.root, path)) else ""
            there = re.search(rf"(?m)^def {re.escape(name)}\(", text) if path.endswith(".py") else len(re.findall(rf"\b{re.escape(name)}\b", text)) > 1
            if not name or not there:
                t.fault("tests/CASES.tsv", n, f"{case}: there is no test {one!r}")


RULE_TABLE = re.compile(r"(?m)^\| rule \| file \| test[^\n]*\n\|[-|]+\|\n((?:\|[^\n]*\n)+)")


def tests_of_row(t, front, cell):
    """(what a row calls a test, the files it may be in); a file is named first, then names in it, which may end in *, of a case its number alone; bare names
    may be in any of the front's"""
    beside = [p for p in t.files(f"tests/unit/{front}", ends=(".c",))]
    where, kind = beside, f"tests/unit/{front}"
    for word in re.findall(r"[\w/.*-]+", re.sub(r"\([^)]*\)", "", cell)):
        if word in ("unit", "scenario", "fuzz", "net", "engine"):
            kind = {"unit": "tests/unit", "net": "tests/unit/net", "engine": "tests/unit/engine"}.get(word, f"tests/{word}")
            continue
        path = next((p for p in (word, f"{kind}/{word}", f"{kind}/{word}.c", f"{kind}/{word}.py", f"tests/unit/{front}/{word}.c") if os.path.isfile(os.path.join(t.root, p))), None)
        if path:
            where = [path]
        elif "-" not in word: # else it is a row of a set
            yield word, where if kind != "tests/scenario" or where != beside else []


def files_of_row(t, front, cell):
    """(what a row calls a file, where it is or None)"""
    for of_net, word in re.findall(r"(net's )?([\w/]+\.[ch])\b", cell):
        tops = ["src/net/"] if of_net else ["", f"protocols/{front}/", "src/net/"]
        yield word, next((p + word for p in tops if os.path.isfile(os.path.join(t.root, p + word))), None)


def rule_tables(t):
    """protocols/NAME/README.md: the files, functions and tests that its table of rules names are there"""
    for readme in t.files("protocols", ends=("README.md",)):
        text, front = t.read(readme), readme.split(os.sep)[1]
        table = RULE_TABLE.search(text)
        for n, row in enumerate(table[1].splitlines() if table else [], text.count("\n", 0, table.start(1)) + 1 if table else 0):
            file, test = (x.strip() for x in row.strip("|").split(" | ")[-2:])
            found = list(files_of_row(t, front, file))
            code = "".join(t.read(p) for _, p in found if p)
            names = re.sub(r"(net's )?`?[\w/]+\.[ch]`?", "", file)
            missing = [w for w, p in found if not p] + [w for w in re.findall(r"\w+", names) if code and not re.search(rf"\b{w}\b", code)]
            for word, where in tests_of_row(t, front, test):
                rx = r"\b" + re.escape(word).replace(r"\*", r"\w*") + ("_" if re.fullmatch(r"[brh]\d+", word) else r"\b")
                if not any(re.search(rx, t.read(p)) for p in where):
                    missing.append(word)
            for word in missing:
                t.fault(readme, n, f"there is no {word!r} where the row says")


RULES = {n[5:]: f for n, f in list(globals().items()) if n.startswith("rule_")}


def check(root, names=RULES):
    t = Tree(root)
    for n in names:
        RULES[n](t)
    return t.faults


def main():
    sys.dont_write_bytecode = True
    if "--self-test" in sys.argv:
        import selftest
        return selftest.run(check, RULES)
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(HERE))
    faults = check(root)
    for f in faults:
        print(f)
    print(f"lint: {len(RULES)} rules, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
