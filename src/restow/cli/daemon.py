"""From the flags of ``restow run`` to its exit status."""

from __future__ import annotations

from functools import partial
from typing import Any

from restow.cli.daemon_process import daemon_log, run_daemon
from restow.cli.flag_checks import check_flags, ignored_flags
from restow.cli.run_flags import Flags
from restow.cli.run_settings import settings_of
from restow.errors import problem_lines
from restow.running import log_lines
from restow.running.descheduler import Descheduler
from restow.running.logs import Log
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile


def deschedule(flags: Flags) -> int:
    """Run as flags say; InputError for what cannot be used, else the exit status. What happens goes to the log."""
    check_flags(flags)
    log = daemon_log(flags.logging_format, flags.v)
    for sentence in ignored_flags(flags):
        log.caution(sentence)
    profiles, configuration = _schedulers(flags, log)
    descheduler = Descheduler(settings_of(flags, profiles, configuration), log)
    return run_daemon(descheduler.run(), partial(log_lines.failed, log))


def _schedulers(flags: Flags, log: Log) -> tuple[tuple[SchedulerProfile, ...], dict[str, Any] | None]:
    """The profiles of the cluster's schedulers, as the flag's file has them or as they are by default, and that file."""
    if not flags.scheduler_config:
        return (DEFAULT_PROFILE,), None
    # Reading a configuration needs a tenth of all modules, and few clusters have one.
    from restow.cli.policy_files import read_scheduler_config

    configuration = read_scheduler_config(flags.scheduler_config)
    for warning in problem_lines(configuration.warnings):
        log.caution(warning)
    return configuration.profiles, configuration.document
