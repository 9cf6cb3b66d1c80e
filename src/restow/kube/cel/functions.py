"""Functions and methods of expressions: those of CEL, and of Kubernetes for quantities, versions, lists and sets.

A method gets its target as its first argument. A pattern for ``matches`` is read by Python's engine, which may need forever
for some; only patterns with few repetitions, none of them of a group, are known here.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from restow.kube.cel.errors import EvaluationError, UnsupportedError
from restow.kube.cel.values import NONE, Optional, Version, compare, equal, is_number, number, ordered, parse_version
from restow.kube.quantity import NANO_PER_UNIT, Quantity, parse_quantity

#: More repetitions, or a longer text, could make a pattern slow. An attribute has 64 characters at most.
_MOST_REPETITIONS: Final = 3
_LONGEST_MATCHED: Final = 100
_REPEATED_GROUP: Final = re.compile(r"(?<!\\)\)[*+?{]")
_BEYOND_RE2: Final = re.compile(r"\(\?[^:]|\\[0-9ABbDdGgkPpQSsWwXxZz]")
_LARGEST: Final = 2**63 - 1

#: Characters of a text, and values of a list, that a function may give: they could double at each step.
LARGEST_VALUE: Final = 20_000
TOO_LARGE: Final = f"the expression makes a text or a list of more than {LARGEST_VALUE:,}"

Function = Callable[..., Any]


def _no_overload(*_args: Any) -> Any:
    raise EvaluationError("no such overload")


def _on(*types: type) -> Callable[[Function], Function]:
    """A function whose arguments have these types; a bool is no int."""

    def typed(function: Function) -> Function:
        def checked(*args: Any) -> Any:
            if len(args) != len(types) or not all(map(_is, args, types)):
                raise EvaluationError("no such overload")
            return function(*args)

        return checked

    return typed


def _is(value: Any, kind: type) -> bool:
    return kind is object or (isinstance(value, kind) and not (kind is int and isinstance(value, bool)))


def _arithmetic(whole: Callable[[int, int], int], fraction: Callable[[float, float], float] | None) -> Function:
    def apply(left: Any, right: Any) -> Any:
        if type(left) is type(right) is int:
            return number(whole(left, right))
        if fraction is not None and type(left) is type(right) is float:
            return fraction(left, right)
        raise EvaluationError("no such overload")

    return apply


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return left - right * _divided(left, right)


def _fraction(left: float, right: float) -> float:
    if right:
        return left / right
    return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)


_SUM: Final = _arithmetic(operator.add, operator.add)


def _added(left: Any, right: Any) -> Any:
    if type(left) is type(right) and isinstance(left, str | list):
        return operator.add(left, right)
    return _SUM(left, right)


def _negated(value: Any) -> Any:
    return number(-value) if type(value) is int else -value if type(value) is float else _no_overload()


def _not(value: Any) -> bool:
    return not value if isinstance(value, bool) else _no_overload()


def _contains(wanted: Any, container: Any) -> bool:
    if isinstance(container, dict):
        return not isinstance(wanted, list | dict) and wanted in container
    if isinstance(container, list):
        return any(equal(wanted, each) for each in container)
    return bool(_no_overload())


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | list | dict) else int(_no_overload())


def _quantity(text: str) -> Quantity:
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from error


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def _as_quantity(value: Any) -> Quantity:
    if isinstance(value, Quantity):
        return value
    return Quantity(value * NANO_PER_UNIT) if type(value) is int else _no_overload()


def _added_quantity(left: Any, right: Any) -> Any:
    return Quantity(left.nano + _as_quantity(right).nano) if isinstance(left, Quantity) else _no_overload()


def _less_quantity(left: Any, right: Any) -> Any:
    return Quantity(left.nano - _as_quantity(right).nano) if isinstance(left, Quantity) else _no_overload()


def _whole(value: Quantity) -> int:
    units, rest = divmod(value.nano, NANO_PER_UNIT)
    if rest or abs(units) > _LARGEST:
        raise EvaluationError("cannot convert value to integer")
    return units


def _version(text: str) -> Version:
    found = parse_version(text)
    if found is None:
        raise EvaluationError(f"{text!r} is no semantic version")
    return found


def _compared(left: Any, right: Any) -> int:
    return ordered(left, right, Version if isinstance(left, Version) else Quantity)


def _int(value: Any) -> int:
    if isinstance(value, bool | list | dict | None):
        return int(_no_overload())
    try:
        return number(int(value))
    except (ValueError, OverflowError, TypeError) as error:
        raise EvaluationError("type conversion error") from error


def _double(value: Any) -> float:
    if not is_number(value) and not isinstance(value, str):
        return float(_no_overload())
    try:
        return float(value)
    except ValueError as error:
        raise EvaluationError("type conversion error") from error


def _string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else str(_no_overload())


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    repetitions = len(re.findall(r"(?<!\\)[*+{]", text))
    if repetitions > _MOST_REPETITIONS or _REPEATED_GROUP.search(text) or _BEYOND_RE2.search(text):
        raise UnsupportedError(f"the pattern {text!r} is more than restow matches")
    try:
        return re.compile(text)
    except (re.error, OverflowError) as error:
        raise UnsupportedError(f"the pattern {text!r} cannot be read: {error}") from error


def _matches(text: str, pattern: str) -> bool:
    if len(text) > _LONGEST_MATCHED:
        raise UnsupportedError(f"restow matches texts of {_LONGEST_MATCHED} characters at most")
    return _pattern(pattern).search(text) is not None


def _replaced(text: str, old: str, new: str) -> str:
    if text.count(old) * len(new) > LARGEST_VALUE:
        raise UnsupportedError(TOO_LARGE)
    return text.replace(old, new)


def _of_list(choose: Callable[[Any], Any]) -> Function:
    def apply(values: list[Any]) -> Any:
        if not values:
            raise EvaluationError("min/max called on empty list")
        found = values[0]
        for each in values[1:]:
            found = choose((found, each))
        return found

    return _on(list)(apply)


def _smaller(pair: tuple[Any, Any]) -> Any:
    return pair[1] if compare(*pair) > 0 else pair[0]


def _larger(pair: tuple[Any, Any]) -> Any:
    return pair[1] if compare(*pair) < 0 else pair[0]


def _total(values: list[Any]) -> Any:
    total: Any = 0 if not values or type(values[0]) is int else 0.0
    for each in values:
        total = _SUM(total, each)
    return total


def _index(values: Any, wanted: Any) -> int:
    if isinstance(values, str):
        return values.find(wanted) if isinstance(wanted, str) else int(_no_overload())
    if not isinstance(values, list):
        return int(_no_overload())
    return next((at for at, each in enumerate(values) if equal(each, wanted)), -1)


def _includes_all(values: list[Any], wanted: list[Any]) -> bool:
    return all(_contains(each, values) for each in wanted)


def _value(optional: Optional) -> Any:
    if not optional.is_present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


#: Operators, by the names that the parser gives them.
OPERATORS: Final[Mapping[str, Function]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
    "in": _contains,
    "+": _added,
    "-": _arithmetic(operator.sub, operator.sub),
    "*": _arithmetic(operator.mul, operator.mul),
    "/": _arithmetic(_divided, _fraction),
    "%": _arithmetic(_remainder, None),
    "negate": _negated,
    "!": _not,
}

FUNCTIONS: Final[Mapping[str, Function]] = {
    "size": _size,
    "dyn": lambda value: value,
    "int": _int,
    "double": _double,
    "string": _string,
    "quantity": _on(str)(_quantity),
    "isQuantity": _on(str)(_is_quantity),
    "semver": _on(str)(_version),
    "isSemver": _on(str)(lambda text: parse_version(text) is not None),
    "optional.of": lambda value: Optional(value, is_present=True),
    "optional.none": lambda: NONE,
    "sets.contains": _on(list, list)(_includes_all),
    "sets.equivalent": _on(list, list)(lambda one, other: _includes_all(one, other) and _includes_all(other, one)),
    "sets.intersects": _on(list, list)(lambda one, other: any(_contains(each, one) for each in other)),
}

METHODS: Final[Mapping[str, Function]] = {
    "size": _size,
    "startsWith": _on(str, str)(str.startswith),
    "endsWith": _on(str, str)(str.endswith),
    "contains": _on(str, str)(operator.contains),
    "matches": _on(str, str)(_matches),
    "lowerAscii": _on(str)(lambda text: "".join(each.lower() if each.isascii() else each for each in text)),
    "upperAscii": _on(str)(lambda text: "".join(each.upper() if each.isascii() else each for each in text)),
    "trim": _on(str)(str.strip),
    "replace": _on(str, str, str)(_replaced),
    "split": _on(str, str)(lambda text, by: list(text) if by == "" else text.split(by)),
    "indexOf": _index,
    "compareTo": _compared,
    "isLessThan": lambda left, right: _compared(left, right) < 0,
    "isGreaterThan": lambda left, right: _compared(left, right) > 0,
    "add": _added_quantity,
    "sub": _less_quantity,
    "sign": _on(Quantity)(lambda value: (value.nano > 0) - (value.nano < 0)),
    "asInteger": _on(Quantity)(_whole),
    "isInteger": _on(Quantity)(
        lambda value: value.nano % NANO_PER_UNIT == 0 and abs(value.nano) <= _LARGEST * NANO_PER_UNIT
    ),
    "major": _on(Version)(lambda version: version.release[0]),
    "minor": _on(Version)(lambda version: version.release[1]),
    "patch": _on(Version)(lambda version: version.release[2]),
    "sum": _on(list)(_total),
    "min": _of_list(_smaller),
    "max": _of_list(_larger),
    "hasValue": _on(Optional)(lambda optional: optional.is_present),
    "value": _on(Optional)(_value),
    "orValue": _on(Optional, object)(lambda optional, other: optional.value if optional.is_present else other),
    "or": _on(Optional, Optional)(lambda optional, other: optional if optional.is_present else other),
}
