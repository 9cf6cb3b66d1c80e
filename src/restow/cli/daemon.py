"""From the flags of ``restow run`` to its exit status."""

from __future__ import annotations

import asyncio
import gc
import sys

from restow.cli.flag_checks import check_flags
from restow.cli.ignored_flags import ignored_flags
from restow.cli.run_flags import Flags
from restow.cli.run_settings import settings_of
from restow.client.errors import ClientError
from restow.errors import problem_lines
from restow.running import log_lines
from restow.running.descheduler import Descheduler
from restow.running.library_logs import hear_libraries
from restow.running.logs import Log
from restow.running.off_loop import EndlessError
from restow.scheduling.profiles import DEFAULT_PROFILE, SchedulerProfile

_DONE, _FAILED = 0, 1


def deschedule(flags: Flags) -> int:
    """Run as flags say; InputError for what cannot be used, else the exit status. What happens goes to the log."""
    check_flags(flags)
    # Unlike the other commands this one lasts, and has to get rid of what it made.
    gc.enable()
    log = Log(sys.stderr, flags.logging_format, flags.v)
    hear_libraries(log)
    for sentence in ignored_flags(flags):
        log.caution(sentence)
    try:
        asyncio.run(Descheduler(settings_of(flags, _profiles(flags, log)), log).run())
    except (ClientError, OSError, EndlessError) as error:
        log_lines.failed(log, error)
        return _FAILED
    return _DONE


def _profiles(flags: Flags, log: Log) -> tuple[SchedulerProfile, ...]:
    """The profiles of the cluster's schedulers, as the flag's file has them or as they are by default."""
    if not flags.scheduler_config:
        return (DEFAULT_PROFILE,)
    # Reading a configuration needs a tenth of all modules, and few clusters have one.
    from restow.cli.scheduler_config import read_scheduler_config

    configuration = read_scheduler_config(flags.scheduler_config)
    for warning in problem_lines(configuration.warnings):
        log.caution(warning)
    return tuple(configuration.profiles)
