"""From the arguments of ``restow operator`` and ``restow operator soft-tainter`` to their exit status."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from restow.cli.daemon_process import daemon_log, run_daemon
from restow.client.leadership import Timing
from restow.daemon.logs import Format
from restow.daemon.settings import ApiSettings, HttpsSettings, LeaseSettings
from restow.errors import InputError
from restow.kube.duration import SECOND
from restow.operator.facts import Installation
from restow.operator.soft_tainting import read_policy, tainting_policy
from restow.operator.tainter_daemon import TainterSettings, taint
from restow.serving.server import ListenAddress
from restow.serving.tls import TlsSettings, ciphers, tls_version

_EVERYWHERE = "0.0.0.0"  # noqa: S104 - the kubelet comes from outside
#: A kernel that measures how long processes wait (PSI) has this directory, also in pods.
_PRESSURE: Final = Path("/proc/pressure")


@dataclass(slots=True, frozen=True)
class Operating:
    """The arguments of the operator; durations are nanoseconds."""

    kubeconfig: str | None
    installation: Installation
    #: Lease, renewal, retry.
    timing: tuple[int, int, int]
    port: int
    logging_format: Format
    verbosity: int


@dataclass(slots=True, frozen=True)
class TaintingRequest:
    """The arguments of the soft tainter."""

    policy_file: str
    kubeconfig: str | None
    namespace: str
    port: int
    logging_format: Format
    verbosity: int


def run_operator(asked: Operating) -> int:
    """Run the operator and return the exit status; InputError for arguments that cannot be used."""
    try:
        from restow.operator.daemon import LEASE, OperatorSettings, operate
    except ModuleNotFoundError as error:
        raise InputError(
            f"restow operator needs the package {error.name}; install it with: pip install 'restow[operator]'"
        ) from error
    if not asked.installation.image:
        raise InputError(
            "--image is missing: the image of restow that the descheduler runs (RELATED_IMAGE_OPERAND_IMAGE)"
        )
    timing = Timing(*(each / SECOND for each in asked.timing))
    timing.check()
    settings = OperatorSettings(
        installation=asked.installation,
        api=ApiSettings(kubeconfig=asked.kubeconfig),
        lease=LeaseSettings(name=LEASE, timing=timing),
        https=server_on(asked.port),
    )
    log = daemon_log(asked.logging_format, asked.verbosity)
    return run_daemon(operate(settings, log), partial(log.error, "restow operator failed"))


def pressure_metrics(kubeconfig: str | None) -> bool | None:
    """Return whether the node of this pod has PSI; None outside of the cluster, where there is no such node."""
    is_outside = kubeconfig or os.environ.get("KUBECONFIG") or not os.environ.get("KUBERNETES_SERVICE_HOST")
    return None if is_outside else _PRESSURE.is_dir()


def server_on(port: int) -> HttpsSettings | None:
    """Return where a daemon of the operator serves its pages; None for 0."""
    if port <= 0:
        return None
    tls = TlsSettings(tls_version(""), ciphers(()))
    return HttpsSettings(endpoint=ListenAddress(_EVERYWHERE, port), tls=tls)


def keep_tainting(asked: TaintingRequest) -> int:
    """Run the soft tainter and return the exit status; InputError for arguments that cannot be used."""
    # A policy that cannot be used ends the command at once, and is not only a line of the log.
    tainting_policy(read_policy(asked.policy_file))
    settings = TainterSettings(
        policy_file=asked.policy_file,
        namespace=asked.namespace,
        api=ApiSettings(kubeconfig=asked.kubeconfig),
        https=server_on(asked.port),
    )
    log = daemon_log(asked.logging_format, asked.verbosity)
    return run_daemon(taint(settings, log), partial(log.error, "restow operator soft-tainter failed"))
