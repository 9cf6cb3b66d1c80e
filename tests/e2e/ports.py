"""Free ports of 127.0.0.1.

Not those that Linux gives to outgoing connections (``ip_local_port_range``): some connection of another program could
take one between the moment when it was seen to be free and the moment when somebody listens on it.
"""

from __future__ import annotations

import random
import socket
from itertools import cycle, islice

HOST = "127.0.0.1"
_FIRST, _LAST = 20_000, 32_000
#: From anywhere, since other sessions of tests look for ports as well.
_START = random.SystemRandom().randrange(_LAST - _FIRST)
_PORTS = islice(cycle(range(_FIRST, _LAST)), _START, None)


def free_ports(count: int) -> list[int]:
    """So many different ports that nobody listened on a moment ago; not given again soon."""
    found: list[int] = []
    while len(found) < count:
        port = next(_PORTS)
        if _is_free(port):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as attempt:
        try:
            attempt.bind((HOST, port))
        except OSError:
            return False
        return True
