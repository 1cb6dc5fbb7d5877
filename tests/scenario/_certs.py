"""Authorities and certificates for scenarios, made by the openssl command in the scenario's own directory; and who speaks TLS with them."""
import os, socket, ssl, subprocess, threading

from scenario import SLOW, check, need


def openssl(*argv, **k):
    r = subprocess.run(["openssl", *argv], capture_output=True, text=True, timeout=60 * SLOW, **k)
    check(r.returncode == 0, f"openssl {argv[0]}:", r.stderr[-800:])
    return r.stdout


class Pair:
    def __init__(self, s, name):
        self.cert, self.key = s.path(f"{name}.pem"), s.path(f"{name}.key")

    def line(self):
        return f"{self.cert} {self.key}"

    def load(self, context):
        context.load_cert_chain(self.cert, self.key)
        return context


class Authority(Pair):
    def __init__(self, s, name="ca"):
        super().__init__(s, name)
        need("openssl")
        self.s, self.name = s, name
        new_key(self.key)
        openssl("req", "-x509", "-new", "-key", self.key, "-subj", f"/CN={name}.example.com", "-days", "30", "-out", self.cert)

    def make(self, name, san, days=30, into=None):
        """a certificate that names `san`, such as "DNS:gw.example.com,IP:127.0.0.1" ("" = its subject alone); into: files of this pair are written anew"""
        p = Pair(self.s, into or name)
        request, extra = self.s.path("request"), self.s.path("extra")
        new_key(p.key)
        openssl("req", "-new", "-key", p.key, "-subj", f"/CN={name}", "-out", request)
        with open(extra, "w") as f:
            f.write(f"subjectAltName={san}\n" if san else "basicConstraints=CA:FALSE\n")
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days", str(days), "-extfile", extra, "-out", p.cert)
        return p

    def trusts(self, *, client=None, name=True):
        """what a client of ours believes"""
        c = ssl.create_default_context(cafile=self.cert)
        c.check_hostname = name
        return client.load(c) if client else c


def new_key(path):
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)


def serial(path):
    return openssl("x509", "-in", path, "-noout", "-serial").strip()


def dial(at, context, name="gw.example.com", session=None, timeout=20):
    host, port = at.rsplit(":", 1)
    c = context.wrap_socket(socket.create_connection((host.strip("[]"), int(port)), timeout * SLOW), server_hostname=name, session=session)
    c.settimeout(timeout * SLOW)
    return c


def message(method="OPTIONS", uri="sip:bob@example.com", call="c1", transport="TLS", n=1, more=""):
    return (f"{method} {uri} SIP/2.0\r\nVia: SIP/2.0/{transport} 127.0.0.1:5061;branch=z9hG4bK{call}{method}{n};rport\r\nMax-Forwards: 70\r\nFrom: <sip:alice@example.com>;tag=a1\r\n"
            f"To: <sip:bob@example.com>\r\nCall-ID: {call}\r\nCSeq: {n} {method}\r\n{more}Content-Length: 0\r\n\r\n").encode()


def head(sock, rest=b""):
    """the next message's head, as text, and what came behind it; bodies are none here"""
    while b"\r\n\r\n" not in rest:
        got = sock.recv(65536)
        if not got:
            return "", rest
        rest += got
    text, _, rest = rest.partition(b"\r\n\r\n")
    return text.decode(errors="replace"), rest


class Server:
    """answers every request with 200 and keeps what it saw; with a context it speaks TLS"""
    def __init__(self, context=None, host="127.0.0.1", port=0):
        self.context, self.names, self.seen, self.peers, self.failures, self.open = context, [], [], [], [], 0
        if context:
            context.sni_callback = lambda sock, name, ctx: self.names.append(name)
        self.listener = socket.create_server((host, port))
        self.at = "%s:%d" % self.listener.getsockname()[:2]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        try:
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True)
                self.peers.append(sock.getpeercert())
            self.open += 1
            rest = b""
            while True:
                text, rest = head(sock, rest)
                if not text:
                    break
                if not text.startswith("SIP/2.0"):
                    self.seen.append(text)
                    sock.sendall(self.answer(text))
        except OSError as e:
            self.failures.append(str(e))
        finally:
            sock.close()

    def answer(self, text):
        if text.startswith("ACK"):
            return b""
        keep = [x if not x.startswith("To:") or "tag=" in x else x + ";tag=b1" for x in text.split("\r\n") if x.split(":")[0] in ("Via", "From", "To", "Call-ID", "CSeq", "Record-Route")]
        return ("\r\n".join(["SIP/2.0 200 OK", *keep, "Content-Length: 0"]) + "\r\n\r\n").encode()

    def calls(self, method="OPTIONS"):
        """requests of clients, not probes"""
        return [x for x in self.seen if x.startswith(method) and "sip:holdfast@" not in x]

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)            # its thread waits no more, and takes no connection of who has the descriptor next
        self.listener.close()
