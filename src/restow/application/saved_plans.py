"""The plan of ``restow apply``: the file that was named, with the policy and the schedulers that it was made by."""

from __future__ import annotations

import hashlib
import re
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import msgspec

from restow.application.named_files import NamedFile, NamedText, file_name
from restow.application.policies import read_policy_file
from restow.descheduler.applying import Order
from restow.descheduling.registry import plugins
from restow.descheduling.replaying import check_plugins_enabled
from restow.descheduling.saved_plan import read_plan
from restow.descheduling.usage_sources import usage_schemas
from restow.documents.findings import Path as FieldPath
from restow.documents.findings import path_text
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.policies.fallbacks import Fallbacks
from restow.policies.load import load_policy
from restow.policies.understood import decided_document
from restow.scheduling.configuration.load import load_scheduler_configuration
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.sources.reading import STDIN

_DIGEST: Final = re.compile(r"sha256:[0-9a-fA-F]{64}")


def read_order(path: NamedFile, digest: str | None = None) -> Order:
    """The plan at a path; InputError where it cannot be read, or is no plan that this restow can carry out.

    A file with another digest than the one that is given (``sha256:`` and 64 hexadecimal digits) is refused unread.
    """
    name = file_name(path)
    content = _content(path)
    if digest is not None:
        _check_digest(content, name, digest)
    plan = read_plan(content, name)
    policy = load_policy(msgspec.json.encode(plan.policy), f"{name}: policy", plugins(), usage_schemas()).policy
    check_plugins_enabled(plan.moves, policy, name)
    return Order(name, plan, policy, _profiles(plan.scheduler_configuration, name))


def check_agreement(order: Order, path: str) -> None:
    """Raise InputError that names the first field in which the plan's policy differs from that of a file.

    ``restow.placement`` and ``restow.steering`` are not compared: in a plan they are those of its options.
    """
    settings = order.policy.restow
    file = read_policy_file(path, Fallbacks())
    given = decided_document(file.loaded.policy, placement=order.placement, steering=settings.steering)
    planned = decided_document(order.policy, placement=order.placement, steering=settings.steering)
    difference = _first_difference(planned, given, ())
    if difference is not None:
        where, in_plan, in_file = difference
        raise InputError(
            f"{order.name}: policy: {path_text(where)} is {_shown(in_plan)} in the plan and {_shown(in_file)} in {file.name}: "
            "the plan was made with another policy; plan again with this one"
        )


def _first_difference(planned: Any, given: Any, path: FieldPath) -> tuple[FieldPath, Any, Any] | None:
    """The path and both values of the first difference; None if there is none."""
    if isinstance(planned, dict) and isinstance(given, dict):
        pairs = [(key, planned.get(key), given.get(key)) for key in dict.fromkeys((*planned, *given))]
    elif isinstance(planned, list) and isinstance(given, list):
        pairs = [(index, *pair) for index, pair in enumerate(zip_longest(planned, given))]
    else:
        return None if planned == given else (path, planned, given)
    found = (_first_difference(ours, theirs, (*path, key)) for key, ours, theirs in pairs)
    return next((each for each in found if each is not None), None)


def _shown(value: Any) -> str:
    return "not set" if value is None else excerpt(msgspec.json.encode(value).decode())


def _check_digest(content: bytes, name: str, digest: str) -> None:
    if not _DIGEST.fullmatch(digest):
        raise InputError(
            f"--digest: must be sha256: and 64 hexadecimal digits, as sha256sum prints them, not {excerpt(digest)}"
        )
    found = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if found != digest.lower():
        raise InputError(f"{name}: has the digest {found}, not the one of --digest: it is not the plan that was meant")


def _content(path: NamedFile) -> bytes:
    """A plan may be as large as it is, but it comes to an end."""
    if isinstance(path, NamedText):
        return path.content
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
