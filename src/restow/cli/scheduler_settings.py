"""Combine the flags and the configuration file of ``restow scheduler``.

If they differ, a flag counts unless it has its default value. kube-scheduler's flags of leader election override its file
too; the other flags are for use without a file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from restow.cli.daemon_process import https_settings, lease_of
from restow.cli.scheduler_flags import SchedulerFlags
from restow.daemon.settings import ApiSettings
from restow.errors import InputError
from restow.kube.duration import SECOND, format_duration, parse_duration
from restow.scheduler.configured import named_profiles, unsupported
from restow.scheduler.process import ProcessSettings
from restow.scheduler.settings import SchedulerSettings
from restow.scheduler.usage import usage_problems
from restow.scheduling.configuration.load import SchedulerConfiguration
from restow.scheduling.configuration.wire import LeaderElection
from restow.scheduling.queueing.backoff import BackoffSettings
from restow.scheduling.queueing.scheduling_queue import QueueSettings

_DEFAULTS: Final = SchedulerFlags()
#: Fields of ``leaderElection``; the flags of the same meaning have ``leader_elect_`` before them.
_DURATIONS: Final = ("lease_duration", "renew_deadline", "retry_period")
_NAMES: Final = ("resource_lock", "resource_name", "resource_namespace")


def with_file(flags: SchedulerFlags, configuration: SchedulerConfiguration) -> SchedulerFlags:
    """Return the flags; the configuration's connection and leader election replace those with default values."""
    connection = configuration.written.client_connection
    found: dict[str, Any] = _election(configuration.written.leader_election)
    if connection.kubeconfig:
        found["kubeconfig"] = connection.kubeconfig
    if connection.qps:
        found["kube_api_qps"] = connection.qps
    if connection.burst:
        found["kube_api_burst"] = connection.burst
    unset = {name: value for name, value in found.items() if getattr(flags, name) == getattr(_DEFAULTS, name)}
    return replace(flags, **unset)


def _election(written: LeaderElection) -> dict[str, Any]:
    """The file's settings of leader election, by flag."""
    found: dict[str, Any] = {"leader_elect": written.leader_elect}
    for field, name in zip(written.__struct_fields__, written.__struct_encode_fields__, strict=True):
        value = getattr(written, field)
        if field in _DURATIONS and value:
            try:
                found[f"leader_elect_{field}"] = parse_duration(value)
            except ValueError as error:
                raise InputError(f"--config: leaderElection.{name}: {error}") from error
        elif field in _NAMES and value:
            found[f"leader_elect_{field}"] = value
    return found


def scheduler_settings(flags: SchedulerFlags, configuration: SchedulerConfiguration) -> SchedulerSettings:
    """Return what pods are scheduled by; InputError, with a line for each profile, for what a scheduler must not leave out."""
    written = configuration.written
    profiles = named_profiles(configuration, flags.scheduler_name)
    if missing := [*unsupported(configuration, profiles), *usage_problems(profiles)]:
        raise InputError(*missing)
    backoff = BackoffSettings(written.pod_initial_backoff_seconds, written.pod_max_backoff_seconds)
    longest = flags.pod_max_in_unschedulable_pods_duration / SECOND
    return SchedulerSettings(profiles=profiles, queue=QueueSettings(backoff, longest), seed=flags.seed)


def process_settings(flags: SchedulerFlags) -> ProcessSettings:
    """Return the settings of the process that flags without problems ask for."""
    return ProcessSettings(
        api=ApiSettings(kubeconfig=flags.kubeconfig or None, qps=flags.kube_api_qps, burst=flags.kube_api_burst),
        namespace=flags.leader_elect_resource_namespace,
        lease=lease_of(flags),
        https=https_settings(flags) if flags.secure_port else None,
        open_paths=flags.authorization_always_allow_paths,
        explains_pods=flags.explain_pods,
    )


def shown_settings(flags: SchedulerFlags) -> dict[str, Any]:
    """Return what ``/configz`` shows of flags and file, by the file's names."""
    return {
        "clientConnection": {"qps": flags.kube_api_qps, "burst": flags.kube_api_burst},
        "leaderElection": {
            "leaderElect": flags.leader_elect,
            "leaseDuration": format_duration(flags.leader_elect_lease_duration),
            "renewDeadline": format_duration(flags.leader_elect_renew_deadline),
            "retryPeriod": format_duration(flags.leader_elect_retry_period),
            "resourceLock": flags.leader_elect_resource_lock,
            "resourceName": flags.leader_elect_resource_name,
            "resourceNamespace": flags.leader_elect_resource_namespace,
        },
        "podMaxInUnschedulablePodsDuration": format_duration(flags.pod_max_in_unschedulable_pods_duration),
    }
