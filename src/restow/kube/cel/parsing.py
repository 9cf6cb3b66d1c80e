"""From the text of an expression to a tree.

Precedence, from the loosest: ``?:``, ``||``, ``&&``, comparisons and ``in``, ``+ -``, ``* / %``, ``! -``, and what follows a
value: fields, indices, calls. Source: CEL's grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct

from restow.kube.cel.errors import UnsupportedError

#: How deep parentheses, calls and indices may be nested, and how long a chain of operators or fields may be: what is deeper
#: could not be evaluated on a usual stack. cel-go stops at 250.
DEEPEST: Final = 40
LONGEST: Final = 100

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<text>[rR]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<integer>0x[0-9a-fA-F]+|[0-9]+)(?![uU0-9a-zA-Z_])
    |(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<sign>\|\||&&|<=|>=|==|!=|\[\?|[-+*/%!?:.,(){}\[\]<>])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)
_SIMPLE: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
#: By precedence, the loosest first.
_BINARY: Final = (("<", "<=", ">", ">=", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


class Token(NamedTuple):
    """A piece of text."""

    kind: str
    text: str


class Literal(Struct, frozen=True):
    """A value that is written down."""

    value: Any


class Name(Struct, frozen=True):
    """A variable."""

    name: str


class Select(Struct, frozen=True):
    """``target.field``; ``target.?field`` where it is optional."""

    target: Node
    field: str
    is_optional: bool = False


class Index(Struct, frozen=True):
    """``target[key]``; ``target[?key]`` where it is optional."""

    target: Node
    key: Node
    is_optional: bool = False


class Invocation(Struct, frozen=True):
    """A function, or a method of a target; operators and ``?:`` are functions named like themselves."""

    function: str
    target: Node | None
    arguments: tuple[Node, ...]


class ListOf(Struct, frozen=True):
    """``[a, b]``."""

    items: tuple[Node, ...]


class MapOf(Struct, frozen=True):
    """``{a: b}``."""

    entries: tuple[tuple[Node, Node], ...]


Node = Literal | Name | Select | Index | Invocation | ListOf | MapOf


def parse(text: str) -> Node:
    """The tree of an expression; UnsupportedError if it has none."""
    parser = _Parser(_tokens(text))
    found = parser.ternary()
    parser.expect("end")
    return found


def _tokens(text: str) -> list[Token]:
    found, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise UnsupportedError(f"the expression cannot be read at {text[position : position + 20]!r}")
        position = match.end()
        if match.lastgroup != "space":
            found.append(Token(match.lastgroup or "", match[0]))
    return [*found, Token("end", "")]


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def ternary(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UnsupportedError(f"the expression is nested more than {DEEPEST} deep")
        condition = self._logical("||")
        if self._take("?"):
            then = self._logical("||")
            self.expect(":")
            condition = Invocation("?:", None, (condition, then, self.ternary()))
        self._depth -= 1
        return condition

    def expect(self, text: str) -> None:
        token = self._tokens[self._at]
        if text not in (token.text, token.kind):
            raise UnsupportedError(f"the expression has {token.text or 'an end'} where {text} should be")
        self._at += 1

    def _take(self, *texts: str) -> str:
        token = self._tokens[self._at]
        if token.text in texts and token.kind in ("sign", "name"):
            self._at += 1
            return token.text
        return ""

    def _logical(self, sign: str) -> Node:
        """Operands of ``&&`` or ``||``, as one call for any number of them."""

        def inner() -> Node:
            return self._logical("&&") if sign == "||" else self._binary(0)

        operands = [inner()]
        while self._take(sign):
            operands.append(inner())
        return operands[0] if len(operands) == 1 else Invocation(sign, None, tuple(operands))

    def _binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self._unary()
        left, length = self._binary(level + 1), 0
        while sign := self._take(*_BINARY[level]):
            left = Invocation(sign, None, (left, self._binary(level + 1)))
            length = _counted(length)
        return left

    def _unary(self) -> Node:
        signs = []
        while sign := self._take("!", "-"):
            signs.append(sign)
        token = self._tokens[self._at]
        if signs and signs[-1] == "-" and token.kind in ("integer", "double"):
            signs.pop()
            self._tokens[self._at] = Token(token.kind, f"-{token.text}")
        found = self._member(self._primary())
        length = 0
        for sign in reversed(signs):
            found = Invocation("!" if sign == "!" else "negate", None, (found,))
            length = _counted(length)
        return found

    def _member(self, found: Node) -> Node:
        length = 0
        while sign := self._take(".", "[", "[?"):
            if sign.startswith("["):
                found = Index(found, self.ternary(), sign == "[?")
                self.expect("]")
            else:
                found = self._field(found, is_optional=self._take("?") == "?")
            length = _counted(length)
        return found

    def _field(self, target: Node, *, is_optional: bool) -> Node:
        name = self._name()
        if self._take("("):
            return Invocation(name, target, self._items(")"))
        return Select(target, name, is_optional)

    def _name(self) -> str:
        token = self._tokens[self._at]
        self.expect("name")
        return token.text

    def _primary(self) -> Node:
        token = self._tokens[self._at]
        self._at += 1
        literal = _LITERALS.get(token.kind)
        if literal is not None:
            return Literal(literal(token.text))
        match token.kind, token.text:
            case "name", text if text in _CONSTANTS:
                return Literal(_CONSTANTS[text])
            case "name", text:
                return Invocation(text, None, self._items(")")) if self._take("(") else Name(text)
            case "sign", "(":
                found = self.ternary()
                self.expect(")")
                return found
            case "sign", "[":
                return ListOf(self._items("]"))
            case "sign", "{":
                return self._map()
        raise UnsupportedError(f"the expression has {token.text or 'an end'} where a value should be")

    def _items(self, end: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._take(end):
            found.append(self.ternary())
            if not self._take(","):
                self.expect(end)
                break
        return tuple(found)

    def _map(self) -> Node:
        found: list[tuple[Node, Node]] = []
        while not self._take("}"):
            key = self.ternary()
            self.expect(":")
            found.append((key, self.ternary()))
            if not self._take(","):
                self.expect("}")
                break
        return MapOf(tuple(found))


def _counted(length: int) -> int:
    if length >= LONGEST:
        raise UnsupportedError(f"the expression has a chain of more than {LONGEST} operators or fields")
    return length + 1


def _unquoted(text: str) -> str:
    is_raw = text[0] in "rR"
    text = text[1:] if is_raw else text
    quotes = 3 if text[:3] in ('"""', "'''") else 1
    inside = text[quotes:-quotes]
    if is_raw:
        return inside
    if "\\" in _ESCAPE.sub("", inside):
        raise UnsupportedError("the expression has an escape that means nothing")
    return _ESCAPE.sub(_unescaped, inside)


def _unescaped(match: re.Match[str]) -> str:
    simple, *codes, octal = match.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    if octal is not None:
        return chr(int(octal, 8))
    code = int(next(each for each in codes if each is not None), 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise UnsupportedError("the expression has an escape that is no character")
    return chr(code)


_LITERALS: Final[Mapping[str, Callable[[str], Any]]] = {
    "text": _unquoted,
    "integer": lambda text: int(text, 16 if "0x" in text else 10),
    "double": float,
}
