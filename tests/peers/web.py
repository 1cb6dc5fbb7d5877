"""The client's half of WebSocket (RFC 6455) for scripted peers: the request, frames as a client sends them, and a reader of what comes back.
Octets only; it judges what comes by what a server may send."""
import base64, hashlib, os, struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def request(host, key=None, protocol="sip", path="/", origin=None, version="13", more=""):
    key = key or base64.b64encode(os.urandom(16)).decode()
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", f"Sec-WebSocket-Version: {version}"]
    lines += [f"Sec-WebSocket-Protocol: {protocol}"] * (protocol is not None) + [f"Origin: {origin}"] * (origin is not None)
    return ("\r\n".join(lines) + "\r\n" + more + "\r\n").encode(), key


def accepts(head, key):
    """does this answer open the WebSocket?"""
    want = base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()
    return head.startswith(b"HTTP/1.1 101 ") and f"\r\nsec-websocket-accept: {want}\r\n".lower() in head.decode("latin-1").lower()


def frame(opcode, payload=b"", fin=True, mask=None):
    mask = os.urandom(4) if mask is None else mask
    n = len(payload)
    size = bytes([0x80 | n]) if n < 126 else b"\xfe" + struct.pack(">H", n) if n < 65536 else b"\xff" + struct.pack(">Q", n)
    whole = (mask * (n // 4 + 1))[:n]
    masked = (int.from_bytes(payload, "big") ^ int.from_bytes(whole, "big")).to_bytes(n, "big") if n else b""
    return bytes([(0x80 if fin else 0) | opcode]) + size + mask + masked


def fragments(opcode, payload, rng, most=5):
    """the message in so many frames at random places, with a ping between some"""
    cuts = sorted(rng.randrange(len(payload) + 1) for _ in range(rng.randrange(most)))
    out, last = b"", 0
    for i, cut in enumerate(cuts + [len(payload)]):
        out += frame(0 if i else opcode, payload[last:cut], fin=i == len(cuts))
        last = cut
        if i < len(cuts) and rng.random() < 0.3:
            out += frame(PING, b"between")
    return out


class Reader:
    """feed(octets) -> [(opcode, payload)]; ValueError on what no server may send"""

    def __init__(self):
        self.have = b""

    def feed(self, octets):
        self.have += octets
        out = []
        while (one := self.one()) is not None:
            out.append(one)
        return out

    def one(self):
        b = self.have
        if len(b) < 2:
            return None
        n, at = b[1], 2
        if n & 0x80 or not b[0] & 0x80 or b[0] & 0x70:
            raise ValueError(f"a server's frame begins {b[:2].hex()}")
        if n >= 126:
            at = 4 if n == 126 else 10
            if len(b) < at:
                return None
            n = int.from_bytes(b[2:at], "big")
        if len(b) < at + n:
            return None
        self.have = b[at + n:]
        return b[0] & 15, b[at:at + n]
