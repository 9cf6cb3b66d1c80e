"""What is wrong with one field of a plugin's arguments, in the words of Kubernetes' field errors."""

from __future__ import annotations

from collections.abc import Iterable

from restow.documents.findings import Issue, Path
from restow.kube import field_errors
from restow.kube.excerpts import excerpt
from restow.kube.label_syntax import key_problems


def invalid(path: Path, value: str | int, detail: str) -> Issue:
    """``Invalid value: 7: detail``."""
    shown = field_errors.quote(value) if isinstance(value, str) else excerpt(value)
    return Issue(path, f"Invalid value: {shown}: {detail}")


def required(path: Path, detail: str) -> Issue:
    """``Required value: detail``."""
    return Issue(path, f"Required value: {detail}")


def forbidden(path: Path, detail: str) -> Issue:
    """``Forbidden: detail``."""
    return Issue(path, f"Forbidden: {detail}")


def duplicate(path: Path, value: str) -> Issue:
    """``Duplicate value: "x"``."""
    return Issue(path, f"Duplicate value: {field_errors.quote(value)}")


def not_supported(path: Path, value: str, supported: Iterable[str]) -> Issue:
    """``Unsupported value: "x": supported values: "a", "b"``."""
    return Issue(path, field_errors.not_supported("", value, supported).removeprefix(": "))


def out_of_range(path: Path, value: int, lowest: int, highest: int) -> list[Issue]:
    """Empty for a value from the lowest to the highest."""
    if lowest <= value <= highest:
        return []
    return [invalid(path, value, f"not in valid range [{lowest}, {highest}]")]


def not_a_label(path: Path, name: str) -> list[Issue]:
    """Empty for what could be the key of a label."""
    return [invalid(path, name, problem) for problem in key_problems(name)]
