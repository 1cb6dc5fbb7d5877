"""How a scripted peer is driven (used by every program in this folder): one command a line on its standard input, one line of JSON back
for each on its standard output. The first line out is {"event": "ready", ...} with its address and process id. End of input ends the peer,
so none outlives the test that started it.

A command is a verb and words: `call 20 user=bob route=no`. A bare number is n=NUMBER, any other bare word is word=WORD. The reply has
"ok" and, where a person may look on, a sentence in "say"."""
import asyncio, json, os, sys


def words(line):
    verb, *rest = line.split() or [""]
    args = {}
    for w in rest:
        key, eq, value = w.partition("=")
        if not eq:
            key, value = ("n" if w.isdigit() else "word"), w
        args[key] = value
    return verb, args


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def serve(peer, ready):
    """Runs the commands of standard input: `call 3` becomes peer.do_call(n="3"), whose dict is the answer."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    say(event="ready", pid=os.getpid(), **ready)
    while line := (await reader.readline()).decode():
        verb, args = words(line)
        if verb == "quit":
            break
        if not verb:
            continue
        do = getattr(peer, "do_" + verb.replace("-", "_"), None)
        try:
            if do is None:
                raise ValueError(f"no such command: {verb}")
            got = do(**args)
            got = await got if asyncio.iscoroutine(got) else got
            say(ok=True, **(got or {}))
        except (ValueError, TypeError, KeyError, OSError) as e:
            say(ok=False, error=f"{type(e).__name__}: {e}")


def pid_file(path):
    if path:
        with open(path, "w") as f:
            f.write(f"{os.getpid()}\n")


def host_port(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
