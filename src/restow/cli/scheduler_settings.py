"""From the flags and the configuration file of ``restow scheduler`` to its settings, and to its exit status.

If both say something, a flag counts unless it has its default value. kube-scheduler's flags of leader election override its
file too; the other flags are for use without a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from restow.application.policies import read_scheduler_config
from restow.cli.daemon_flags import ignored_flags
from restow.cli.daemon_process import (
    HIGHEST_PORT,
    daemon_log,
    election_problems,
    https_settings,
    lease_of,
    run_daemon,
    server_problems,
)
from restow.cli.scheduler_flags import SchedulerFlags
from restow.daemon.connecting import ApiSettings
from restow.errors import InputError, problem_lines
from restow.kube.duration import SECOND, format_duration, parse_duration
from restow.kube.excerpts import excerpt
from restow.scheduler.process import ProcessSettings, RandomSettings, schedule_by_profiles, schedule_randomly
from restow.scheduler.settings import SchedulerSettings, as_understood, cautions, named_profiles, unsupported
from restow.scheduler.usage import usage_problems
from restow.scheduling.configuration.load import SchedulerConfiguration
from restow.scheduling.configuration.wire import LeaderElection
from restow.scheduling.queueing.queued_pods import BackoffSettings
from restow.scheduling.queueing.scheduling_queue import QueueSettings

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
    defaults = type(flags)()
    unset = {name: value for name, value in found.items() if getattr(flags, name) == getattr(defaults, name)}
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


#: Names of schedulers that the API server takes, and that stand in a field selector as they are.
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")


def schedule(flags: SchedulerFlags) -> int:
    """Run as flags say; InputError for what cannot be used, else the exit status. What happens goes to the log."""
    log = daemon_log(flags.logging_format, flags.v)
    failed = partial(log.error, "restow scheduler failed")
    if flags.profile == "random":
        check(flags)
        for sentence in ignored_flags(flags):
            log.warning(sentence)
        random = RandomSettings(name=flags.scheduler_name, seed=flags.seed)
        return run_daemon(schedule_randomly(process_settings(flags), random, log), failed)
    configuration = read_scheduler_config(flags.config or None)
    effective = with_file(flags, configuration)
    check(effective)
    scheduling = scheduler_settings(effective, configuration)
    for sentence in (
        *ignored_flags(flags),
        *problem_lines(configuration.warnings),
        *cautions(configuration, tuple(scheduling.profiles)),
    ):
        log.warning(sentence)
    shown = as_understood(configuration.written, tuple(scheduling.profiles), shown_settings(effective))
    settings = replace(process_settings(effective), configuration=shown)
    return run_daemon(schedule_by_profiles(settings, scheduling, log), failed)


def check(flags: SchedulerFlags) -> None:
    """InputError with the first thing that flags ask for and cannot be."""
    for problem in _problems(flags):
        raise InputError(problem)


def _problems(flags: SchedulerFlags) -> Iterator[str]:
    if flags.profile is not None and flags.config:
        yield f"--config says nothing of --profile {flags.profile}: leave one of them out"
    if not _NAME.fullmatch(flags.scheduler_name):
        yield (
            f"--scheduler-name {excerpt(repr(flags.scheduler_name))} is no name of a scheduler: "
            "use lower-case letters, digits, hyphens and dots, 63 at most"
        )
    if flags.pod_max_in_unschedulable_pods_duration <= 0:
        span = format_duration(flags.pod_max_in_unschedulable_pods_duration)
        yield f"--pod-max-in-unschedulable-pods-duration {span} is too short: it must be above 0s"
    if flags.secure_port < 0:
        yield f"--secure-port {flags.secure_port}: invalid port; it must be between 0 and {HIGHEST_PORT}"
    yield from server_problems(flags)
    if flags.kube_api_qps > 0 and flags.kube_api_burst <= 0:
        yield f"--kube-api-burst {flags.kube_api_burst} lets no request through; it must be greater than 0"
    if flags.leader_elect:
        yield from election_problems(flags)
