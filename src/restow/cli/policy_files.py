"""The policy of a command: the file that was named, or the bundled default."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.resources import files

from restow.cli.named_files import file_bytes, file_name
from restow.descheduling.registry import plugins
from restow.documents.document import Document
from restow.policies.enclosed import read_policy_document
from restow.policies.fallbacks import Fallbacks, with_fallbacks
from restow.policies.load import LoadedPolicy, load_document
from restow.policies.understood import understood
from restow.reporting.report import PolicyView

#: Part of the package; examples/policies/default.yaml is the same file.
BUNDLED = "default-policy.yaml"


@dataclass(slots=True, frozen=True)
class PolicyFile:
    """A policy and where it came from."""

    name: str
    bundled: bool
    document: Document
    loaded: LoadedPolicy


def read_policy_file(path: str | None, fallbacks: Fallbacks) -> PolicyFile:
    """The policy at a path, or the bundled one; InputError where it cannot be read or is refused."""
    text = files("restow.cli").joinpath(BUNDLED).read_bytes() if path is None else file_bytes(path)
    name = BUNDLED if path is None else file_name(path)
    document = with_fallbacks(read_policy_document(text, name), fallbacks)
    return PolicyFile(name, path is None, document, load_document(document, plugins()))


def policy_view(file: PolicyFile) -> PolicyView:
    """The policy as reports show it."""
    policy = file.loaded.policy
    descheduling = [name for profile in policy.profiles for name in profile.deschedule]
    balancing = [name for profile in policy.profiles for name in profile.balance]
    strategies = tuple(dict.fromkeys([*descheduling, *balancing]))
    return PolicyView(file.name, file.bundled, strategies, partial(understood, file.document, policy))
