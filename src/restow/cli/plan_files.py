"""The plan of ``restow apply``: the file that was named, with the policy and the schedulers that it was made by."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from restow.cli.named_files import file_name
from restow.cli.options import STDIN
from restow.descheduling.registry import plugins
from restow.descheduling.replaying import check_plugins_enabled
from restow.descheduling.saved_plan import read_plan
from restow.descheduling.usage_sources import usage_schemas
from restow.errors import InputError
from restow.policies.load import load_policy
from restow.running.applying import Order
from restow.scheduling.configuration.load import load_scheduler_configuration
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile


def read_order(path: str) -> Order:
    """The plan at a path; InputError where it cannot be read, or is no plan that this restow can carry out."""
    name = file_name(path)
    plan = read_plan(_content(path), name)
    policy = load_policy(msgspec.json.encode(plan.policy), f"{name}: policy", plugins(), usage_schemas()).policy
    check_plugins_enabled(plan.moves, policy, name)
    return Order(name, plan, policy, _profiles(plan.scheduler_configuration, name))


def _content(path: str) -> bytes:
    """A plan may be as large as it is, but it comes to an end."""
    try:
        if path == STDIN:
            return sys.stdin.buffer.read()
        if Path(path).is_char_device():
            raise InputError(f"{path}: is a device, not a plan")
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _profiles(configuration: dict[str, Any] | None, name: str) -> tuple[SchedulerProfile, ...]:
    if configuration is None:
        return (DEFAULT_PROFILE,)
    text = msgspec.json.encode(configuration)
    return tuple(load_scheduler_configuration(text, f"{name}: schedulerConfiguration").profiles)
