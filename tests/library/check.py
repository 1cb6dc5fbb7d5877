#!/usr/bin/env python3
"""The engine as a library: the example is built outside the tree from the archive and the headers that it needs, and nothing else, and says what it
should; and engine.h says of each function who may call it and what it costs. check.py CC ARCHIVE [COMPILER FLAG...]      A function that the archive lacks, a header that pulls in another floor, or an answer that
changes makes it fail."""
import os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def headers(name, found):
    """a header and what it includes of ours"""
    if name in found:
        return found
    found.add(name)
    with open(os.path.join(TOP, "include/holdfast", name), encoding="utf-8") as f:
        for other in re.findall(r'#include "([^"]+)"', f.read()):
            headers(other, found)
    return found


def undocumented():
    """functions of engine.h of which its table does not say who may call them and what they cost, and rows of functions that are not there"""
    with open(os.path.join(TOP, "include/holdfast/engine.h"), encoding="utf-8") as f:
        text = f.read()
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return sorted(set(re.findall(r"\b(hf_[a-z0-9_]+)\(", code)) ^ set(re.findall(r"^ \*   (hf_[a-z0-9_]+) +(?:any|control|alone|keeper) +O\(.+\)$", text, flags=re.M)))


def main(cc, archive, *flags):
    with tempfile.TemporaryDirectory(prefix="hf-library.") as d:
        os.makedirs(f"{d}/include/holdfast")
        for h in sorted(headers("engine.h", set())):
            shutil.copy(os.path.join(TOP, "include/holdfast", h), f"{d}/include/holdfast")
        shutil.copy(archive, f"{d}/libholdfast_engine.a")
        shutil.copy(os.path.join(TOP, "conf/examples/affinity.c"), d)
        subprocess.run([cc, "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, f"-I{d}/include", f"{d}/affinity.c", f"{d}/libholdfast_engine.a", "-lpthread", "-o",
                        f"{d}/affinity"], check=True)
        got = subprocess.run([f"{d}/affinity"], capture_output=True, text=True, check=True).stdout
    with open(f"{HERE}/affinity.txt", encoding="utf-8") as f:
        want = f.read()
    if got != want:
        print(f"the example says\n{got}and not\n{want}", file=sys.stderr)
    missing = undocumented()
    if missing:
        print(f"engine.h has no row for, or a row and no function {', '.join(missing)}", file=sys.stderr)
    return got != want or bool(missing)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
