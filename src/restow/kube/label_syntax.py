"""What label keys, label values and requirements on them may look like.

A key is a name with an optional DNS subdomain before a slash; a value is a name or empty; a requirement has as many
values as its operator takes. Source: ``api/validate/content`` and ``labels.NewRequirement``, apimachinery 0.36, whose
texts these are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from restow.kube.field_errors import child, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]

_LONGEST_NAME = 63
_LONGEST_SUBDOMAIN = 253

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = f"{_DNS_LABEL}(\\.{_DNS_LABEL})*"

_NAME_PATTERN = re.compile(_NAME)
_VALUE_PATTERN = re.compile(_VALUE)
_SUBDOMAIN_PATTERN = re.compile(_SUBDOMAIN)

_CHARACTERS = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_RULE = f"must {_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
_VALUE_RULE = (
    f"a valid label must be an empty string or {_CHARACTERS} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_KEY_RULE = f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"

_INTEGER = re.compile(r"[+-]?[0-9]+")
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_INT64 = range(-(2**63), 2**63)
#: Of the largest int64. Python refuses to read thousands of digits at all.
_MOST_DIGITS = 19


def key_problems(key: str) -> list[str]:
    """What is wrong with a label key; empty if it is valid."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [_KEY_RULE]
    problems = [f"prefix part {problem}" for problem in _prefix_problems(prefix)] if slash else []
    return problems + [f"name part {problem}" for problem in _name_problems(name)]


def value_problems(value: str) -> list[str]:
    """What is wrong with a label value; empty if it is valid."""
    problems = _length_problems(value, _LONGEST_NAME)
    if _VALUE_PATTERN.fullmatch(value) is None:
        problems.append(_VALUE_RULE)
    return problems


def requirement_problems(key: str, operator: Operator, values: Sequence[str] | None, path: str = "") -> list[str]:
    """Return apimachinery's errors in a requirement at ``path``; empty when there are none."""
    problems = []
    wrong = key_problems(key)
    if wrong:
        problems.append(invalid(child(path, "key"), key, "; ".join(wrong)))
    values_path = child(path, "values")
    problems += _count_problems(operator, values, values_path)
    for index, value in enumerate(values or ()):
        wrong = value_problems(value)
        if wrong:
            problems.append(invalid(f"{values_path}[{index}][{key}]", value, "; ".join(wrong)))
    return problems


def _count_problems(operator: Operator, values: Sequence[str] | None, path: str) -> list[str]:
    match operator:
        case "In" | "NotIn":
            rule = None if values else "for 'in', 'notin' operators, values set can't be empty"
        case "Exists" | "DoesNotExist":
            rule = "values set must be empty for exists and does not exist" if values else None
        case "Gt" | "Lt":
            return _comparison_problems(values, path)
    return [] if rule is None else [invalid(path, values, rule)]


def _comparison_problems(values: Sequence[str] | None, path: str) -> list[str]:
    problems = []
    if values is None or len(values) != 1:
        problems.append(invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required"))
    for index, value in enumerate(values or ()):
        if parse_integer(value) is None:
            problems.append(
                invalid(f"{path}[{index}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
            )
    return problems


def _prefix_problems(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    problems = _length_problems(prefix, _LONGEST_SUBDOMAIN)
    if _SUBDOMAIN_PATTERN.fullmatch(prefix) is None:
        problems.append(_SUBDOMAIN_RULE)
    return problems


def _name_problems(name: str) -> list[str]:
    problems = _length_problems(name, _LONGEST_NAME) if name else ["must be non-empty"]
    if _NAME_PATTERN.fullmatch(name) is None:
        problems.append(_NAME_RULE)
    return problems


def _length_problems(text: str, longest: int) -> list[str]:
    return [f"must be no more than {longest} bytes"] if len(text.encode()) > longest else []


def parse_integer(text: str) -> int | None:
    """Read an int64 as ``strconv.ParseInt`` does (signs and leading zeros allowed); None for anything else."""
    return _int64(text) if _INTEGER.fullmatch(text) else None


def parse_canonical_integer(text: str) -> int | None:
    """Read an int64 that has no plus sign and no leading zero; None for anything else.

    Source: ``IsDecimalInteger``, apimachinery 0.36.
    """
    return _int64(text) if _CANONICAL_INTEGER.fullmatch(text) else None


def _int64(text: str) -> int | None:
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _MOST_DIGITS:
        return None
    number = int(digits or "0") * (-1 if text.startswith("-") else 1)
    return number if number in _INT64 else None
