"""From the flags of ``restow scheduler`` to its exit status."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from restow.application.policies import read_scheduler_config
from restow.cli.daemon_process import daemon_log, run_daemon
from restow.cli.election_flags import election_problems
from restow.cli.flag_checks import HIGHEST_PORT, server_problems
from restow.cli.scheduler_flags import SchedulerFlags
from restow.cli.scheduler_settings import process_settings, scheduler_settings, shown_settings, with_file
from restow.cli.unheeded_flags import ignored_flags
from restow.errors import InputError, problem_lines
from restow.kube.duration import format_duration
from restow.kube.excerpts import excerpt
from restow.scheduler.configured import as_understood, cautions
from restow.scheduler.process import RandomSettings, schedule_by_profiles, schedule_randomly

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
