"""What a command goes by: its policy and the configuration of the scheduler.

The policy is that of a file, the bundled default, or what a KubeDescheduler comes to in the cluster that is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files

from restow.application.named_files import NamedFile, file_bytes, file_name
from restow.descheduling.registry import plugins
from restow.descheduling.usage_sources import usage_schemas
from restow.documents.document import Document
from restow.documents.findings import Finding
from restow.policies.enclosed import read_policy_document
from restow.policies.fallbacks import Fallbacks, with_fallbacks
from restow.policies.load import LoadedPolicy, convert_policy, load_strictly
from restow.policies.schema import Plugins
from restow.policies.understood import understood
from restow.policies.usage_sources import UsageSources
from restow.reporting.report import PolicyView
from restow.scheduling.configuration.load import SchedulerConfiguration, load_scheduler_configuration
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE

#: Part of the package; examples/policies/default.yaml is the same file.
BUNDLED = "default-policy.yaml"


#: Makes a policy of a document: as upstream reads it, or strictly.
PolicyLoader = Callable[[Document, Plugins, UsageSources], LoadedPolicy]


@dataclass(slots=True, frozen=True)
class PolicyFile:
    """A policy and where it came from."""

    name: str
    bundled: bool
    document: Document
    loaded: LoadedPolicy


def read_policy_file(path: NamedFile | None, fallbacks: Fallbacks, load: PolicyLoader = load_strictly) -> PolicyFile:
    """The policy at a path, or the bundled one; InputError where it cannot be read or is refused."""
    text = files("restow.application").joinpath(BUNDLED).read_bytes() if path is None else file_bytes(path)
    name = BUNDLED if path is None else file_name(path)
    document = with_fallbacks(read_policy_document(text, name), fallbacks)
    return PolicyFile(name, path is None, document, load(document, plugins(), usage_schemas()))


def converted_policy(path: str) -> tuple[str, list[Finding]]:
    """The v1alpha2 policy that does what the file does, and what of it had no effect; InputError where it is refused."""
    return convert_policy(file_bytes(path), file_name(path), plugins(), usage_schemas())


def policy_view(file: PolicyFile) -> PolicyView:
    """The policy as reports show it."""
    policy = file.loaded.policy
    descheduling = [name for profile in policy.profiles for name in profile.deschedule]
    balancing = [name for profile in policy.profiles for name in profile.balance]
    strategies = tuple(dict.fromkeys([*descheduling, *balancing]))
    return PolicyView(file.name, file.bundled, strategies, partial(understood, file.document, policy))


def read_scheduler_config(path: NamedFile | None) -> SchedulerConfiguration:
    """The profiles of the file at a path, or the default one; InputError where it cannot be read or is refused."""
    if path is None:
        return SchedulerConfiguration((DEFAULT_PROFILE,))
    return load_scheduler_configuration(file_bytes(path), file_name(path))
