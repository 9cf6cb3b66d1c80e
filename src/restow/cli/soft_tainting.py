"""From the arguments of ``restow operator soft-tainter`` to its exit status."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from restow.cli.daemon_process import daemon_log, run_daemon
from restow.cli.operating import server_on
from restow.operator.soft_tainting import read_policy, tainting_policy
from restow.operator.tainter_daemon import TainterSettings, taint
from restow.running.logs import Format
from restow.running.settings import ApiSettings


@dataclass(slots=True, frozen=True)
class TaintingRequest:
    """What was asked for, as it was written."""

    policy_file: str
    kubeconfig: str | None
    namespace: str
    port: int
    logging_format: Format
    verbosity: int


def keep_tainting(asked: TaintingRequest) -> int:
    """Do it; InputError for what cannot be used, else the exit status. What happens goes to the log."""
    # Seen at once, not only when somebody looks at the log.
    tainting_policy(read_policy(asked.policy_file))
    settings = TainterSettings(
        policy_file=asked.policy_file,
        namespace=asked.namespace,
        api=ApiSettings(kubeconfig=asked.kubeconfig),
        https=server_on(asked.port),
    )
    log = daemon_log(asked.logging_format, asked.verbosity)
    return run_daemon(taint(settings, log), partial(log.failure, "restow operator soft-tainter failed"))
