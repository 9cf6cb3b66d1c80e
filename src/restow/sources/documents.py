"""From JSON documents to one cluster.

A document is a single object or a list of them: ``kubectl get -o json`` prints a ``List``, the API an ``XList`` whose
items do not repeat their kind. A CSV file is a trace of usage (``usage.csv_files``). Items are first cut apart without
being decoded, then decoded page by page into the few fields that are read; each page's objects are dropped before the
next one comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw, Struct

from restow import garbage
from restow.cluster.left_out import ObjectKey, Sink, add_page, left_out_notes
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.cluster.usage_series import KIND as USAGE
from restow.errors import InputError
from restow.kube import decoding
from restow.kube.decoding import DECODING_ERRORS, decode_or_name, name_of, path_first
from restow.kube.excerpts import excerpt
from restow.kube.objects import GROUPS, KINDS
from restow.kube.old_versions import CONVERSIONS, convert
from restow.sources.kubectl import DUMP, printing
from restow.sources.pods_apart import pods_apart
from restow.sources.reading import (
    Data,
    Header,
    HeaderReader,
    InputDocument,
    Sizes,
    input_files,
    origin_of,
    read_documents,
    read_text,
    split_json,
)
from restow.usage.csv_files import is_trace, read_trace

#: Objects decoded before their columns are taken: so few that the processor still has them at hand.
_PAGE = 512
#: The error of msgspec for a document that is one text, such as a table for people.
_TEXT = "Expected `object`, got `str`"
#: Unknown kinds named in a note.
_KINDS_TOLD = 5
_POD = "Pod"
_NO_NAME = "(without a readable name)"


class _SeveralDocumentsError(Exception):
    """A text holds more than one JSON document."""


class _Envelope(Struct, frozen=True, rename="camel"):
    """The outermost fields of any object."""

    kind: str | None = None
    api_version: str | None = None
    items: list[Raw] | None = None


@dataclass(slots=True)
class LoadReport:
    """What was found besides the cluster; normal for a partial dump, reported in one line."""

    origins: list[str] = field(default_factory=list)
    #: Objects of kinds that restow does not read, by kind.
    unknown_kinds: Counter[str] = field(default_factory=Counter)
    #: Objects of old API versions that mean something else there (``kube.old_versions``), by kind and version.
    old_versions: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: Objects that were given more than once; the last one counts.
    replaced: int = 0
    #: Pods on nodes that the input does not hold.
    on_unknown_nodes: int = 0
    #: Versions of the nodes' kubelets.
    kubelets: Collection[str] = ()
    #: The objects that cannot be read, and why.
    left_out: Mapping[ObjectKey, str] = field(default_factory=dict)

    def origin(self) -> str:
        """Where the cluster came from, in a word or two."""
        return self.origins[0] if len(self.origins) == 1 else f"{len(self.origins)} inputs"

    def notes(self) -> tuple[str, ...]:
        """What is worth a line: of what was found, nothing or one sentence; and what was left out."""
        kinds = sorted(self.unknown_kinds.items())[:_KINDS_TOLD]
        unknown = ", ".join(f"{count} {excerpt(kind)}" for kind, count in kinds)
        more = len(self.unknown_kinds) - _KINDS_TOLD
        old = ", ".join(f"{count} {kind} of {version}" for (kind, version), count in sorted(self.old_versions.items()))
        parts = [
            f"objects that restow does not read: {unknown}{f' and {more} more kinds' if more > 0 else ''}"
            * bool(unknown),
            f"objects read with the defaults of their old API versions: {old}" * bool(old),
            f"objects given more than once (the last one counts): {self.replaced}" * bool(self.replaced),
            f"pods on nodes that the input does not hold: {self.on_unknown_nodes}" * bool(self.on_unknown_nodes),
        ]
        text = "; ".join(filter(None, parts))
        return (*((f"{self.origin()}: {text}",) if text else ()), *left_out_notes(self.left_out))


def load_cluster(paths: Sequence[str], *, limited: bool = True) -> tuple[ClusterSnapshot, LoadReport]:
    """One cluster from all the inputs together, which are ``limited`` as ``sources.reading`` says.

    InputError lists every input that cannot be read, one sentence a line, and refuses a cluster without nodes or pods.
    """
    store = ClusterStore()
    with garbage.paused():
        report = read_objects(paths, store, limited=limited)
        cluster, report.replaced = store.snapshot(), store.replaced
        report.left_out = cluster.left_out
    check_complete(cluster.counts(), report)
    report.kubelets = store.kubelet_versions()
    report.on_unknown_nodes = cluster.pods.on_unknown_nodes()
    return cluster, report


def read_objects(paths: Sequence[str], sink: Sink, *, limited: bool = True) -> LoadReport:
    """Yield all objects of known kinds in the inputs, in pages; an empty page says that its kind was listed.

    The inputs are ``limited`` as ``sources.reading`` says. An object with a value that the API server accepts but restow
    cannot compute with is left out, and a Pod with any value that cannot be read, as in a live cluster: there may be
    thousands of others. InputError, after the last input, lists every input that cannot be read, one sentence a line.
    """
    report, sizes = LoadReport(), Sizes(limited)
    problems: list[str] = []
    for name in _files(paths, problems):
        try:
            _load_file(name, sink, report, sizes)
        except InputError as error:
            problems.extend(error.sentences)
    if problems:
        raise InputError(*problems)
    return report


def take_objects(document: InputDocument, sink: Sink) -> None:
    """Yield the objects of one document, as ``read_objects`` those of files."""
    _take(document, sink, LoadReport())


def _files(paths: Sequence[str], problems: list[str]) -> list[str]:
    names: list[str] = []
    for path in paths:
        try:
            names.extend(input_files([path]))
        except InputError as error:
            problems.extend(error.sentences)
    return names


def _load_file(name: str, sink: Sink, report: LoadReport, sizes: Sizes) -> None:
    report.origins.append(origin_of(name))
    if is_trace(name):
        add_page(sink, USAGE, read_trace(bytes(read_text(name, sizes)).decode(), origin_of(name)), fatal=(InputError,))
        return
    for document in read_documents(name, sizes):
        try:
            _take(document, sink, report)
        except _SeveralDocumentsError:
            for part in split_json(document.data, document.origin):
                _take(part, sink, report)


def _take(document: InputDocument, sink: Sink, report: LoadReport) -> None:
    by_kind = _by_kind(document, report)
    with pods_apart(by_kind.get(_POD, ()), sink, partial(_pages, _POD, origin=document.origin)) as (pods, others):
        for kind, items in by_kind.items():
            # An empty list of a kind still says that there are none.
            sink.add(kind, ())
            _add(sink, kind, pods if kind == _POD else items, document.origin)
        document.release()
        _add(sink, _POD, others(), document.origin)


def _by_kind(document: InputDocument, report: LoadReport) -> dict[str, list[Data | Raw]]:
    """The undecoded objects of each known kind that a document holds, or holds an empty list of."""
    by_kind: dict[str, list[Data | Raw]] = {}
    # What was found to be read as it is, by kind and version; nearly all objects are.
    plain: dict[tuple[str, str], list[Data | Raw]] = {}
    for kind, version, item in _items(document.data, document.origin, "", ""):
        if item is not None and (of_kind := plain.get((kind, version))) is not None:
            of_kind.append(item)
            continue
        known = _qualified(kind, version, document.origin)
        if known not in KINDS:
            report.unknown_kinds[known] += 1
            continue
        of_kind = by_kind.setdefault(known, [])
        if item is not None:
            of_kind.append(_current(kind, version, item, report))
        if (version, kind) not in CONVERSIONS:
            plain[kind, version] = of_kind
    return by_kind


def _add(sink: Sink, kind: str, items: Sequence[Data | Raw], origin: str) -> None:
    for page in _pages(kind, items, origin):
        try:
            add_page(sink, kind, page, fatal=() if kind == _POD else (InputError,))
        except InputError as error:
            raise InputError(f"{origin}: {error}") from error


def _pages(kind: str, items: Sequence[Data | Raw], origin: str) -> Iterator[list[Any]]:
    decoder = msgspec.json.Decoder(KINDS[kind])
    for start in range(0, len(items), _PAGE):
        yield _decode_page(decoder, kind, items[start : start + _PAGE], origin)


def _items(data: Data | Raw, origin: str, kind: str, api_version: str) -> Iterator[tuple[str, str, Data | Raw | None]]:
    """Each object below an envelope with its kind and API version.

    A list of one known kind comes first with None: what is not in it does not exist.
    """
    envelope = _decode_envelope(data, origin)
    own_kind, own_version = envelope.kind or kind, envelope.api_version or api_version
    if envelope.items is None:
        if not _is_list(own_kind):
            yield own_kind, own_version, data
        return
    item_kind = own_kind.removesuffix("List")
    if item_kind and _qualified(item_kind, own_version, origin) in KINDS:
        yield item_kind, own_version, None
    headers = HeaderReader()
    for item in envelope.items:
        found = _header(headers, item, origin)
        if not found.kind:
            yield item_kind, found.api_version or own_version, item
        elif found.kind.endswith("List"):
            yield from _items(item, origin, item_kind, own_version)
        else:
            yield found.kind, found.api_version or "", item


def _is_list(kind: str) -> bool:
    """Whether a kind is a list of objects that restow reads, and not a custom resource like AllowList."""
    return kind.endswith("List") and (kind == "List" or kind.removesuffix("List") in KINDS)


def _decode_envelope(data: Data | Raw, origin: str) -> _Envelope:
    try:
        return msgspec.json.decode(data, type=_Envelope)
    except msgspec.ValidationError as error:
        if str(error) == _TEXT:
            raise InputError(
                f"{origin}: is text, not Kubernetes objects; have kubectl print them with -o json"
            ) from error
        raise InputError(f"{origin}: not a Kubernetes object: {path_first(error)}") from error
    except msgspec.DecodeError as error:
        if "trailing characters" in str(error):
            raise _SeveralDocumentsError from error
        raise InputError(f"{origin}: not valid JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{origin}: nested too deeply; this is not a cluster") from error


def _qualified(kind: str, api_version: str, origin: str) -> str:
    """The kind of an object as ``KINDS`` has it, ``Kind.group`` where another API group has the same word."""
    if not kind:
        raise InputError(f"{origin}: holds an object without kind; kubectl get ... -o json prints one")
    if (old := CONVERSIONS.get((api_version, kind))) is not None:
        return old.kind
    group = api_version.rpartition("/")[0]
    return kind if not api_version or group == GROUPS.get(kind, "") else f"{kind}.{group or 'core'}"


def _current(kind: str, api_version: str, item: Data | Raw, report: LoadReport) -> Data | Raw:
    """The object in a current API version; decoding reports what is wrong with one that is no JSON."""
    old = CONVERSIONS.get((api_version, kind))
    if old is None:
        return item
    try:
        made = convert(msgspec.json.decode(item), old)
    except DECODING_ERRORS:
        return item
    if made.changes:
        report.old_versions[kind, api_version] += 1
    return msgspec.json.encode(made.manifest)


def _header(headers: HeaderReader, item: Raw, origin: str) -> Header:
    try:
        return headers.read(item)
    except DECODING_ERRORS as error:
        raise _unreadable("item", item, origin, error) from error


def _decode_page(decoder: msgspec.json.Decoder[Any], kind: str, items: Sequence[Data | Raw], origin: str) -> list[Any]:
    try:
        return [decoder.decode(item) for item in items]
    except DECODING_ERRORS:
        # One of them is unusual: decode each with more patience.
        return [_decode(decoder, kind, item, origin) for item in items]


def _decode(decoder: msgspec.json.Decoder[Any], kind: str, item: Data | Raw, origin: str) -> Any:
    try:
        return decode_or_name(decoder, item) if kind == _POD else decoding.decode(decoder, item)
    except DECODING_ERRORS as error:
        raise _unreadable(kind, item, origin, error) from error


def _unreadable(kind: str, item: Data | Raw, origin: str, error: Exception) -> InputError:
    return InputError(f"{origin}: {kind} {_name(item)}: {path_first(error)}")


def _name(item: Data | Raw) -> str:
    name = name_of(item)
    if name is None:
        return _NO_NAME
    return excerpt(f"{name.namespace}/{name.name}" if name.namespace else name.name)


def check_complete(counts: Mapping[str, int], report: LoadReport) -> None:
    """Raise InputError unless there are nodes and pods; ``counts`` are objects by kind."""
    where = ", ".join(report.origins)
    nodes, pods = counts.get("Node", 0), counts.get("Pod", 0)
    if nodes and pods:
        return
    unreadable = {key: why for key, why in report.left_out.items() if key[0] == ("Pod" if nodes else "Node")}
    if unreadable:
        raise InputError(
            f"{where} holds no {'pods' if nodes else 'nodes'} that can be read", *left_out_notes(unreadable)
        )
    others = sum(counts.values()) + report.unknown_kinds.total()
    if not nodes and not pods:
        found = f"{others} other objects but no nodes and no pods" if others else "no objects"
        raise InputError(f"{where} holds {found}; restow needs both: {DUMP}")
    held, missing, kind = ("nodes but no pods", "pods", "Pod") if nodes else ("pods but no nodes", "nodes", "Node")
    adding = printing((kind,), f"{missing}.json")
    raise InputError(f"{where} holds {held}; add -f {missing}.json after {adding}")
