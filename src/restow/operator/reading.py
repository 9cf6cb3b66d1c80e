"""A file, or an object of the API server, as a KubeDescheduler.

The one place that knows how documents are read and decoded. Fields that do not exist or are written twice are refused
in a file, as kubectl refuses them; of an object of the API server such fields are gone already.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from restow.documents.decoding import UnknownKey, decode, unknown_key
from restow.documents.document import DocumentKind, read_document
from restow.documents.findings import Issue, path_text, refusal
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.operator.resource import API_VERSION, KIND, KubeDescheduler

_FILE: Final = DocumentKind("a KubeDescheduler", f"apiVersion: {API_VERSION}")
#: Enumerations for which the API takes an empty text, which means that nothing is set.
_EMPTY_MEANS_UNSET: Final = {
    ("spec",): ("logLevel", "operatorLogLevel"),
    ("spec", "profileCustomizations"): (
        "devLowNodeUtilizationThresholds",
        "devHighNodeUtilizationThresholds",
        "devDeviationThresholds",
    ),
}


def read_resource(text: bytes, filename: str) -> KubeDescheduler:
    """Return the resource of a file.

    Raises InputError with everything about its form that no API server would accept, one a line, with file, line and
    field. Which values exclude one another is the business of ``rules``.
    """
    document = read_document(text, filename, _FILE)
    if document.has_more:
        raise InputError(f"{filename}: holds several documents; put the {KIND} into a file of its own")
    wrong_kind = list(_wrong_kind(document.data))
    if wrong_kind:
        raise refusal(document, wrong_kind)
    decoded = decode(_plain(document.data), KubeDescheduler, ())
    twice = [Issue(path, "is written twice", hint="remove one of them") for path in document.duplicates]
    issues = [*twice, *decoded.errors, *(unknown_key(key) for key in decoded.unknown if _is_ours(key))]
    if decoded.value is None or issues:
        raise refusal(document, issues)
    return decoded.value


def resource_of(data: dict[str, Any]) -> KubeDescheduler:
    """Return the resource of an object of the API; InputError, one sentence a field, where it cannot be read."""
    decoded = decode(_plain(data), KubeDescheduler, ())
    if decoded.value is None:
        raise InputError(*map(_sentence, decoded.errors))
    return decoded.value


def _wrong_kind(data: dict[str, Any]) -> Iterator[Issue]:
    for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        written = data.get(key)
        if written != wanted:
            is_missing = written is None
            yield Issue((key,), f"must be {wanted}{'' if is_missing else f', not {excerpt(repr(written))}'}")


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """Return the object without the fields that the API adds for unset choices."""
    plain = deepcopy(data)
    for path, names in _EMPTY_MEANS_UNSET.items():
        inner: Any = plain
        for step in path:
            inner = inner.get(step) if isinstance(inner, dict) else None
        for name in names if isinstance(inner, dict) else ():
            if inner.get(name) == "":
                del inner[name]
    return plain


def _is_ours(key: UnknownKey) -> bool:
    """Whether an unknown key is an error: metadata has fields that are not read here."""
    return key.path[0] != "metadata"


def _sentence(issue: Issue) -> str:
    """Return an issue of an object that is in no file."""
    sentence = f"{path_text(issue.path)}: {issue.message}"
    return f"{sentence}; {issue.hint}" if issue.hint else sentence
