"""The first octets of an RDP connection as the scripted peers write and read them: TPKT, X.224 Connection Request and Confirm
(MS-RDPBCGR 2.2.1.1, 2.2.1.2). Afterwards they talk lines of text: to a gateway everything behind the Confirm is opaque."""
import struct

NEGOTIATE = b"\x01\x00\x08\x00\x0b\x00\x00\x00"      # TLS, CredSSP and its early-authorisation form
REFUSED = bytes.fromhex("0300000b06800000000000")    # X.224 Disconnect Request


def request(line=b"", negotiate=NEGOTIATE):
    """a Connection Request; line is a cookie or token line without its CR LF"""
    body = (line + b"\r\n" if line else b"") + negotiate
    return struct.pack("!BBHBBHHB", 3, 0, 11 + len(body), 6 + len(body), 0xE0, 0, 0, 0) + body


def cookie(user):
    return b"Cookie: mstshash=" + user


def token(host, port):
    """the routing token of an IPv4 address and port: address bytes little-endian, port bytes swapped"""
    a = bytes(int(x) for x in host.split("."))
    return b"Cookie: msts=%d.%d.0000" % (struct.unpack("<I", a)[0], struct.unpack("<H", struct.pack("!H", port))[0])


def confirm(negotiated):
    block = b"\x02\x00\x08\x00\x01\x00\x00\x00" if negotiated else b""
    return struct.pack("!BBHBBHHB", 3, 0, 11 + len(block), 6 + len(block), 0xD0, 0, 0x1234, 0) + block


def failure(code):
    return bytes([3, 0, 0, 0x13, 0x0E, 0xD0, 0, 0, 0x12, 0x34, 0, 3, 0, 8, 0, code, 0, 0, 0])


def read_line(pdu):
    """(the cookie or token line or b"", whether a negotiation block is there) of a whole Connection Request"""
    rest = pdu[11:]
    if rest[:1] == b"\x01":
        return b"", True
    line, end, rest = rest.partition(b"\r\n")
    return (line, rest[:1] == b"\x01") if end else (b"", False)


async def read_pdu(reader):
    """one TPKT, whole"""
    head = await reader.readexactly(4)
    return head + await reader.readexactly(int.from_bytes(head[2:], "big") - 4)
