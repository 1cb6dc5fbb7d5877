"""Real RDP clients under X servers of their own, and what can be seen there: helpers of the scenarios with xfreerdp, rdesktop, xrdp and the shadow server."""
import os, re, shutil, subprocess

from scenario import need


def screen(s, size="640x480"):
    """an X server of its own -> its DISPLAY"""
    need("Xvfb", "import", "convert", "identify")
    read, write = os.pipe()
    s.start("xvfb", ["Xvfb", "-displayfd", str(write), "-screen", "0", size + "x24", "-nolisten", "tcp", "-noreset"], pass_fds=[write])
    os.close(write)
    with os.fdopen(read) as f:
        return ":" + f.readline().strip()


def surroundings(s, display):
    return dict(os.environ, DISPLAY=display, HOME=s.dir, XDG_CONFIG_HOME=s.dir)     # no known hosts are kept between runs


def xfreerdp(s, display, at, name, user, *more, wait=False):
    host, port = at.rsplit(":", 1)
    argv = ["xfreerdp", f"/u:{user}", f"/v:{host}", f"/port:{port}", "/size:640x480", "/bpp:24", "/cert:ignore", "/log-level:WARN", "-decorations", *more]
    if wait:
        return subprocess.run(argv, env=surroundings(s, display), capture_output=True, text=True, timeout=30)
    return s.start(name, argv, env=surroundings(s, display))


def rdesktop(s, display, at, name, user, *more):
    """it asks on its standard input whether a certificate is to be trusted"""
    p = s.start(name, ["rdesktop", "-u", user, "-g", "640x480", "-a", "24", "-D", *more, at], env=surroundings(s, display), stdin=subprocess.PIPE)
    p.p.stdin.write(b"yes\nyes\n")
    p.p.stdin.flush()
    return p


def output(*argv):
    r = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    return r.stdout if r.returncode == 0 else ""


def look(s, display, name):
    """a picture of the screen -> its path, how many colours it has, and the colour (six hex digits) of the corner at the lower right"""
    path = s.path(name + ".png")
    output("import", "-display", display, "-window", "root", path)
    colours = output("identify", "-format", "%k", path)
    corner = output("convert", path, "-depth", "8", "-format", "%[hex:u.p{632,472}]", "info:")
    return path, int(colours or 0), corner[:6].lower()


def same(a, b):
    """two pictures of one size, but for what an encoder makes of them: fewer pixels differ than a letter has"""
    r = subprocess.run(["compare", "-metric", "AE", "-fuzz", "10%", a, b, "null:"], capture_output=True, text=True, timeout=30)
    return r.returncode < 2 and float(r.stderr.split()[0]) < 20


def near(a, b):
    """two colours, but for what an encoder makes of them"""
    return len(a) == len(b) == 6 and all(abs(int(a[i:i + 2], 16) - int(b[i:i + 2], 16)) <= 12 for i in (0, 2, 4))


def keep(path):
    """where HOLDFAST_SHOTS names a folder, pictures stay for people to look at"""
    where = os.environ.get("HOLDFAST_SHOTS")
    if where:
        os.makedirs(where, exist_ok=True)
        shutil.copy(path, where)
