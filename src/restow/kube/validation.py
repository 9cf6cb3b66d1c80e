"""Kubernetes' validation of fields: its rules for labels and requirements, and the texts of its errors.

Policies that Kubernetes code refuses are answered with its own sentences, so that what people searched and found about
them stays true. A label key is a name with an optional DNS subdomain before a slash; a value is a name or empty; a
requirement has as many values as its operator takes. Sources: ``util/validation/field``, ``util/errors``,
``api/validate/content`` and ``labels.NewRequirement``, apimachinery 0.36.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

from restow.kube.excerpts import excerpt
from restow.kube.numbers import parse_integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}
#: What Go's JSON encoder escapes beyond Python's.
_JSON_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def invalid(path: str, value: str | Sequence[str] | None, detail: str) -> str:
    """``path: Invalid value: "x": detail``; a list of values is shown as JSON, None as ``null``."""
    shown = quote(value) if isinstance(value, str) else _json(value)
    return f"{path}: Invalid value: {shown}: {detail}"


def not_supported(path: str, value: str, supported: Iterable[str]) -> str:
    """``path: Unsupported value: "x": supported values: "a", "b"``."""
    return f"{path}: Unsupported value: {_json(value)}: supported values: {', '.join(map(quote, supported))}"


def aggregate(messages: Iterable[str]) -> str:
    """Several messages as one: repeats are dropped, and two or more stand in brackets."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def child(path: str, name: str) -> str:
    """Return the path of a field of the object at ``path``; the root has the empty path."""
    return f"{path}.{name}" if path else name


def quote(text: str) -> str:
    """Return a Go string literal (``%q``) of the text's excerpt."""
    return f'"{"".join(map(_escape, excerpt(text)))}"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json(value: str | Sequence[str] | None) -> str:
    short = excerpt(value) if isinstance(value, str) else value
    text = json.dumps(short, ensure_ascii=False, separators=(",", ":")).translate(_JSON_ESCAPES)
    return text if isinstance(value, str) else excerpt(text)


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
