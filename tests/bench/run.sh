#!/bin/sh
# What Holdfast costs beside kamailio and haproxy on this machine, all in one run:   sh tests/bench/run.sh [--quick] [--rounds N] [--only sip|rdp|engine]
# Needs what tests/run.sh installs (kamailio; haproxy besides). Uses loopback alone, ends what it started, asserts nothing.
# --quick takes under three minutes, the usual form under ten: as many rounds as fit. BUILD=DIR: where the build goes.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build-test}/bench
mkdir -p "$build"
echo "building into $build"
cmake -S "$root" -B "$build" -DHF_TESTS=ON -DHF_LTO=ON >"$build/log" 2>&1 || { tail -n 20 "$build/log"; exit 1; }
cmake --build "$build" -j "$(nproc 2>/dev/null || echo 2)" --target holdfast bench_engine bench_methods bench_scan bench_sipload bench_rdpload bench_floor >>"$build/log" 2>&1 ||
	{ tail -n 20 "$build/log"; exit 1; }
exec python3 "$root/tests/bench/bench.py" "$build" "$@"
