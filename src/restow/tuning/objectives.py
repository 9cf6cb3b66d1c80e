"""What a search is to make small: a formula of the numbers of a future, such as ``evictions + 0.1 * belowSeconds``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from restow.errors import InputError
from restow.kube.excerpts import did_you_mean, excerpt
from restow.simulating.scenarios.running import Future

#: The numbers that a formula may use, by the names that documents have for them: for all of them, less is better.
_FIELDS: Final = {
    name: attribute
    for name, attribute in zip(Future.__struct_encode_fields__, Future.__struct_fields__, strict=True)
    if attribute != "seed"
}
_BINARY: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
#: Characters of a formula at most.
_LONGEST: Final = 500


@dataclass(slots=True, frozen=True)
class TuningObjective:
    """A formula; less is better."""

    text: str
    _formula: ast.expr

    def of(self, future: Future, seconds: float) -> float:
        """Return its value of a future, which is ``seconds`` long; one that was never quiet counts as quiet at the end."""
        return round(_value(self._formula, future, seconds), 6)


def read_objective(text: str) -> TuningObjective:
    """Return the objective of a formula; InputError where it is none."""
    where = f"--objective {excerpt(text)}"
    try:
        formula = ast.parse(text[: _LONGEST + 1].strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise InputError(f"{where}: is no formula; write one such as evictions + 0.1 * belowSeconds") from error
    if len(text) > _LONGEST:
        raise InputError(f"{where}: has more than {_LONGEST} characters")
    names = set(_names(formula, where))
    if not names:
        raise InputError(f"{where}: uses none of {', '.join(_FIELDS)}")
    return TuningObjective(text.strip(), formula)


def _names(formula: ast.expr, where: str) -> list[str]:
    """The names in a formula; InputError for anything but names, numbers, + - * / and brackets."""
    match formula:
        case ast.Name(id=name):
            if name not in _FIELDS:
                hint = did_you_mean(name, _FIELDS) or f"there are {', '.join(_FIELDS)}"
                raise InputError(f"{where}: {excerpt(name)} is no number of a future; {hint}")
            return [name]
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and abs(value) <= 1e15:
            return []
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _names(operand, where)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return _names(left, where) + _names(right, where)
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=int() | float() as value)) if value:
            return _names(left, where)
    raise InputError(f"{where}: may have names, numbers, +, -, *, brackets, and / before a number other than 0")


def _value(formula: ast.expr, future: Future, seconds: float) -> float:
    match formula:
        case ast.Name(id=name):
            found = getattr(future, _FIELDS[name])
            return seconds if found is None else float(found)
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=sign, operand=operand):
            return _value(operand, future, seconds) * (-1 if isinstance(sign, ast.USub) else 1)
        case ast.BinOp(left=left, op=kind, right=right):
            return _BINARY[type(kind)](_value(left, future, seconds), _value(right, future, seconds))
    raise AssertionError(formula)
