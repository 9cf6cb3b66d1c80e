"""The forms of ``restow plan -o NAME``, and the report that each of them renders.

The plan is a wire struct that can be stored and compared; a report adds what only the run that made it knows: how full
each node is, where the input came from, and the policy as it was understood. To add a form: a function of a report and
one line here, or an entry point of the group ``restow.outputs`` in another package (``docs/how-to/write-an-output.md``).
A form is imported when it is asked for, so a broken one does no harm elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Final

from restow.installed_packages import FAULTS, installed, load, taken, unusable
from restow.kube.excerpts import described

if TYPE_CHECKING:
    from restow.descheduling.plan import NodeLoad, PlanDocument


@dataclass(slots=True, frozen=True)
class PolicyView:
    """The policy as it was understood."""

    #: The file's name, or the bundled policy's.
    name: str
    #: Whether it came with restow because the user named none.
    bundled: bool
    #: The enabled strategies, in the order in which they run.
    strategies: tuple[str, ...]
    #: Makes YAML with defaults filled in; lines with a default are marked (`restow.policies.understood`).
    text: Callable[[], str]


@dataclass(frozen=True)
class Report:
    """A plan with its context; ``notes`` are sentences for the reader that are no part of the plan."""

    plan: PlanDocument
    #: Makes `loads`, which not every form shows.
    count_loads: Callable[[], tuple[NodeLoad, ...]]
    #: Where the cluster came from, such as ``cluster.json, 0.1 s``.
    sources: str
    policy: PolicyView
    notes: tuple[str, ...] = ()
    #: Makes `requests`, which only pictures need.
    count_requests: Callable[[], tuple[dict[str, int], ...]] = tuple

    @cached_property
    def requests(self) -> tuple[dict[str, int], ...]:
        """What the pod of each move requests, in the units of `loads`; empty where that is not known."""
        return self.count_requests()

    @cached_property
    def loads(self) -> tuple[NodeLoad, ...]:
        """One for each node, in the canonical order (by name)."""
        return self.count_loads()


#: Gives text for a terminal, or a document in pieces, which is written as it is.
Form = Callable[[Report], str | Iterable[bytes]]
#: Other packages register a function under this entry point group, by the form's name: of a ``Report``, giving text.
ENTRY_POINTS: Final = "restow.outputs"

_BUILT_IN: Final = {
    "table": "restow.reporting.table:form",
    "wide": "restow.reporting.table:wide_form",
    "json": "restow.reporting.json:form",
    "yaml": "restow.reporting.json:yaml_form",
    "html": "restow.reporting.html.page:form",
    "markdown": "restow.reporting.markdown:form",
}


def form_names() -> tuple[str, ...]:
    """Every name of a form: restow's own, then those of installed packages in order."""
    return (*_BUILT_IN, *installed_names())


def installed_names() -> tuple[str, ...]:
    """The names of the forms that other packages add."""
    return tuple(name for name in installed(ENTRY_POINTS) if name not in _BUILT_IN)


def form_named(name: str) -> Form:
    """Import the form of a known name; UnusablePackageError where a package is at fault."""
    if name not in _BUILT_IN:
        return _form_of_a_package(name)
    if name in installed(ENTRY_POINTS):
        raise taken(ENTRY_POINTS, name, "a form of restow itself")
    own: Form = EntryPoint(name, _BUILT_IN[name], ENTRY_POINTS).load()
    return own


def _form_of_a_package(name: str) -> Form:
    offered = load(ENTRY_POINTS, name)
    if not callable(offered):
        raise unusable(ENTRY_POINTS, name, f"is no function of a report, but {type(offered).__name__}")
    return partial(_document, name, offered)


def _document(name: str, offered: Callable[[Report], Any], report: Report) -> tuple[bytes]:
    """A package's rendering of a report, in UTF-8; UnusablePackageError if it is not a text."""
    try:
        text = offered(report)
    except FAULTS as error:
        raise unusable(ENTRY_POINTS, name, f"raised {described(error)}") from error
    if not isinstance(text, str):
        raise unusable(ENTRY_POINTS, name, f"gave {type(text).__name__} instead of text")
    return (text.encode(errors="replace"),)
