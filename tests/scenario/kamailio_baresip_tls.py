"""The two phones of kamailio_baresip over TLS on both sides: the phones believe the gateway by its certificate, the gateway kamailio by its name, and kamailio the
gateway by the certificate that it shows. The second leg is kamailio's own: it dials the called phone, whose certificate it believes (RFC 3261 26, RFC 5922)."""
from kamailio_baresip import play

TIMEOUT = 90


def run(s):
    play(s, "tls")
