"""Objects that cannot be read are left out, one by one, and nothing else is.

What the API server accepts, anybody with a namespace may write, so one object must not stop the others from being read.
An object that protects pods goes on protecting: what stands in for it protects all that it could have protected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from restow.errors import InputError
from restow.kube.excerpts import title
from restow.kube.objects import (
    Annotations,
    Job,
    LabelSelector,
    Namespace,
    ObjectMeta,
    PodDisruptionBudget,
    Unreadable,
)
from restow.kube.objects.jobs import JobSpec

#: (kind, namespace, name).
ObjectKey = tuple[str, str, str]

#: Objects that a note names.
_MOST_NAMED = 5
#: The value of a namespace's annotation that nobody can read; like any other than "enabled" it keeps pods in place.
_UNREADABLE = "unknown, as the Namespace cannot be read"
_PROTECTING = {
    "Namespace": "no pod of the namespace is evicted",
    "PodDisruptionBudget": "no pod of the namespace that a budget could cover is evicted",
    "Job": "no pod of the Job is evicted",
}


class Sink(Protocol):
    """Where objects go."""

    def add(self, kind: str, wire: Sequence[Any]) -> None:
        """Take a page of objects of a kind; where one cannot be read, an exception and none of them."""

    def leave_out(self, kind: str, namespace: str, name: str, why: str) -> None:
        """Go on without an object."""


class UnreadableBudget(PodDisruptionBudget, frozen=True, gc=False):
    """Stands in for a budget that cannot be read: it covers all pods of its namespace and lets none of them go."""


def add_page(sink: Sink, kind: str, objects: Sequence[Any], fatal: tuple[type[Exception], ...] = ()) -> None:
    """Have a sink take a page without the objects that cannot be read; exceptions that are ``fatal`` are raised."""
    readable = [each for each in objects if not isinstance(each, Unreadable)]
    for each in objects if len(readable) < len(objects) else ():
        if isinstance(each, Unreadable):
            meta = each.metadata
            sink.leave_out(kind, meta.namespace, meta.name, f"{title(kind, meta.namespace, meta.name)}: {each.why}")
    _add(sink, kind, readable, fatal)


def _add(sink: Sink, kind: str, objects: Sequence[Any], fatal: tuple[type[Exception], ...]) -> None:
    try:
        sink.add(kind, objects)
    except fatal:
        raise
    except Exception as error:
        if len(objects) > 1:
            middle = len(objects) // 2
            _add(sink, kind, objects[:middle], fatal)
            _add(sink, kind, objects[middle:], fatal)
        elif objects:
            meta = objects[0].metadata
            sink.leave_out(kind, meta.namespace, meta.name, _reason(kind, meta, error))
        else:
            raise


def _reason(kind: str, meta: Any, error: Exception) -> str:
    if isinstance(error, InputError):
        return str(error)
    return f"{title(kind, meta.namespace, meta.name)}: {str(error) or type(error).__name__}"


def stand_in(kind: str, namespace: str, name: str) -> Any | None:
    """What counts in the place of an object that is left out: the most protective that it could be; None for no object."""
    meta = ObjectMeta(name=name, namespace=namespace)
    match kind:
        case "Namespace":
            return Namespace(ObjectMeta(name=name, annotations=Annotations(eviction=_UNREADABLE)))
        case "PodDisruptionBudget":
            budget = PodDisruptionBudget(meta)
            spec = type(budget.spec)(selector=LabelSelector(), unhealthy_pod_eviction_policy="IfHealthyBudget")
            return UnreadableBudget(meta, spec, budget.status)
        case "Job":
            return Job(meta, JobSpec(backoff_limit=0))
    return None


def sentence(kind: str, why: str) -> str:
    """That an object is left out, why, and what follows for pods that it may protect."""
    kept = f", and {_PROTECTING[kind]} until it can be read" if kind in _PROTECTING else ""
    return f"{why}; it is left out{kept}"


def left_out_notes(left_out: Mapping[ObjectKey, str]) -> tuple[str, ...]:
    """A sentence for each of the first objects that are left out, and one for the others."""
    named = tuple(sentence(key[0], why) for key, why in sorted(left_out.items())[:_MOST_NAMED])
    more = len(left_out) - len(named)
    return (*named, f"{more} more objects cannot be read; they are left out") if more > 0 else named
