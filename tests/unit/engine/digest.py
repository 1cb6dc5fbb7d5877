"""Property 13: the fills, and a state on disk, are the same whoever compiled them for which machine. usage: digest.py MACHINE
MACHINE: here (gcc and clang), or a target of a cross compiler, whose program qemu runs. Each at -O0 and at -O3 -ffast-math; with HOLDFAST_FULL=1 clang
for other machines too. Exit 77: that compiler or qemu is not here."""
import glob, os, shutil, subprocess, sys, tempfile

GOLDEN = "eaa97274e2767f37 61062d417e789904"
QEMU = {"aarch64-linux-gnu": "qemu-aarch64", "arm-linux-gnueabihf": "qemu-arm", "s390x-linux-gnu": "qemu-s390x"}  # 64 bits, 32 bits, big-endian
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
FLAGS = ["-std=c11", "-D_GNU_SOURCE", '-DHF_VERSION="test"', "-fno-strict-aliasing", *(f"-I{ROOT}/{d}" for d in ("include", "src", "src/engine", "src/net", "src/store"))]
SETTINGS = [["-O0"], ["-O3", "-ffast-math"]]
BASE = ["hash", "bytes", "affinity", "log", "clock", "writer", "json", "addr"]
SOURCES = [*sorted(glob.glob(f"{ROOT}/src/engine/*.c")), *(f"{ROOT}/src/base/{n}.c" for n in BASE),
           *(f"{ROOT}/{n}.c" for n in ("src/store/record", "src/store/salvage", "src/net/kept_form", "tests/unit/engine/digest", "tests/unit/engine/digest_state"))]


def skip(what):
    print("skipped:", what, "is not here")
    sys.exit(77)


def compilers(machine):
    """The compilers, and what runs their programs."""
    if machine == "here":
        return [["gcc"], ["clang"]], []
    qemu = shutil.which(QEMU[machine]) or shutil.which(QEMU[machine] + "-static") or skip(QEMU[machine])
    return [[machine + "-gcc", "-static"], *([["clang", "--target=" + machine, "-static"]] if os.environ.get("HOLDFAST_FULL") == "1" else [])], [qemu]


def can(compiler, dir):
    probe = os.path.join(dir, "probe.c")
    with open(probe, "w") as f:
        f.write("#include <stdio.h>\nint main(void) { return puts(\"\"); }\n")
    return shutil.which(compiler[0]) and subprocess.run([*compiler, probe, "-o", probe + ".out"], capture_output=True).returncode == 0


def main():
    wrong = 0
    all, runner = compilers(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="hf-digest.") as dir:
        out = os.path.join(dir, "digest")
        for compiler in all:
            can(compiler, dir) or skip(" ".join(compiler) + ", or its C library,")
        for line in (compiler + setting for compiler in all for setting in SETTINGS):
            subprocess.run([*line, *FLAGS, *SOURCES, "-o", out, "-lpthread"], check=True)
            got = subprocess.run([*runner, out], check=True, capture_output=True, text=True).stdout.strip()
            print(got, *line)
            wrong += got != GOLDEN
    print(f"{wrong} with other digests than {GOLDEN}")
    return wrong > 0


sys.exit(main())
