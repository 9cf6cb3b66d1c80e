"""Documents: ``-o json``, byte for byte the same for the same plan, and ``-o yaml``, which has the same fields in the same order.

Fields have a stable order, fractions and seconds four digits. No character that a terminal would obey is written as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET, structs

from restow.documents.yaml_text import write_yaml
from restow.plain_text import printable_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.plan import OutputMetadata, PlanDocument, ResourceLoad, Utilisation
    from restow.explaining.explanation import NodeExplanation, PodExplanation
    from restow.reporting.forms import Report


_DIGITS: Final = 4
#: The one character of ASCII that JSON leaves as it is and that does not print.
_DELETE: Final = b"\x7f"

#: What every document begins with.
_HEAD = ("apiVersion", "kind", "metadata")


def form(report: Report) -> Iterator[bytes]:
    """Render ``-o json``."""
    return render_json(report.plan)


def render_json(plan: PlanDocument) -> Iterator[bytes]:
    """Yield the document, indented by two spaces, with a final newline, in pieces: a large plan is a gigabyte."""
    between = b"{"
    for name, value in document(plan).items():
        yield b'%s\n  "%s": ' % (between, name.encode())
        if isinstance(value, tuple) and value:
            yield from _items(value)
        else:
            yield _indented(value, b"  ")
        between = b","
    yield b"\n}\n"


def compact_json(value: object) -> bytes:
    """Return any document without white space, and without a character that a terminal would obey."""
    return _shown(msgspec.json.encode(value))


def indented_json(value: object) -> bytes:
    """Return any document indented by two spaces, without a character that a terminal would obey."""
    return _shown(msgspec.json.format(msgspec.json.encode(value), indent=2))


def _shown(encoded: bytes) -> bytes:
    if encoded.isascii() and _DELETE not in encoded:
        return encoded
    return printable_json(encoded.decode()).encode()


def document(plan: PlanDocument) -> dict[str, object]:
    """Return the plan's top-level fields in the order in which people read them; fractions and seconds have four digits."""
    fence = {} if plan.fence is None else {"fence": plan.fence}
    usage = {"usage": plan.usage} if plan.usage else {}
    goals = {"goals": plan.goals} if plan.goals else {}
    return {
        "apiVersion": plan.api_version,
        "kind": plan.kind,
        "metadata": _rounded_metadata(plan.metadata),
        **fence,
        **goals,
        "moves": plan.moves,
        "refusals": plan.refusals,
        "summary": structs.replace(plan.summary, utilisation=_rounded_utilisation(plan.summary.utilisation)),
        "problems": plan.problems,
        "notes": plan.notes,
        **usage,
        "policy": plan.policy,
        "schedulerConfiguration": plan.scheduler_configuration,
    }


def _items(values: Sequence[object]) -> Iterator[bytes]:
    between = b"["
    for value in values:
        yield between + b"\n    " + _indented(value, b"    ")
        between = b","
    yield b"\n  ]"


def _indented(value: object, margin: bytes) -> bytes:
    """A value over several lines, all but the first with a margin; line feeds in strings are escaped."""
    return indented_json(value).replace(b"\n", b"\n" + margin)


def _rounded_metadata(metadata: OutputMetadata) -> OutputMetadata:
    if metadata.timings is UNSET:
        return metadata
    return structs.replace(metadata, timings={name: round(each, _DIGITS) for name, each in metadata.timings.items()})


def _rounded_utilisation(load: Utilisation) -> Utilisation:
    return structs.replace(load, before=_rounded_loads(load.before), after=_rounded_loads(load.after))


def _rounded_loads(loads: dict[str, ResourceLoad]) -> dict[str, ResourceLoad]:
    return {name: _rounded_load(each) for name, each in loads.items()}


def _rounded_load(load: ResourceLoad) -> ResourceLoad:
    return structs.replace(
        load, max=round(load.max, _DIGITS), mean=round(load.mean, _DIGITS), spread=round(load.spread, _DIGITS)
    )


def render_explanation(explanation: PodExplanation | NodeExplanation) -> bytes:
    """Return the document, indented by two spaces, with a final newline."""
    fields = msgspec.to_builtins(explanation)
    ordered = {name: fields[name] for name in (*_HEAD, *(name for name in fields if name not in _HEAD))}
    return indented_json(ordered) + b"\n"


def yaml_form(report: Report) -> tuple[bytes]:
    """Render ``-o yaml``."""
    return (render_yaml(report.plan).encode(),)


def render_yaml(plan: PlanDocument) -> str:
    """Return the same fields in the same order as `render_json`, with a final newline."""
    return write_yaml(msgspec.to_builtins(document(plan)))
