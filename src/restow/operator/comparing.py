"""Whether an object is as it should be, and which of its fields somebody else has added.

The API server fills in defaults, so an object is as it should be if it has every field that is wanted, with its value.
A field that is wanted no more is noticed by the annotation with the hash of all that was wanted. What people add by hand
is noticed by ``managedFields``, which says who set what; nobody sets defaults.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final

from restow.operator.objects import Object

#: The field manager of an operator.
MANAGER: Final = "restow-operator"
_HASH: Final = "restow.dev/spec-hash"
#: Others may annotate and label what an operator makes.
_SHARED: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


def with_hash(wanted: Object) -> Object:
    """Return an object with an annotation that changes with any of its fields."""
    text = json.dumps(wanted, sort_keys=True)
    metadata = wanted["metadata"]
    annotations = {**metadata.get("annotations", {}), _HASH: hashlib.sha256(text.encode()).hexdigest()}
    return {**wanted, "metadata": {**metadata, "annotations": annotations}}


def covers(live: Any, wanted: Any) -> bool:
    """Whether a value has everything that is wanted of it; lists have nothing else."""
    match wanted:
        case dict():
            return isinstance(live, dict) and all(key in live and covers(live[key], wanted[key]) for key in wanted)
        case list():
            is_as_long = isinstance(live, list) and len(live) == len(wanted)
            return is_as_long and all(map(covers, live, wanted))
    return bool(live == wanted)


def without_additions(live: Object, wanted: Object) -> Object:
    """Return an object without what others have added to the fields that are wanted; the same one where that is nothing."""
    entries = [each for each in live["metadata"].get("managedFields", ()) if each.get("subresource") != "status"]
    ours = _merged(each.get("fieldsV1", {}) for each in entries if each.get("manager") == MANAGER)
    theirs = _merged(each.get("fieldsV1", {}) for each in entries if each.get("manager") != MANAGER)
    kept = dict(live)
    for key in wanted.keys() - _SHARED:
        added, own = theirs.get(f"f:{key}"), ours.get(f"f:{key}", {})
        if added is not None:
            kept[key] = _kept(live[key], added, own)
    return kept


def _merged(sets: Iterator[Object]) -> Object:
    """Return one set of fields of several."""
    merged: Object = {}
    for each in sets:
        for key, inner in each.items():
            merged[key] = _merged(iter((merged[key], inner))) if key in merged else inner
    return merged


def _kept(value: Any, theirs: Object, ours: Object) -> Any:
    """Return a value without the fields that are theirs alone."""
    if isinstance(value, dict):
        named = ((key, f"f:{key}", inner) for key, inner in value.items())
        return {key: _kept(inner, theirs.get(name, {}), ours.get(name, {})) for key, name, inner in named
                if name not in theirs or name in ours}  # fmt: skip
    if isinstance(value, list):
        items = ((item, _name(item, theirs), _name(item, ours)) for item in value)
        return [_kept(item, theirs.get(name, {}), ours.get(own, {})) for item, name, own in items if own or not name]
    return value


def _name(item: Any, fields: Object) -> str:
    """Return the name that an item of a list has in a set of fields; empty where it is not there."""
    for name in fields:
        kind, _, text = name.partition(":")
        if kind == "v" and json.loads(text) == item:
            return name
        if kind == "k" and isinstance(item, dict) and json.loads(text).items() <= item.items():
            return name
    return ""
