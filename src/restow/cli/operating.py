"""From the arguments of ``restow operator`` and its commands to their exit statuses: the operator, its soft tainter, its removal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from restow.application.removing import OperatorRemoval, RemovalRequest, remove_operator
from restow.cli.daemon_process import daemon_log, run_daemon
from restow.cli.terminal import DONE, FAILED, INTERRUPTED, Terminal, agrees, can_ask, warn, write_json
from restow.client.leader_election import Timing
from restow.daemon.connecting import ApiSettings, HttpsSettings
from restow.daemon.electing import LeaseSettings
from restow.daemon.logs import Format
from restow.errors import InputError
from restow.kube.duration import SECOND
from restow.operator.facts import Installation
from restow.operator.soft_tainting import TainterSettings, read_policy, taint, tainting_policy
from restow.plain_text import printable
from restow.reporting.terminal import joined, widths
from restow.reporting.wording import counted
from restow.serving.server import ListenAddress
from restow.serving.tls import TlsSettings, ciphers, tls_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from restow.operator.uninstalling import Item


_EVERYWHERE = "0.0.0.0"  # noqa: S104 - the kubelet comes from outside
#: A kernel that measures how long processes wait (PSI) has this directory, also in pods.
PRESSURE: Final = Path("/proc/pressure")


def run_operator(
    installation: Installation,
    lease: tuple[int, int, int],
    *,
    kubeconfig: str | None,
    port: int,
    logging_format: Format,
    verbosity: int,
) -> int:
    """Run the operator and return the exit status; InputError for arguments that cannot be used.

    ``lease`` is the duration of its lease, of renewal and between tries, in nanoseconds.
    """
    try:
        from restow.operator.daemon import LEASE, OperatorSettings, operate
    except ModuleNotFoundError as error:
        raise InputError(
            f"restow operator needs the package {error.name}; install it with: pip install 'restow[operator]'"
        ) from error
    if not installation.image:
        raise InputError(
            "--image is missing: the image of restow that the descheduler runs (RELATED_IMAGE_OPERAND_IMAGE)"
        )
    timing = Timing(*(each / SECOND for each in lease))
    timing.check()
    settings = OperatorSettings(
        installation=installation,
        api=ApiSettings(kubeconfig=kubeconfig),
        lease=LeaseSettings(name=LEASE, timing=timing),
        https=server_on(port),
    )
    log = daemon_log(logging_format, verbosity)
    return run_daemon(operate(settings, log), partial(log.error, "restow operator failed"))


def pressure_metrics(kubeconfig: str | None) -> bool | None:
    """Return whether the node of this pod has PSI; None outside of the cluster, where there is no such node."""
    is_outside = kubeconfig or os.environ.get("KUBECONFIG") or not os.environ.get("KUBERNETES_SERVICE_HOST")
    return None if is_outside else PRESSURE.is_dir()


def server_on(port: int) -> HttpsSettings | None:
    """Return where a daemon of the operator serves its pages; None for 0."""
    if port <= 0:
        return None
    tls = TlsSettings(tls_version(""), ciphers(()))
    return HttpsSettings(endpoint=ListenAddress(_EVERYWHERE, port), tls=tls)


def keep_tainting(
    policy_file: str, *, kubeconfig: str | None, namespace: str, port: int, logging_format: Format, verbosity: int
) -> int:
    """Run the soft tainter and return the exit status; InputError for arguments that cannot be used."""
    # A policy that cannot be used ends the command at once, and is not only a line of the log.
    tainting_policy(read_policy(policy_file))
    settings = TainterSettings(
        policy_file=policy_file,
        namespace=namespace,
        api=ApiSettings(kubeconfig=kubeconfig),
        https=server_on(port),
    )
    log = daemon_log(logging_format, verbosity)
    return run_daemon(taint(settings, log), partial(log.error, "restow operator soft-tainter failed"))


_HEAD = ("STEP", "KIND", "NAME")


def uninstall_operator(request: RemovalRequest, output: Literal["table", "json"], *, yes: bool) -> int:
    """Remove it and report; returns the exit status. InputError where nothing can be started, ClientError for what cannot be read."""
    if not yes and not (output == "table" and can_ask()):
        raise InputError("there is no terminal to ask at: add --yes to remove everything")

    def agreed(items: tuple[Item, ...], server: str) -> bool:
        if output == "table":
            _print(items)
        return yes or agrees(f"Remove {counted(len(items), 'object')} from {server}?")

    removal = remove_operator(request, agreed, Terminal(), _interrupted_by_signals)
    if removal is None:
        return FAILED
    _report(output, removal)
    if removal.interrupted:
        return INTERRUPTED
    return FAILED if removal.left else DONE


@contextmanager
def _interrupted_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Have Ctrl-C end the block after the request that is out; a second one ends the command."""
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop)
    try:
        yield
    finally:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)


def _print(items: tuple[Item, ...]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in _removal_lines(items))
    sys.stdout.flush()


def _report(output: str, removal: OperatorRemoval) -> None:
    # A problem that was solved by a later step is none.
    warn(removal.problems if removal.left else ())
    if output == "json":
        write_json(removal)
        return
    if removal.left:
        stopped = "Interrupted; run the command again to go on. " if removal.interrupted else ""
        sys.stdout.write(f"\n{stopped}{counted(len(removal.left), 'object')} left:\n")
        _print(removal.left)
        return
    removed = len(removal.removed)
    sys.stdout.write(
        f"{counted(removed, 'object')} removed; nothing is left\n" if removed else "there is no operator\n"
    )


def _removal_lines(items: Sequence[Item]) -> Iterator[str]:
    """Yield a line for each thing, in the order of removal; no name is cut, for each is about to be removed."""
    rows = [_HEAD, *map(_row, items)]
    columns = widths(rows)
    return (joined(row, columns).rstrip() for row in rows)


def _row(item: Item) -> tuple[str, str, str]:
    name = f"{item.namespace}/{item.name}" if item.namespace else item.name
    return item.step, item.kind, printable(f"{name}: soft taints" if item.step == "taints" else name)
