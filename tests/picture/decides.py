#!/usr/bin/env python3
"""Draws conf/decides.svg from what the engine answers: decides.py PROGRAM [--check FILE]   PROGRAM is picture_decides of the build.

Without --check the picture goes to standard output; with it the exit code says whether FILE is that picture, so that engine and picture
cannot drift apart."""
import subprocess, sys

COLOURS = {1: "#2f6ea5", 2: "#c9772b", 3: "#4a8f5c", 4: "#8a5aa8"}
LEFT, STEP, W = 32, 23, 800
PANELS = [("1", "three servers, 66 sessions"), ("2", "pbx4 is added"), ("3", "18 new sessions come")]


def text(x, y, s, size=14, anchor="start", weight="normal", fill="#1d2733"):
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" fill="{fill}">{s}</text>'


def dot(x, y, server, away):
    ring = ' stroke="#111111" stroke-width="2.6"' if away else ' stroke="#ffffff" stroke-width="1"'
    return f'<circle cx="{x}" cy="{y}" r="6.5" fill="{COLOURS[server]}"{ring}/>'


def panel(p, top, slots, entries, counts):
    out = [text(LEFT, top + 16, f"{PANELS[p][0]}. {PANELS[p][1]}", 16, weight="bold")]
    changed = sum(a != b for a, b in zip(slots[0], slots[p]))
    words = ("a slot belongs to one server", f"{changed} of these slots have a new owner", "the new one fills up")[p], f"{counts[p][1]} sessions moved" if p else "", \
        f"{counts[p][0]} exceptions"
    out.append(text(W - LEFT, top + 16, "; ".join(w for w in words if w), 14, "end"))
    deep = [0] * 32
    for j, owner in enumerate(slots[p]):
        edge = ' stroke="#111111" stroke-width="2"' if p == 1 and slots[0][j] != owner else ""
        out.append(f'<rect x="{LEFT + j * STEP + 1}" y="{top + 28}" width="{STEP - 3}" height="26" rx="3" fill="{COLOURS[owner]}"{edge}/>')
    for j, server, away in entries[p]:
        out.append(dot(LEFT + j * STEP + STEP / 2 - 0.5, top + 68 + deep[j] * 17, server, away))
        deep[j] += 1
    return out, top + 68 + max(deep) * 17


def draw(lines):
    slots, entries, counts = {p: [] for p in range(3)}, {p: [] for p in range(3)}, {}
    for kind, p, *rest in (line.split() for line in lines):
        if kind == "slot":
            slots[int(p)].append(int(rest[1]))
        elif kind == "entry":
            entries[int(p)].append((int(rest[0]), int(rest[1]), rest[2] == "away"))
        else:
            counts[int(p)] = rest
    body, y = [], 70
    for p in range(3):
        out, y = panel(p, y, slots, entries, counts)
        body += out
        y += 14
    head = [text(LEFT, 24, "32 of the 65,536 slots, as the engine fills them; below each the sessions whose key falls into it", 15)]
    x = LEFT
    for server in COLOURS:
        head.append(f'<rect x="{x}" y="38" width="20" height="16" rx="3" fill="{COLOURS[server]}"/>' + text(x + 26, 51, f"pbx{server}"))
        x += 84
    head.append(dot(x + 10, 46, 1, False) + text(x + 24, 51, "session, at its slot's owner"))
    head.append(dot(x + 230, 46, 1, True) + text(x + 244, 51, "exception: elsewhere"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {y}" font-family="DejaVu Sans, Arial, sans-serif">\n'
            f'<rect width="{W}" height="{y}" fill="#ffffff"/>\n' + "\n".join(head + body) + "\n</svg>\n")


def main(argv):
    picture = draw(subprocess.run([argv[1]], capture_output=True, text=True, check=True).stdout.splitlines())
    if argv[2:3] != ["--check"]:
        sys.stdout.write(picture)
        return 0
    with open(argv[3], encoding="utf-8") as f:
        same = f.read() == picture
    if not same:
        print(f"{argv[3]} is not what the engine answers now: python3 {argv[0]} {argv[1]} > {argv[3]}", file=sys.stderr)
    return not same


if __name__ == "__main__":
    sys.exit(main(sys.argv))
