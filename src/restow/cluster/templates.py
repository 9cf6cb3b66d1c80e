"""The templates that are kept of controllers: those that may make a pod, without the page that they were read from.

A Deployment keeps ten ReplicaSets that want no pods. Their templates make none, so they are not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import structs

from restow.kube.objects import without_page

#: The kinds whose ``spec`` has a template of pods.
TEMPLATED: Final = frozenset(("ReplicaSet", "ReplicationController", "Deployment", "StatefulSet", "DaemonSet", "Job"))


def with_templates(kind: str, wire: Sequence[Any]) -> Sequence[Any]:
    """Objects of one kind as they are kept."""
    if kind == "ControllerRevision":
        return [without_page(each) for each in wire]
    return [_with_template(each) for each in wire] if kind in TEMPLATED else wire


def _with_template(controller: Any) -> Any:
    spec = controller.spec
    if spec.template is None:
        return controller
    kept = None if getattr(spec, "replicas", None) == 0 else without_page(spec.template)
    return structs.replace(controller, spec=structs.replace(spec, template=kept))
