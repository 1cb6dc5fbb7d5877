"""Property 13: the fills are the same whoever compiled them. Builds digest.c with the engine by each compiler and setting that is here, runs it (what
is for another machine by qemu), and compares with the golden number. What is not here is skipped, and said."""
import glob, os, shutil, subprocess, sys, tempfile

GOLDEN = "eaa97274e2767f37"
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
FLAGS = ["-std=c11", "-D_GNU_SOURCE", '-DHF_VERSION="test"', "-fno-strict-aliasing", f"-I{ROOT}/include", f"-I{ROOT}/src/engine"]
SETTINGS = [["-O0"], ["-O3", "-ffast-math"]]
HERE = [("gcc", [], []), ("clang", [], []), ("gcc", ["-m32"], []), ("clang", ["-m32"], [])]
OTHERS = [("aarch64-linux-gnu-gcc", ["-static"], ["qemu-aarch64", "qemu-aarch64-static"]), ("arm-linux-gnueabihf-gcc", ["-static"], ["qemu-arm", "qemu-arm-static"]),
          ("s390x-linux-gnu-gcc", ["-static"], ["qemu-s390x", "qemu-s390x-static"]), ("powerpc64-linux-gnu-gcc", ["-static"], ["qemu-ppc64", "qemu-ppc64-static"])]


def can(compiler, flags, dir):
    probe = os.path.join(dir, "probe.c")
    with open(probe, "w") as f:
        f.write("#include <stdio.h>\n#include <pthread.h>\nint main(void) { return 0; }\n")
    return shutil.which(compiler) and subprocess.run([compiler, *flags, probe, "-o", probe + ".out"], capture_output=True).returncode == 0


def main():
    sources = sorted(glob.glob(f"{ROOT}/src/engine/*.c")) + [f"{ROOT}/src/base/{n}.c" for n in sys.argv[1:]] + [f"{ROOT}/tests/unit/engine/digest.c"]
    wrong = done = 0
    with tempfile.TemporaryDirectory(prefix="hf-digest.") as dir:
        for compiler, flags, runners in HERE + OTHERS:
            runner = next((r for r in runners if shutil.which(r)), None)
            if (runners and not runner) or not can(compiler, flags, dir):
                print("skipped:", compiler, *flags, "is not here" if not runners or runner else "has no qemu here")
                continue
            for setting in SETTINGS:
                out = os.path.join(dir, "digest")
                subprocess.run([compiler, *FLAGS, *flags, *setting, *sources, "-o", out, "-lpthread"], check=True)
                got = subprocess.run([*([runner] if runner else []), out], check=True, capture_output=True, text=True).stdout.strip()
                print(got, compiler, *flags, *setting)
                wrong += got != GOLDEN
                done += 1
    print(f"{done} builds, {wrong} with another digest than {GOLDEN}")
    return 1 if wrong or not done else 0


sys.exit(main())
