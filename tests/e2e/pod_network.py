"""The addresses of pods that are real processes: a pod at 10.A.B.C listens on 127.A.B.C of this machine.

The API server refuses loopback addresses in EndpointSlices, so statuses and slices hold an address of a private
network, as in a real cluster. Who connects to a pod asks ``host_of`` for the loopback address. Linux only: other systems
have 127.0.0.1 alone.
"""

from __future__ import annotations

import random
import socket
from itertools import cycle, islice

#: The port of every pod.
PORT = 8080
#: The second octet: 10.96.0.0/16 is of Services, and 10.128.0.0/9 of the pods that kwok runs.
_SECOND = range(16, 64)
#: Addresses of one second octet, without the first and the last.
_SIZE = 1 << 16
_ALL = [(second, low) for second in _SECOND for low in range(1, _SIZE - 1)]
#: Any start, since other test sessions on this machine also take addresses.
_START = random.SystemRandom().randrange(len(_ALL))
_NEXT = islice(cycle(_ALL), _START, None)
#: Addresses that are tried for one pod.
_TRIES = 100


def host_of(address: str) -> str:
    """The loopback address where a pod with this address listens.

    >>> host_of("10.20.0.7")
    '127.20.0.7'
    """
    return "127." + address.partition(".")[2]


def free_address() -> str:
    """An address that no pod has had in this process, and whose port nobody listens on. RuntimeError if none is found."""
    for second, low in islice(_NEXT, _TRIES):
        address = f"10.{second}.{low >> 8}.{low & 255}"
        if _is_free(host_of(address)):
            return address
    raise RuntimeError(f"port {PORT} is taken on {_TRIES} loopback addresses in a row: another program listens on it")


def _is_free(host: str) -> bool:
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((host, PORT))
        except OSError:
            return False
        return True
