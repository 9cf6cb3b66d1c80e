"""The last pods of a large dump are read on another processor, while this one reads the rest.

A copy of the process reads them into a store of its own and hands back its rows. They cannot be told from those that this
process would have read, since pods are read page by page in the same way, and the rows are taken last. If one of them is
unusual the copy gives up, and all of its pods are read here, with the patience and the errors of any others.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from restow.cluster.pod_store import PodStore, ReadPods
from restow.cluster.snapshot import ClusterStore
from restow.forked import forked, is_possible
from restow.kube.objects import Condition

#: Fewer pods than this are read as fast as a copy begins and ends.
_MANY = 20_000
#: The share of the copy. This process reads everything else and takes the copy's rows.
_SHARE = 0.52

Page = Sequence[Any]


@contextmanager
def pods_apart(items: Page, sink: object, pages: Callable[[Page], Iterator[Page]]) -> Iterator[tuple[Page, Taking]]:
    """Give the pods that are left to this process, and what takes the others in the end.

    ``items`` are undecoded pods, and ``pages`` decodes them. What takes the others returns those that are still to be
    read here: none, if the copy has read them.
    """
    if len(items) < _MANY or not isinstance(sink, ClusterStore) or not is_possible():
        yield items, _none
        return
    first = len(items) - int(len(items) * _SHARE)
    with forked(partial(_packed, items[first:], pages)) as result:
        yield items[:first], partial(_taken, sink, items[first:], result)


Taking = Callable[[], Page]


def _none() -> Page:
    return ()


def _taken(store: ClusterStore, items: Page, result: Callable[[], bytes | None]) -> Page:
    packed = result()
    if packed is None:
        return items
    store.absorb_pods(_unpacked(packed))
    return ()


def _packed(items: Page, pages: Callable[[Page], Iterator[Page]]) -> bytes:
    """The rows of these pods; an exception if one is unusual."""
    store = PodStore()
    for page in pages(items):
        store.add(page)
    return _pack(store.rows())


# A pod's own values are as many as there are pods, and MessagePack is read several times as fast as a pickle.
def _pack(rows: ReadPods) -> bytes:
    own = msgspec.msgpack.encode(tuple(rows.columns.values()))
    return pickle.dumps((own, rows._replace(columns={name: [] for name in rows.columns})), pickle.HIGHEST_PROTOCOL)


def _unpacked(packed: bytes) -> ReadPods:
    own: bytes
    rows: ReadPods
    own, rows = pickle.loads(packed)  # noqa: S301 - a copy of this process has written it
    values = msgspec.msgpack.decode(own, type=_OWN)
    return rows._replace(columns=dict(zip(rows.columns, values, strict=True)))


#: Names, uids and conditions.
_OWN = tuple[list[str], list[str], list[tuple[Condition, ...]]]
