"""What was found in files that people write: policies and scenarios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from restow.application.named_files import file_bytes, file_name
from restow.descheduling.registry import plugins
from restow.descheduling.usage_sources import usage_schemas
from restow.documents.findings import DocumentError, Finding, Severity
from restow.errors import InputError
from restow.installed_packages import UnusablePackageError
from restow.sources.reading import STDIN

#: Returns what there is to say of a file, given its text and name; or raises InputError.
Check = Callable[[bytes, str], list[Finding]]


@dataclass(slots=True, frozen=True)
class CheckedFiles:
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
    from restow.policies.load import validate_strictly

    return check_files(paths, partial(validate_strictly, plugins=plugins(), sources=usage_schemas()), "policy")


def lint_policies(paths: Sequence[str]) -> CheckedFiles:
    """Find what in policies is refused, ignored or probably a mistake; InputError without files."""
    from restow.policies.lint import lint_policy

    return check_files(paths, partial(lint_policy, plugins=plugins(), sources=usage_schemas()), "policy")


def check_scenarios(paths: Sequence[str]) -> CheckedFiles:
    """Find what in scenarios cannot be used, or does not do what it says; InputError without files."""
    from restow.simulating.scenarios.reading import check_file

    return check_files(paths, check_file, "scenario")


def check_files(paths: Sequence[str], check: Check, what: str) -> CheckedFiles:
    """Check every file, which is a ``what``; one that cannot be read is a finding too. InputError without files."""
    if not paths:
        raise InputError(f"say which {what}: a file, several, or - for standard input")
    if paths.count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    unique = tuple(dict.fromkeys(paths))
    findings = [finding for path in unique for finding in _check_file(path, check)]
    return CheckedFiles(tuple(map(file_name, unique)), tuple(findings))


def _check_file(path: str, check: Check) -> list[Finding]:
    try:
        return check(file_bytes(path), file_name(path))
    except DocumentError as error:
        return list(error.findings)
    except UnusablePackageError:
        raise
    except InputError as error:
        message = str(error).removeprefix(f"{file_name(path)}: ")
        return [Finding(file_name(path), 1, "error", "", message)]
