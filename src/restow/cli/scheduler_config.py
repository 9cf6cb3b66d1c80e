"""The KubeSchedulerConfiguration of ``--scheduler-config``, or kube-scheduler's defaults."""

from __future__ import annotations

from restow.cli.named_files import file_bytes, file_name
from restow.scheduling.configuration.load import SchedulerConfiguration, load_scheduler_configuration
from restow.scheduling.profiles import DEFAULT_PROFILE


def read_scheduler_config(path: str | None) -> SchedulerConfiguration:
    """The profiles of the file at a path, or the default one; InputError where it cannot be read or is refused."""
    if path is None:
        return SchedulerConfiguration((DEFAULT_PROFILE,))
    return load_scheduler_configuration(file_bytes(path), file_name(path))
