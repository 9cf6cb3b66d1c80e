"""What a command goes by, its policy and the configuration of the scheduler: read, checked and converted.

The policy is that of a file, the bundled default, or what a KubeDescheduler comes to in the cluster that is read. To check a file
is to collect findings about it, in the order of its lines; one that cannot be read has a finding, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files

from msgspec import Struct

from restow.application.files import NamedFile, check_read_once, file_bytes, file_name
from restow.descheduling.registry import plugins
from restow.documents.document import Document
from restow.documents.findings import DocumentError, Finding, Severity
from restow.errors import InputError
from restow.installed_packages import UnusablePackageError
from restow.policies.fallbacks import Fallbacks, with_fallbacks
from restow.policies.load import LoadedPolicy, convert_policy, load_strictly, read_policy_document, validate_strictly
from restow.policies.schema import Plugins
from restow.policies.understood import understood
from restow.reporting.forms import PolicyView
from restow.scheduling.configuration.load import SchedulerConfiguration, load_scheduler_configuration
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.usage.sources import UsageSources, usage_schemas

#: Part of the package; examples/policies/default.yaml is the same file.
BUNDLED = "default-policy.yaml"


#: Makes a policy of a document: as upstream reads it, or strictly.
PolicyLoader = Callable[[Document, Plugins, UsageSources], LoadedPolicy]


class PolicyFile(Struct, frozen=True):
    """A policy and where it came from."""

    name: str
    bundled: bool
    document: Document
    loaded: LoadedPolicy


def bundled_text() -> bytes:
    """The policy that comes with restow, as YAML in UTF-8."""
    return files("restow.application").joinpath(BUNDLED).read_bytes()


def read_policy_file(path: NamedFile | None, fallbacks: Fallbacks, load: PolicyLoader = load_strictly) -> PolicyFile:
    """The policy at a path, or the bundled one; InputError where it cannot be read or is refused."""
    text = bundled_text() if path is None else file_bytes(path)
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


#: Returns what there is to say of a file, given its text and name; or raises InputError.
Check = Callable[[bytes, str], list[Finding]]


class CheckedFiles(Struct, frozen=True):
    """The findings of some files."""

    files: tuple[str, ...]
    findings: tuple[Finding, ...]

    def has(self, severity: Severity) -> bool:
        """Whether there is a finding of this severity."""
        return any(each.severity == severity for each in self.findings)

    def of(self, file: str) -> list[Finding]:
        """Return what was found in one file."""
        return [each for each in self.findings if each.file == file]


def validate_policies(paths: Sequence[str]) -> CheckedFiles:
    """Find every error for which a policy is refused; InputError without files."""
    return check_files(paths, partial(validate_strictly, plugins=plugins(), sources=usage_schemas()), "policy")


def lint_policies(paths: Sequence[str]) -> CheckedFiles:
    """Find what in policies is refused, ignored or probably a mistake; InputError without files."""
    return check_files(paths, lint, "policy")


def lint(text: bytes, name: str) -> list[Finding]:
    """Find what in a policy is refused, ignored or probably a mistake; InputError where it cannot be read."""
    from restow.policies.lint import lint_policy

    return lint_policy(text, name, plugins(), usage_schemas())


def check_files(paths: Sequence[str], check: Check, what: str) -> CheckedFiles:
    """Check every file, which is a ``what``; one that cannot be read is a finding too. InputError without files."""
    if not paths:
        raise InputError(f"say which {what}: a file, several, or - for standard input")
    check_read_once(paths)
    unique = tuple(dict.fromkeys(paths))
    findings = [finding for path in unique for finding in check_file(path, check)]
    return CheckedFiles(tuple(map(file_name, unique)), tuple(findings))


def check_file(file: NamedFile, check: Check) -> list[Finding]:
    """Check a file; one that cannot be read is a finding too."""
    name = file_name(file)
    try:
        return check(file_bytes(file), name)
    except DocumentError as error:
        return list(error.findings)
    except UnusablePackageError:
        raise
    except InputError as error:
        return [Finding(name, 1, "error", "", str(error).removeprefix(f"{name}: "))]
