#!/usr/bin/env python3
"""count.py PROGRAM MOST [FUNCTION [WORD...]]: how many instructions one round of PROGRAM takes, by callgrind; exit 1 when it is more than MOST, 77 without valgrind.

Instructions are the same however busy the machine is. PROGRAM ROUNDS [WORD...] does its thing ROUNDS times; its start is
taken off by a second run. FUNCTION: only what it does, and what it calls, is counted."""
import re, shutil, subprocess, sys

FEW, MANY = 100, 1100


def collected(program, rounds, function=None, *words):
    only = [f"--toggle-collect={function}"] if function else []
    out = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *only, program, str(rounds), *words], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=100)
    count = re.search(r"Collected\s*:\s*(\d+)", out.stdout)
    if out.returncode or not count:
        sys.exit(f"{program} {rounds} ended with {out.returncode}:\n{out.stdout}")
    return int(count[1])


def main(program, most, *only):
    if not shutil.which("valgrind"):
        print("skipped: there is no valgrind")
        return 77
    once = (collected(program, MANY, *only) - collected(program, FEW, *only)) // (MANY - FEW)
    print(f"{once} instructions once, at most {most}")
    return 1 if once > most else 0


sys.exit(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
