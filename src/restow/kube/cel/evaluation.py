"""From the tree of an expression to nested Python functions, which answer for one scope of variables.

``&&`` and ``||`` take errors as unknown: where another operand decides, there is no error. Macros (``has``, ``all``,
``exists``, ``map`` ...) bind a variable; what they do is counted, so that no expression runs for long. Source: CEL's
specification; cel-go, as Kubernetes 1.36 uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from restow.kube.cel.errors import EvaluationError, UnsupportedError
from restow.kube.cel.functions import FUNCTIONS, LARGEST_VALUE, METHODS, OPERATORS, TOO_LARGE
from restow.kube.cel.parsing import Index, Invocation, ListOf, Literal, MapOf, Name, Node, Select, parse
from restow.kube.cel.values import NONE, Optional

#: Steps of macros that one evaluation may take.
MOST_STEPS: Final = 20_000
#: Longer texts are no selectors. Source: CELSelectorExpressionMaxLength, Kubernetes 1.36.
LONGEST_TEXT: Final = 10 * 1024
#: Functions of these are written like methods.
_NAMESPACES: Final = frozenset({"optional", "sets"})
#: Where the scope counts the steps.
_STEPS: Final = ""

Scope = dict[str, Any]
Step = Callable[[Scope], Any]


class Expression:
    """A compiled expression."""

    def __init__(self, text: str, step: Step) -> None:
        self.text = text
        self._step = step

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """The value; EvaluationError where it has none, UnsupportedError where that is not known here."""
        try:
            return self._step({**variables, _STEPS: [MOST_STEPS]})
        except RecursionError:
            raise UnsupportedError("the expression is too deep") from None


def compile_expression(text: str) -> Expression:
    """Read an expression; UnsupportedError says what of it is not known."""
    if len(text) > LONGEST_TEXT:
        raise UnsupportedError(f"the expression is longer than {LONGEST_TEXT} characters")
    try:
        return Expression(text, _compile(parse(text)))
    except RecursionError:
        raise UnsupportedError("the expression is too deep") from None


def _compile(node: Node) -> Step:
    match node:
        case Literal(value):
            return lambda _scope: value
        case Name(name):
            return partial(_variable, name)
        case Select(target, field, is_optional):
            return partial(_selected, _compile(target), field, is_optional)
        case Index(target, key, is_optional):
            return partial(_indexed, _compile(target), _compile(key), is_optional)
        case Invocation():
            return _compile_call(node)
    return _compile_container(node)


def _compile_container(node: ListOf | MapOf) -> Step:
    if isinstance(node, ListOf):
        steps = [_compile(each) for each in node.items]
        return lambda scope: [step(scope) for step in steps]
    pairs = [(_compile(key), _compile(value)) for key, value in node.entries]
    return lambda scope: {key(scope): value(scope) for key, value in pairs}


def _compile_call(call: Invocation) -> Step:
    if call.target is None and call.function in _LOGIC:
        return partial(_LOGIC[call.function], [_compile(each) for each in call.arguments])
    if call.target is None and call.function == "has":
        return _compile_has(call)
    if call.target is not None and call.function in _MACROS and len(call.arguments) >= 2:
        return _compile_macro(call, call.target)
    if isinstance(call.target, Name) and (call.target.name, call.function) == ("cel", "bind"):
        return _compile_binding(call)
    function, arguments = _function(call)
    steps = [_compile(each) for each in arguments]
    return lambda scope: function(*[step(scope) for step in steps])


def _function(call: Invocation) -> tuple[Callable[..., Any], Sequence[Node]]:
    if call.target is None:
        found = OPERATORS.get(call.function) or FUNCTIONS.get(call.function)
        arguments: Sequence[Node] = call.arguments
    elif isinstance(call.target, Name) and call.target.name in _NAMESPACES:
        found, arguments = FUNCTIONS.get(f"{call.target.name}.{call.function}"), call.arguments
    else:
        found, arguments = METHODS.get(call.function), (call.target, *call.arguments)
    if found is None:
        raise UnsupportedError(f"the expression calls {call.function}, which restow does not know")
    return partial(_applied, found), arguments


def _applied(function: Callable[..., Any], *values: Any) -> Any:
    try:
        found = function(*values)
    except TypeError:
        raise EvaluationError("no such overload") from None
    if isinstance(found, str | list) and len(found) > LARGEST_VALUE:
        raise UnsupportedError(TOO_LARGE)
    return found


def _variable(name: str, scope: Scope) -> Any:
    if name not in scope:
        raise UnsupportedError(f"the expression names {name}, which restow does not know")
    return scope[name]


def _selected(target: Step, field: str, is_optional: bool, scope: Scope) -> Any:  # noqa: FBT001  bound by partial
    return _entry(target(scope), field, is_optional=is_optional)


def _indexed(target: Step, key: Step, is_optional: bool, scope: Scope) -> Any:  # noqa: FBT001  bound by partial
    return _entry(target(scope), key(scope), is_optional=is_optional)


def _entry(container: Any, key: Any, *, is_optional: bool) -> Any:
    """A field, or an entry of a map or a list; through an optional value the answer is one."""
    if isinstance(container, Optional):
        return _entry(container.value, key, is_optional=True) if container.is_present else NONE
    if not is_optional:
        return _found(container, key)
    try:
        return Optional(_found(container, key), is_present=True)
    except EvaluationError:
        return NONE


def _found(container: Any, key: Any) -> Any:
    if isinstance(container, dict) and isinstance(key, str | int):
        try:
            return container[key]
        except KeyError:
            raise EvaluationError(f"no such key: {key}") from None
    if isinstance(container, list) and type(key) is int:
        if 0 <= key < len(container):
            return container[key]
        raise EvaluationError(f"index out of bounds: {key}")
    raise EvaluationError("no such overload")


def _all(steps: Sequence[Step], scope: Scope) -> bool:
    return _decided(steps, scope, by=False)


def _any(steps: Sequence[Step], scope: Scope) -> bool:
    return _decided(steps, scope, by=True)


def _decided(steps: Sequence[Step], scope: Scope, *, by: bool) -> bool:
    """``by`` if one operand is that; an error of another one counts only where none is."""
    problem: EvaluationError | None = None
    for step in steps:
        try:
            if _truth(partial(step, scope)) is by:
                return by
        except EvaluationError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return not by


def _chosen(steps: Sequence[Step], scope: Scope) -> Any:
    return steps[1 if _truth(partial(steps[0], scope)) else 2](scope)


_LOGIC: Final[Mapping[str, Callable[[Sequence[Step], Scope], Any]]] = {"&&": _all, "||": _any, "?:": _chosen}


def _compile_has(call: Invocation) -> Step:
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], Select):
        raise UnsupportedError("the expression has has() of something other than a field")
    target, field = _compile(call.arguments[0].target), call.arguments[0].field

    def has(scope: Scope) -> bool:
        container = target(scope)
        if isinstance(container, Optional):
            container = container.value if container.is_present else {}
        if not isinstance(container, dict):
            raise EvaluationError("no such overload")
        return field in container

    return has


def _compile_binding(call: Invocation) -> Step:
    match call.arguments:
        case Name(name), value, body:
            found, inner = _compile(value), _compile(body)
            return lambda scope: inner({**scope, name: found(scope)})
    raise UnsupportedError("the expression has cel.bind() without a name")


def _compile_macro(call: Invocation, target: Node) -> Step:
    if len(call.arguments) != 2 or not isinstance(call.arguments[0], Name):
        raise UnsupportedError(f"the expression has {call.function}() with variables that restow does not know")
    container, body, name = _compile(target), _compile(call.arguments[1]), call.arguments[0].name
    fold = _MACROS[call.function]
    return lambda scope: fold([(each, partial(body, inner)) for each, inner in _bound(container, name, scope)])


def _bound(container: Step, name: str, scope: Scope) -> Iterator[tuple[Any, Scope]]:
    values = container(scope)
    if not isinstance(values, list | dict):
        raise EvaluationError("no such overload")
    for each in values:
        scope[_STEPS][0] -= 1
        if scope[_STEPS][0] < 0:
            raise UnsupportedError(f"the expression takes more than {MOST_STEPS} steps")
        yield each, {**scope, name: each}


#: The values of a list, each with what the body of a macro says of it.
_Elements = list[tuple[Any, Callable[[], Any]]]


def _decisions(elements: _Elements) -> list[Step]:
    return [lambda _scope, answer=answer: answer() for _, answer in elements]  # type: ignore[misc]


def _truth(answer: Callable[[], Any]) -> bool:
    value = answer()
    if not isinstance(value, bool):
        raise EvaluationError("no such overload")
    return value


_MACROS: Final[Mapping[str, Callable[[_Elements], Any]]] = {
    "all": lambda elements: _decided(_decisions(elements), {}, by=False),
    "exists": lambda elements: _decided(_decisions(elements), {}, by=True),
    "exists_one": lambda elements: sum(_truth(answer) for _, answer in elements) == 1,
    "filter": lambda elements: [each for each, answer in elements if _truth(answer)],
    "map": lambda elements: [answer() for _, answer in elements],
}
