#!/usr/bin/env python3
"""What a live session costs in haproxy's stick table: octets of resident memory an entry, by filling one over its own socket.

usage: stick.py [ENTRIES, default 200000]      prints one line; exit 77 without haproxy."""
import os, shutil, signal, socket, subprocess, sys, tempfile, time

CONF = """global
    stats socket {dir}/s level admin
    maxconn 100
defaults
    mode tcp
    timeout connect 1s
    timeout client 1h
    timeout server 1h
backend calls
    stick-table type string len 40 size {n} expire 1h
    stick on req.payload(0,40)
    server s1 127.0.0.1:9
    server s2 127.0.0.1:10
frontend f
    bind unix@{dir}/f
    default_backend calls
"""
BATCH = 200                                                # commands a connection takes at once: its buffer has 16 KB


def rss(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def ask(path, text):
    with socket.socket(socket.AF_UNIX) as c:
        c.connect(path)
        c.sendall(text.encode())
        got = b""
        while d := c.recv(65536):
            got += d
        return got.decode()


def entries(path):
    return int(ask(path, "show table calls\n").splitlines()[0].rpartition("used:")[2])


def fill(path, first, last):
    for at in range(first, last, BATCH):
        got = ask(path, "; ".join(f"set table calls key {i:027d}@lab.example data.server_id {i % 2 + 1}" for i in range(at, min(at + BATCH, last))) + "\n")
        if got.strip():
            raise SystemExit(f"haproxy refused: {got.strip()[:200]}")


def main(n):
    program = shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not program:
        print("haproxy is not installed", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory(prefix="hf-stick.") as d:
        with open(f"{d}/c", "w") as f:
            f.write(CONF.format(dir=d, n=n + 10000))
        p = subprocess.Popen([program, "-db", "-f", f"{d}/c"], stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 10
            while not os.path.exists(f"{d}/s"):
                if time.monotonic() > end or p.poll() is not None:
                    raise SystemExit("haproxy does not start")
                time.sleep(0.05)
            fill(f"{d}/s", 0, 10000)                       # its own buffers are there then
            time.sleep(0.5)
            before, had = rss(p.pid), entries(f"{d}/s")
            fill(f"{d}/s", 10000, n)
            after, has = rss(p.pid), entries(f"{d}/s")
            print(f"haproxy stick table, string 40: {(after - before) / (has - had):.1f} octets a live session ({has} entries)")
        finally:
            p.send_signal(signal.SIGTERM)
            p.wait(10)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200000))
