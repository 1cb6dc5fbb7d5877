"""Pages in a headless Chromium with the JsSIP library, driven over the browser's debugging protocol. The library's own files are served as they were
installed; a few lines of script stand for the module loader that they expect."""
import glob, http.server, json, os, socket, subprocess, sys, threading, time, urllib.request

from scenario import PEERS, SLOW, Skip, check, until

sys.path.insert(0, PEERS)
import web

CHROMIUM = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--disable-features=WebRtcHideLocalIpsWithMdns", "--allow-loopback-in-peer-connection",
            "--ignore-certificate-errors", "--remote-allow-origins=*", "--remote-debugging-port=0"]

LOADER = """
const files = FILES, loaded = {}, process = {env: {}, type: 'renderer'};
function path(from, name) {
  if (!name.startsWith('.')) { from = name; name = ''; }
  const parts = name === '' ? [from] : from.split('/').slice(0, -1);
  for (const p of name.split('/')) { if (p === '..') parts.pop(); else if (p !== '.' && p !== '') parts.push(p); }
  const base = MAINS[parts.join('/')] || parts.join('/');
  return [base, base + '.js', base + '/index.js'].find(f => f in files);
}
function load(file) {
  if (loaded[file]) return loaded[file].exports;
  const m = loaded[file] = {exports: {}};
  if (file.endsWith('.json')) m.exports = JSON.parse(files[file]);
  else new Function('require', 'module', 'exports', 'process', files[file])(name => load(path(file, name)), m, m.exports, process);
  return m.exports;
}
const JsSIP = load(path('', 'jssip'));
const media = {mediaConstraints: {audio: true, video: false}, pcConfig: {iceServers: []}};
const seen = [], calls = [];
let agent;
function say(...words) { seen.push(words.join(' ')); }
function follow(call) {
  calls.push(call);
  for (const e of ['accepted', 'confirmed', 'ended', 'failed']) call.on(e, d => say(e, d && d.cause || ''));
  call.on('refer', d => { say('refer'); d.accept(follow, media); });
  call.on('replaces', d => { say('replaces'); d.accept(follow); });
  if (call.direction === 'incoming') call.answer(media);
}
function start(url, user, domain) {
  agent = new JsSIP.UA({sockets: [new JsSIP.WebSocketInterface(url)], uri: `sip:${user}@${domain}`, register_expires: 120, session_timers: false});
  agent.on('registered', () => say('registered'));
  agent.on('registrationFailed', d => say('registrationFailed', d.cause));
  agent.on('newRTCSession', d => { if (d.originator === 'remote') say('called'); follow(d.session); });
  agent.start();
}
function call(user, domain) { agent.call(`sip:${user}@${domain}`, media); }
"""


def library():
    """every file of the package and of what it needs: path below node_modules -> text; and each package's main file"""
    root = os.environ.get("HOLDFAST_JSSIP", "")
    if not os.path.isdir(os.path.join(root, "jssip")):
        raise Skip("HOLDFAST_JSSIP names no node_modules with jssip (npm install jssip)")
    files, mains = {}, {}
    for name in ("jssip", "debug", "ms", "events", "sdp-transform"):
        with open(os.path.join(root, name, "package.json")) as f:
            package = json.load(f)
        main = package.get("browser") if isinstance(package.get("browser"), str) else package.get("main", "index.js")
        mains[name] = os.path.normpath(os.path.join(name, main))
        for p in glob.glob(os.path.join(root, name, "**", "*.js"), recursive=True) + [os.path.join(root, name, "package.json")]:
            with open(p, encoding="utf-8") as f:
                files[os.path.relpath(p, root)] = f.read()
    return LOADER.replace("FILES", json.dumps(files).replace("</", "<\\/"), 1).replace("MAINS", json.dumps(mains), 1)


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.server.page if self.path == "/" else self.server.script if self.path == "/script.js" else b""
        self.send_response(200)
        self.send_header("content-type", "text/javascript" if self.path.endswith(".js") else "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


class Browser:
    def __init__(self, s):
        program = next((p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome") if os.access(p, os.X_OK)), None)
        if not program:
            raise Skip("chromium is not installed")
        self.pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
        self.pages.script = library().encode()
        self.pages.page = b"<!doctype html><title>phone</title><script src=/script.js></script>"
        threading.Thread(target=self.pages.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self.pages.server_port}"
        profile = s.path("profile")
        self.p = s.start("chromium", [program, *CHROMIUM, f"--user-data-dir={profile}", "about:blank"], env=dict(os.environ, HOME=s.dir))
        port = os.path.join(profile, "DevToolsActivePort")
        until("the browser listens", lambda: (os.path.exists(port) and open(port).read().count("\n")) or check(self.p.alive(), "chromium ended:", self.p.text()[-1500:]), 30)
        self.at = f"127.0.0.1:{open(port).read().split()[0]}"

    def open(self):
        with urllib.request.urlopen(urllib.request.Request(f"http://{self.at}/json/new?{self.origin}/", method="PUT"), timeout=60 * SLOW) as r:
            return Page(json.load(r)["webSocketDebuggerUrl"])


class Page:
    def __init__(self, url):
        at, _, path = url.removeprefix("ws://").partition("/")
        host, port = at.split(":")
        self.sock, self.frames, self.serial = socket.create_connection((host, int(port)), timeout=60 * SLOW), web.Reader(), 0
        head, key = web.request(at, protocol=None, path="/" + path)
        self.sock.sendall(head)
        got = b""
        while b"\r\n\r\n" not in got:
            got += self.sock.recv(65536)
        answer, _, rest = got.partition(b"\r\n\r\n")
        check(web.accepts(answer + b"\r\n\r\n", key), "the browser refused:", answer)
        self.queue = self.frames.feed(rest)
        until("the page is there", lambda: self.run("typeof start === 'function'"), 20)

    def run(self, script):
        """-> the value of the expression"""
        self.serial += 1
        ask = dict(id=self.serial, method="Runtime.evaluate", params=dict(expression=script, returnByValue=True, awaitPromise=True))
        self.sock.sendall(web.frame(web.TEXT, json.dumps(ask).encode()))
        end = time.monotonic() + 20 * SLOW
        while time.monotonic() < end:
            while self.queue:
                m = json.loads(self.queue.pop(0)[1] or b"{}")
                if m.get("id") == self.serial:
                    r = m.get("result", {})
                    check("exceptionDetails" not in r, f"{script}:", r)
                    return r.get("result", {}).get("value")
            self.queue += self.frames.feed(self.sock.recv(1 << 20))
        check(False, f"the browser said nothing to {script}")

    def seen(self):
        return self.run("seen")

    def waits(self, word, n=1, seconds=40):
        until(f"the page says {word!r} {n} times", lambda: sum(x.startswith(word) for x in self.seen()) >= n or check(not any("failed" in x.lower() for x in self.seen()), "the page:", self.seen()), seconds, 0.1)
