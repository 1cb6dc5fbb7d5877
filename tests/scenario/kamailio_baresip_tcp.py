"""The two phones of kamailio_baresip over TCP: the call reaches the called phone over the connection that it registered by, which our Path names. Without
the flow token, or with a connection dialled to a Contact, bob's phone is not found (RFC 3327, RFC 5626 5.3)."""
from kamailio_baresip import play

TIMEOUT = 90


def run(s):
    play(s, "tcp")
