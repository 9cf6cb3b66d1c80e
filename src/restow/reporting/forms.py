"""The forms of ``restow plan -o NAME``.

To add a form: one file in ``reporting`` and one line here, or an entry point of the group ``restow.outputs`` in another
package (``docs/how-to/write-an-output.md``). A form is imported when it is asked for, so a broken one does no harm where
nobody uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final

from restow.errors import InputError
from restow.kube.excerpts import described

if TYPE_CHECKING:
    from restow.reporting.report import Report

    #: Gives text for a terminal, or a document in pieces, which is written as it is.
    Form = Callable[[Report], str | Iterable[bytes]]

#: Other packages register a function under this entry point group, by the form's name: of a ``Report``, giving text.
ENTRY_POINTS: Final = "restow.outputs"

_BUILT_IN: Final = {
    "table": "restow.reporting.table:form",
    "wide": "restow.reporting.wide:form",
    "json": "restow.reporting.json:form",
    "yaml": "restow.reporting.yaml:form",
    "html": "restow.reporting.html.page:form",
}


def form_names() -> tuple[str, ...]:
    """Every name of a form: restow's own, then those of installed packages in order."""
    return (*_BUILT_IN, *installed_names())


def installed_names() -> tuple[str, ...]:
    """The names of the forms that other packages add."""
    return tuple(sorted({each.name for each in entry_points(group=ENTRY_POINTS)} - _BUILT_IN.keys()))


def form_named(name: str) -> Form:
    """Import the form of a known name; InputError where a package is at fault."""
    offered = {each.value: each for each in entry_points(group=ENTRY_POINTS, name=name)}
    if name in _BUILT_IN:
        if offered:
            raise _refusal(name, "is a form of restow itself; uninstall the package or choose another name in it")
        own: Form = EntryPoint(name, _BUILT_IN[name], ENTRY_POINTS).load()
        return own
    if len(offered) > 1:
        raise _refusal(name, "is registered by two packages; uninstall one")
    (point,) = offered.values()
    return _form_of_a_package(point)


def _form_of_a_package(point: EntryPoint) -> Form:
    try:
        offered = point.load()
    except (Exception, SystemExit) as error:
        raise _refusal(point.name, f"cannot be imported: {described(error)}") from error
    if not callable(offered):
        raise _refusal(point.name, f"is no function of a report, but {type(offered).__name__}")
    return partial(_document, point.name, offered)


def _document(name: str, offered: Callable[[Report], Any], report: Report) -> tuple[bytes]:
    """What a package makes of a report, in UTF-8; InputError where it makes no text of it."""
    try:
        text = offered(report)
    except (Exception, SystemExit) as error:
        raise _refusal(name, f"raised {described(error)}") from error
    if not isinstance(text, str):
        raise _refusal(name, f"gave {type(text).__name__} instead of text")
    return (text.encode(errors="replace"),)


def _refusal(name: str, why: str) -> InputError:
    return InputError(f"entry point {ENTRY_POINTS}: {name} {why}")
