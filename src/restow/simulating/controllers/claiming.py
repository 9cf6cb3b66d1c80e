"""Claiming: a controller adopts orphans that its selector matches, and releases what it no longer matches.

Source: controller_ref_manager, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from restow.kube.labels import Selector
from restow.kube.objects import OwnerReference
from restow.simulating.store import Store


def reference_to(kind: str, controller: Any) -> OwnerReference:
    """The owner reference of what a controller makes or adopts."""
    return OwnerReference(kind, controller.metadata.name, controller.metadata.uid, controller=True)


def claim(store: Store, kind: str, controller: Any, selector: Selector, of: str = "Pod") -> list[Any]:
    """The objects of a kind (``of``) that a controller has from now on, those that terminate too."""
    owned = [each for each in store.owned(controller.metadata.uid, of) if _controls(controller, each)]
    if controller.metadata.is_terminating:
        return [each for each in owned if selector.matches(each.metadata.labels or {})]
    kept = [each for each in owned if selector.matches(each.metadata.labels or {}) or _release(store, controller, each)]
    return [*kept, *_adopted(store, kind, controller, store.uncontrolled(of, controller.metadata.namespace, selector))]


def _controls(controller: Any, each: Any) -> bool:
    found = each.metadata.controller
    return found is not None and found.uid == controller.metadata.uid


def _release(store: Store, controller: Any, each: Any) -> bool:
    """Release an object that the selector no longer matches; False: it is not kept."""
    if not each.metadata.is_terminating:
        others = (owner for owner in each.metadata.owner_references if owner.uid != controller.metadata.uid)
        metadata = structs.replace(each.metadata, owner_references=tuple(others) or None)
        store.update(structs.replace(each, metadata=metadata))
    return False


def _adopted(store: Store, kind: str, controller: Any, found: Iterable[Any]) -> Iterable[Any]:
    for each in found:
        if not each.metadata.is_terminating:
            owners = (*(each.metadata.owner_references or ()), reference_to(kind, controller))
            yield store.update(structs.replace(each, metadata=structs.replace(each.metadata, owner_references=owners)))
