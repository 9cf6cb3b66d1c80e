"""From the flags of ``restow run`` to the settings of a descheduler, and to its exit status."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from restow.cli.daemon_process import daemon_log, https_settings, lease_of, run_daemon
from restow.cli.flag_checks import check_flags, ignored_flags
from restow.cli.flag_values import is_gate_open
from restow.cli.run_flags import Flags
from restow.daemon import log_lines
from restow.daemon.logs import Log
from restow.daemon.settings import ApiSettings
from restow.descheduler.descheduler import Descheduler
from restow.descheduler.settings import CycleSettings, PlanConfigMap, Settings, TracesSettings
from restow.errors import problem_lines
from restow.kube.duration import SECOND
from restow.policies.fallbacks import Fallbacks
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile


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
        dry_run=flags.dry_run,
        placement=flags.placement,
        profiles=profiles,
        scheduler_configuration=scheduler_configuration,
        confirm_replacements=flags.confirm_replacements,
        in_background=is_gate_open(flags.feature_gates, "EvictionsInBackground"),
    )


def _traces(flags: Flags) -> TracesSettings:
    authority = flags.otel_transport_ca_cert
    return TracesSettings(
        collector=flags.otel_collector_endpoint,
        authority=Path(authority) if authority else None,
        service=flags.otel_service_name,
        service_namespace=flags.otel_trace_namespace,
        share=min(max(flags.otel_sample_rate, 0.0), 1.0),
    )
