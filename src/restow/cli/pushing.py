"""From the arguments of ``restow pressure push`` to its exit status."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from pathlib import Path

from restow.cli.flag_values import duration
from restow.cli.streams import warn
from restow.client.proxies import is_http, split_user
from restow.errors import InputError
from restow.kube.duration import SECOND
from restow.pressure.pushing import METRIC, Gateway, keep_pushing, node_memory
from restow.redaction import without_secrets

_DONE = 0


def push_memory(
    gateway: str | None, instance: str | None, interval: str | None, cgroup_root: str, meminfo: str, *, dry_run: bool
) -> int:
    """Do it; returns the exit status. InputError for what cannot be read, ConnectionError for a gateway."""

    def available() -> int:
        return node_memory(Path(cgroup_root), Path(meminfo)).available

    node = instance or socket.gethostname()
    if dry_run:
        sys.stdout.write(f'{METRIC}{{instance="{node}"}} {available()}\n')
        return _DONE
    found, seconds = _gateway(gateway, node), _seconds(interval)
    if seconds is None:
        found.push(available())
        return _DONE
    # What could never be measured is told now, and not again and again.
    available()
    keep_pushing(found, available, seconds, _stopping(), lambda sentence: warn([sentence]))
    return _DONE


def _gateway(url: str | None, instance: str) -> Gateway:
    if not url:
        raise InputError("--gateway is missing: the URL of the Pushgateway, such as http://pushgateway:9091")
    if not is_http(url):
        raise InputError(f"--gateway {without_secrets(url)} is not a URL such as http://pushgateway:9091")
    address, user = split_user(url)
    return Gateway(address, instance, user)


def _seconds(interval: str | None) -> float | None:
    if not interval:
        return None
    try:
        seconds = duration(interval) / SECOND
    except ValueError as error:
        raise InputError(f"--interval {interval}: {error}; write a duration such as 30s") from error
    if seconds < 1:
        raise InputError(f"--interval {interval} is less than a second")
    return seconds


def _stopping() -> threading.Event:
    """Set by SIGTERM and SIGINT."""
    stopping = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stopping.set())
    return stopping
