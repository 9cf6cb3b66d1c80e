"""The reference of the front door and of restow.plugins, from their docstrings.

``PYTHONPATH=tests python -m docs.python_reference`` writes the page again; a test holds it equal.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import restow
from restow import plugins

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
#: Characters of a line of code.
_WIDEST: Final = 100
_BREAK: Final = "\n    "
_HEAD: Final = """# Python

`import restow` offers clusters, plans, schedules, explanations and simulations as values ([a notebook](../../examples/notebooks/plan-a-cluster.ipynb)):

```python
import restow

cluster = restow.Cluster.read("cluster.json")
plan = cluster.plan("policy.yaml")
plan.moves, plan.refusals, plan.warnings
```

Warnings are returned, never printed. What cannot be used is a `restow.errors.InputError` in one sentence with file, object and field; an API server that does not answer is a `restow.errors.ClientError`. Every value has a `repr` that fits a screen, and shows itself in a notebook. `to_arrow()` returns a table that `polars.DataFrame`, `pyarrow.table` and `pandas.DataFrame.from_arrow` read. [What stays as it is](stability.md).

This page is made from the docstrings.
"""
_PLUGINS: Final = """## restow.plugins

What authors of strategies, goals, scheduler plugins, usage sources, outputs and kinds of groups import ([strategy](../how-to/write-a-strategy.md), [goal](../how-to/write-a-goal.md), [scheduler plugin](../how-to/write-a-scheduler-plugin.md), [usage source](../how-to/write-a-usage-source.md), [output](../how-to/write-an-output.md)).

| Name | What it is |
|---|---|
"""


def page() -> str:
    """The whole page."""
    classes = [name for name in restow.__all__ if inspect.isclass(getattr(restow, name))]
    parts = [_HEAD, *("".join(_class(name)) for name in classes), _PLUGINS + "".join(map(_plugin_row, plugins.__all__))]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _class(name: str) -> Iterator[str]:
    kind = getattr(restow, name)
    yield f"## {name}\n\n{_prose(kind)}\n\n"
    for field, comment in _fields(kind):
        yield f"* `{field}`: {comment}\n"
    for member, value in vars(kind).items():
        if not member.startswith("_") and isinstance(value, property | cached_property):
            yield f"* `{member}`: {_first(value)}\n"
    yield "\n"
    for member, value in vars(kind).items():
        if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, classmethod)):
            function = getattr(kind, member)
            yield f"### {name}.{member}\n\n```python\n{_signature(function)}\n```\n\n{_prose(function)}\n\n"


def _fields(kind: Any) -> Iterator[tuple[str, str]]:
    """The public fields of a dataclass, with the comment above each."""
    lines = inspect.getsource(kind).splitlines()
    for at, line in enumerate(lines):
        field = line.strip().partition(":")[0]
        if line.startswith("    ") and field in getattr(kind, "__annotations__", {}) and not field.startswith("_"):
            above = lines[at - 1].strip()
            yield field, above.removeprefix("#: ") if above.startswith("#: ") else ""


def _signature(function: Any) -> str:
    signature, kind = inspect.signature(function), "async def" if inspect.iscoroutinefunction(function) else "def"
    shown, is_named = [], False
    for each in signature.parameters.values():
        if each.name in {"self", "cls"}:
            continue
        if each.kind is each.KEYWORD_ONLY and not is_named:
            shown.append("*")
            is_named = True
        is_named = is_named or each.kind is each.VAR_POSITIONAL
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else f" = {each.default!r}"
        shown.append(f"{stars}{each.name}: {each.annotation}{default}")
    head, end = f"{kind} {function.__name__}(", f") -> {signature.return_annotation}"
    line = f"{head}{', '.join(shown)}{end}"
    return line if len(line) <= _WIDEST else f"{head}\n    {f',{_BREAK}'.join(shown)},\n{end}"


def _prose(documented: Any) -> str:
    return inspect.cleandoc(inspect.getdoc(documented) or "").replace("``", "`")


def _first(documented: Any) -> str:
    return _prose(documented).partition("\n\n")[0].replace("\n", " ")


def _plugin_row(name: str) -> str:
    value = getattr(plugins, name)
    own = inspect.isclass(value) or inspect.isfunction(value)
    said = _first(value) if own and typing.get_origin(value) is None else _DATA[name]
    return f"| `{name}` | {said} |\n"


#: Names that are no classes and no functions, and so have no docstring.
_DATA: Final = {
    "BoolArray": "An array of booleans.",
    "IntArray": "An array of whole numbers: pods and nodes are indices.",
    "PROCEED": "The answer of `prefilter` that lets the filters run.",
    "SKIP": "The answer of `prefilter` that skips the plugin for a pod.",
    "Sample": "Node, seconds since the epoch, value.",
    "Scores": "An array of whole numbers, one for each node.",
    "Suggestions": "What a strategy's generator yields and is sent: suggestions or proposals, and verdicts.",
}

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
