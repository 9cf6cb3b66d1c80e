"""From the flags of ``restow run`` to the settings of a descheduler, and to its exit status.

The Descheduler accepts some unusable values or crashes on them; restow prints a sentence and exits with status 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from restow.cli.daemon_flags import ignored_flags
from restow.cli.daemon_process import (
    daemon_log,
    election_problems,
    https_settings,
    lease_of,
    refused,
    run_daemon,
    server_problems,
)
from restow.cli.go_flags import gates_of, is_gate_open
from restow.cli.run_flags import Flags
from restow.daemon import log_lines
from restow.daemon.connecting import ApiSettings
from restow.daemon.logs import Log
from restow.descheduler.descheduler import Descheduler
from restow.descheduler.settings import (
    CycleSettings,
    HistorySettings,
    PlanConfigMap,
    Settings,
    ShadowSettings,
    TracesSettings,
)
from restow.errors import InputError, problem_lines
from restow.kube.duration import SECOND, format_duration
from restow.policies.fallbacks import Fallbacks
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile

#: A namespace and a name.
_NAMED: Final = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")
_FORMATS: Final = ("text", "json")


def check_flags(flags: Flags) -> None:
    """Raise InputError with the first problem."""
    for problem in _problems(flags):
        raise InputError(problem)


def _problems(flags: Flags) -> Iterator[str]:
    yield from _general(flags)
    yield from server_problems(flags)
    if flags.leader_elect:
        yield from _election(flags)


def _general(flags: Flags) -> Iterator[str]:
    if flags.logging_format not in _FORMATS:
        yield f'--logging-format "{flags.logging_format}" is unknown; there are text and json'
    if flags.descheduling_interval < 0:
        yield f"--descheduling-interval {format_duration(flags.descheduling_interval)} is negative; 0 runs one cycle"
    if flags.publish_plan and not _NAMED.fullmatch(flags.publish_plan):
        yield f'--publish-plan "{flags.publish_plan}" does not name a ConfigMap: write NAMESPACE/NAME'
    yield from _shadow(flags)
    if flags.history_days <= 0:
        yield f"--history-days {flags.history_days} keeps nothing; it must be 1 or more"
    yield from refused("feature-gates", gates_of, flags.feature_gates)
    if flags.client_connection_qps > 0 and flags.client_connection_burst <= 0:
        yield (
            "--client-connection-burst: burst is required to be greater than 0 when RateLimiter is not set and QPS is "
            "set to greater than 0"
        )
    if (flags.max_pods_to_evict_per_node or 0) < 0:
        yield f"--max-pods-to-evict-per-node {flags.max_pods_to_evict_per_node} is negative; 0 is no limit"


def _shadow(flags: Flags) -> Iterator[str]:
    if flags.shadow and flags.descheduling_interval <= 0:
        yield "--shadow watches what others evict, until it is stopped: add --descheduling-interval, such as 5m"
    if flags.shadow_reports and not flags.shadow:
        yield "--shadow-reports goes with --shadow"


def _election(flags: Flags) -> Iterator[str]:
    if flags.descheduling_interval <= 0:
        yield "--leader-elect: leaderElection must be used with deschedulingInterval (--descheduling-interval)"
    yield from election_problems(flags)


def deschedule(flags: Flags) -> int:
    """Run as flags say; InputError for what cannot be used, else the exit status. What happens goes to the log."""
    check_flags(flags)
    log = daemon_log(flags.logging_format, flags.v)
    for sentence in ignored_flags(flags):
        log.warning(sentence)
    profiles, configuration = _schedulers(flags, log)
    descheduler = Descheduler(settings_of(flags, profiles, configuration), log)
    return run_daemon(descheduler.run(), partial(log_lines.failed, log))


def _schedulers(flags: Flags, log: Log) -> tuple[tuple[SchedulerProfile, ...], dict[str, Any] | None]:
    """The profiles of the cluster's schedulers, as the flag's file has them or as they are by default, and that file."""
    if not flags.scheduler_config:
        return (DEFAULT_PROFILE,), None
    # Reading a configuration needs a tenth of all modules, and few clusters have one.
    from restow.application.policies import read_scheduler_config

    configuration = read_scheduler_config(flags.scheduler_config)
    for warning in problem_lines(configuration.warnings):
        log.warning(warning)
    return configuration.profiles, configuration.document


def settings_of(
    flags: Flags,
    profiles: tuple[SchedulerProfile, ...] = (DEFAULT_PROFILE,),
    scheduler_configuration: dict[str, Any] | None = None,
) -> Settings:
    """The settings that flags ask for, which ``check_flags`` has let pass.

    ``profiles`` are the cluster's schedulers', from ``scheduler_configuration`` where there is one.
    """
    return Settings(
        api=ApiSettings(
            kubeconfig=flags.client_connection_kubeconfig or None,
            qps=flags.client_connection_qps,
            burst=flags.client_connection_burst,
        ),
        cycles=_cycles(flags, profiles, scheduler_configuration),
        namespace=flags.leader_elect_resource_namespace,
        lease=lease_of(flags),
        https=https_settings(flags, metrics=not flags.disable_metrics) if flags.secure_port > 0 else None,
        traces=_traces(flags) if flags.otel_collector_endpoint else None,
        history=HistorySettings(flags.history, flags.history_days) if flags.history else None,
        shadow=_shadow_settings(flags) if flags.shadow else None,
        published_plan=PlanConfigMap(*flags.publish_plan.split("/")) if flags.publish_plan else None,
    )


def _cycles(
    flags: Flags, profiles: tuple[SchedulerProfile, ...], scheduler_configuration: dict[str, Any] | None
) -> CycleSettings:
    fallbacks = Fallbacks(flags.node_selector, flags.max_pods_to_evict_per_node, flags.evict_local_storage_pods)
    return CycleSettings(
        interval=flags.descheduling_interval / SECOND,
        policy_file=flags.policy_config_file,
        fallbacks=fallbacks,
        dry_run=flags.dry_run or flags.shadow,
        placement=flags.placement,
        profiles=profiles,
        scheduler_configuration=scheduler_configuration,
        confirm_replacements=flags.confirm_replacements,
        in_background=is_gate_open(flags.feature_gates, "EvictionsInBackground"),
    )


def _shadow_settings(flags: Flags) -> ShadowSettings:
    if not flags.shadow_reports:
        return ShadowSettings()
    from restow.application.shadow_reports import report_writer

    return ShadowSettings(report_writer(flags.shadow_reports, flags.policy_config_file))


def _traces(flags: Flags) -> TracesSettings:
    authority = flags.otel_transport_ca_cert
    return TracesSettings(
        collector=flags.otel_collector_endpoint,
        authority=Path(authority) if authority else None,
        service=flags.otel_service_name,
        service_namespace=flags.otel_trace_namespace,
        share=min(max(flags.otel_sample_rate, 0.0), 1.0),
    )
