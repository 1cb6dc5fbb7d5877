"""The little of SIP's syntax that the scripted peers need (RFC 3261 section 7). It reads what a correct sender wrote; it judges nothing."""
import re

COMPACT = dict(v="via", f="from", t="to", i="call-id", l="content-length", m="contact", k="supported", s="subject", e="content-encoding", c="content-type")
URI = re.compile(r"<?(sips?):(?:([^@>;]*)@)?(\[[^\]]*\]|[^:;>?]+)(?::(\d+))?")
LISTS = ("via", "route", "record-route", "path")


def split(value):
    """a header value's list, at commas outside quotes and angle brackets"""
    if "," not in value:
        return [value]
    return [x.strip() for x in re.findall(r'(?:"(?:\\.|[^"\\])*"|<[^>]*>|[^,"<])+', value)]


class Message:
    __slots__ = ("start", "headers", "body", "method", "uri", "code")

    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = re.sub(r"\r\n[ \t]+", " ", head.decode("latin-1")).split("\r\n")
        self.start, self.headers, self.method, self.uri, self.code = lines[0], [], "", "", 0
        for line in lines[1:]:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            self.headers.append((COMPACT.get(name, name), value.strip()))
        if self.start.startswith("SIP/2.0 "):
            self.code = int(self.start[8:11])
            self.method = self.get("cseq").split()[-1]
        else:
            self.method, self.uri, _ = self.start.split(" ", 2)

    def get(self, name, default=""):
        return next((v for n, v in self.headers if n == name), default)

    def all(self, name):
        found = [v for n, v in self.headers if n == name]
        return [x for v in found for x in split(v)] if name in LISTS else found


def param(value, name):
    """a header parameter outside angle brackets, or None"""
    m = re.search(rf";\s*{name}(?:\s*=\s*(\"[^\"]*\"|[^;,\s]*))?(?=[;,\s]|$)", value.rpartition(">")[2] if ">" in value else value, re.I)
    return (m[1] or "") if m else None


def address(uri, default=5060):
    """host and port of a SIP URI, bare or in angle brackets"""
    m = URI.search(uri)
    if not m:
        raise ValueError(f"not a SIP URI with a host: {uri!r}")
    return m[3].strip("[]"), int(m[4] or default)


def user(uri):
    m = URI.search(uri)
    return (m[2] or "") if m else ""


def bare(value):
    """the URI inside a name-addr"""
    m = re.search(r"<([^>]*)>", value)
    return m[1] if m else value.split(";")[0].strip()


def compose(start, headers, body=b""):
    return "\r\n".join([start] + [f"{n}: {v}" for n, v in headers] + [f"Content-Length: {len(body)}", "", ""]).encode("latin-1") + body
