"""Manifests of API versions that are gone, as objects of today's versions that mean the same.

A version has defaults of its own: a Deployment of extensions/v1beta1 that says nothing of its rolling update replaces
one pod at a time, one of apps/v1 a quarter of them. So the defaults of its version are written into a manifest before
it is read as the current one. Each row of ``CONVERSIONS`` is one old version of one kind.

Sources: ``pkg/apis/{extensions,apps,batch,policy}/*/defaults.go`` and ``conversion.go`` of Kubernetes 1.2 to 1.24, and
for disruption budgets the guide to removed APIs. What each version did stands next to its rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from restow.kube.excerpts import title

Manifest = dict[str, Any]
#: Changes a manifest in place, and returns what to report: ``no progress deadline``; empty if nothing changed.
Step = Callable[[Manifest], str]
#: Computes a value from a manifest; None where there is none.
Value = Callable[[Manifest], Any]

#: How today's versions say "no limit" where the old ones said nothing (``math.MaxInt32``).
_UNLIMITED: Final = 2**31 - 1


class Conversion(Struct, frozen=True):
    """What one old version of one kind is today, and the steps that make it so."""

    api_version: str
    kind: str
    steps: tuple[Step, ...] = ()


class Converted(Struct, frozen=True):
    """An object of a current version."""

    manifest: Manifest
    #: For people: what the old version meant without words, and a current one would have to say.
    changes: tuple[str, ...]


def convert(manifest: Mapping[str, Any], conversion: Conversion) -> Converted:
    """Return a manifest of an old version as an object of today, which shares nothing with it.

    Fields of wrong types stay as they are: decoding the result refuses them.
    """
    made = copy.deepcopy(dict(manifest)) | {"apiVersion": conversion.api_version, "kind": conversion.kind}
    return Converted(made, tuple(filter(None, [step(made) for step in conversion.steps])))


def conversion_note(was: str, converted: Converted) -> str:
    """Return the sentence for the author of a manifest of the version ``was``."""
    made = converted.manifest
    metadata = made.get("metadata")
    meta = metadata if isinstance(metadata, dict) else {}
    name = title(str(made["kind"]), str(meta.get("namespace") or ""), str(meta.get("name") or ""))
    what = f"; as it did then, {', '.join(converted.changes)}" if converted.changes else ""
    return f"{name}: {was} is read as {made['apiVersion']}{what}"


def _at(manifest: Manifest, *path: str) -> Any:
    value: Any = manifest
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _default(path: str, value: Value, words: str) -> Step:
    """Return the step that writes a default out where a manifest is silent and the value is not None."""
    *above, last = path.split(".")

    def step(manifest: Manifest) -> str:
        around, found = manifest, value(manifest)
        for key in above if found is not None else ():
            if around.get(key) is None:
                around[key] = {}
            around = around[key]
            if not isinstance(around, dict):
                return ""
        if found is None or around.get(last) is not None:
            return ""
        around[last] = copy.deepcopy(found)
        return words

    return step


def _annotated(path: str, key: str, *inner: str) -> Step:
    """Return the step that keeps a field that is gone (or a field in it) as the annotation that controllers read today."""
    *above, last = path.split(".")

    def step(manifest: Manifest) -> str:
        around, metadata = _at(manifest, *above), manifest.setdefault("metadata", {})
        if not isinstance(around, dict) or around.get(last) is None or not isinstance(metadata, dict):
            return ""
        found = _at({last: around.pop(last)}, last, *inner)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), key: str(found or 0)}
        return f"{last} is the annotation {key}"

    return step


def _constant(value: Any) -> Value:
    return lambda _: value


def _template_labels(manifest: Manifest) -> Any:
    return _at(manifest, "spec", "template", "metadata", "labels") or None


def _template_selector(manifest: Manifest) -> Any:
    labels = _template_labels(manifest)
    return labels and {"matchLabels": labels}


def _if_rolling(value: Any) -> Value:
    """Return the default of a Deployment that replaces its pods by rolling updates, which is what silence means."""
    return lambda manifest: value if _at(manifest, "spec", "strategy", "type") in (None, "", "RollingUpdate") else None


_LABELS: Final = _default("metadata.labels", _template_labels, "its labels are those of the template")
_SELECTOR: Final = _default("spec.selector", _template_selector, "it selects by the labels of the template")
_ON_DELETE: Final = _default(
    "spec.updateStrategy.type", _constant("OnDelete"), "pods are updated once they are deleted"
)
_ROLLBACK: Final = _annotated("spec.rollbackTo", "deprecated.deployment.rollback.to", "revision")
_GENERATION: Final = _annotated("spec.templateGeneration", "deprecated.daemonset.template.generation")


# extensions/v1beta1, from 1.2 to 1.15: a rolling update takes one pod and adds one at any size; it has no deadline, and
# every revision is kept. A DaemonSet waits until its pods are deleted.
_EXTENSIONS_DEPLOYMENT: Final = (
    _SELECTOR,
    _LABELS,
    _default("spec.strategy.rollingUpdate.maxUnavailable", _if_rolling(1), "a rolling update takes 1 pod away"),
    _default("spec.strategy.rollingUpdate.maxSurge", _if_rolling(1), "a rolling update adds 1 pod"),
    _default("spec.progressDeadlineSeconds", _constant(_UNLIMITED), "there is no progress deadline"),
    _default("spec.revisionHistoryLimit", _constant(_UNLIMITED), "every revision is kept"),
    _ROLLBACK,
)


# extensions/v1beta1, from 1.1 to 1.5: a Job selects by its template's labels, unless it asks for a selector of its own,
# which is what every Job has today.
def _own_selector(manifest: Manifest) -> str:
    spec = manifest.get("spec")
    if not isinstance(spec, dict) or spec.pop("autoSelector", None) is True:
        return ""
    spec.setdefault("manualSelector", True)
    return _SELECTOR(manifest)


# apps/v1beta1, from 1.5 to 1.15: a Deployment keeps two revisions, and is as today otherwise. A StatefulSet waits until
# its pods are deleted.
_APPS_DEPLOYMENT: Final = (
    _SELECTOR,
    _LABELS,
    _default("spec.revisionHistoryLimit", _constant(2), "2 revisions are kept"),
    _ROLLBACK,
)

# batch/v2alpha1, from 1.4 to 1.20: the history of a CronJob, which was called ScheduledJob in 1.4, has no limits.
_ENDLESS_HISTORY: Final = (
    _default("spec.successfulJobsHistoryLimit", _constant(_UNLIMITED), "every successful Job is kept"),
    _default("spec.failedJobsHistoryLimit", _constant(_UNLIMITED), "every failed Job is kept"),
)


# policy/v1beta1, from 1.5 to 1.24: an empty selector selects no pod, where today it selects all. None selects none.
def _select_nothing(manifest: Manifest) -> str:
    if _at(manifest, "spec", "selector") != {}:
        return ""
    del manifest["spec"]["selector"]
    return "the empty selector selects no pod"


# These are as today except for their names: apps/v1beta2 (1.8 to 1.15), batch/v1beta1 (1.8 to 1.24), scheduling.k8s.io
# (1.8 to 1.21), storage.k8s.io (1.4 to 1.26).
_RENAMED: Final = {
    ("apps/v1beta2", "apps/v1"): ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"),
    ("batch/v1beta1", "batch/v1"): ("CronJob",),
    ("batch/v2alpha1", "batch/v1"): ("Job",),
    ("scheduling.k8s.io/v1alpha1", "scheduling.k8s.io/v1"): ("PriorityClass",),
    ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1"): ("PriorityClass",),
    ("storage.k8s.io/v1beta1", "storage.k8s.io/v1"): (
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "VolumeAttachment",
    ),
}

#: Every old version of every kind that is read, by apiVersion and kind.
CONVERSIONS: Final[Mapping[tuple[str, str], Conversion]] = {
    ("extensions/v1beta1", "Deployment"): Conversion("apps/v1", "Deployment", _EXTENSIONS_DEPLOYMENT),
    ("extensions/v1beta1", "ReplicaSet"): Conversion("apps/v1", "ReplicaSet", (_SELECTOR, _LABELS)),
    ("extensions/v1beta1", "DaemonSet"): Conversion(
        "apps/v1", "DaemonSet", (_SELECTOR, _LABELS, _ON_DELETE, _GENERATION)
    ),
    ("extensions/v1beta1", "Job"): Conversion("batch/v1", "Job", (_own_selector, _LABELS)),
    ("apps/v1beta1", "Deployment"): Conversion("apps/v1", "Deployment", _APPS_DEPLOYMENT),
    ("apps/v1beta1", "StatefulSet"): Conversion("apps/v1", "StatefulSet", (_SELECTOR, _LABELS, _ON_DELETE)),
    ("batch/v2alpha1", "CronJob"): Conversion("batch/v1", "CronJob", _ENDLESS_HISTORY),
    ("batch/v2alpha1", "ScheduledJob"): Conversion("batch/v1", "CronJob", _ENDLESS_HISTORY),
    ("policy/v1beta1", "PodDisruptionBudget"): Conversion("policy/v1", "PodDisruptionBudget", (_select_nothing,)),
    **{(was, kind): Conversion(now, kind) for (was, now), kinds in _RENAMED.items() for kind in kinds},
}
