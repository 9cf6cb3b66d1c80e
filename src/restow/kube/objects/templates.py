"""What controllers make pods of: the template of a pod, and the revisions that a StatefulSet or a DaemonSet had of it.

A template has the fields of a pod, and of those only what decisions read. Its raw parts are copied out of their page
(``without_page``), so that a controller keeps no page alive.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from msgspec import Raw, Struct, field, structs

from restow.kube.objects.metadata import ABSENT, Int32, Int64, ObjectMeta
from restow.kube.objects.pods import PodAnnotations, PodSpec

T = TypeVar("T", bound=Struct)

#: Types of fields that keep no page alive.
_PLAIN: Final = frozenset((str, int, float, bool, dict))


class TemplateMeta(Struct, frozen=True, gc=False):
    """The metadata of a template."""

    labels: dict[str, str] | None = None
    annotations: PodAnnotations | None = None


class PodTemplate(Struct, frozen=True, gc=False):
    """``spec.template`` of a controller."""

    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class RevisedSpec(Struct, frozen=True, gc=False):
    """What a ControllerRevision keeps of a spec."""

    template: PodTemplate | None = None


class RevisionData(Struct, frozen=True, gc=False):
    """``data`` of a ControllerRevision."""

    spec: RevisedSpec = RevisedSpec()


class ControllerRevision(Struct, frozen=True, gc=False):
    """An apps/v1 ControllerRevision: a template that a StatefulSet or a DaemonSet has or had."""

    metadata: ObjectMeta = ObjectMeta()
    data: RevisionData = RevisionData()
    revision: Int64 = 0


class RollingUpdate(Struct, frozen=True, gc=False):
    """``rollingUpdate`` of a StatefulSet."""

    partition: Int32 | None = None


class UpdateStrategy(Struct, frozen=True, gc=False, rename="camel"):
    """``updateStrategy`` of a StatefulSet or a DaemonSet."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class WorkloadStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a controller's status that decisions read: the revisions of a StatefulSet, by name."""

    current_revision: str = field(default="")
    update_revision: str = field(default="")


def without_page(value: T) -> T:
    """A copy with raw parts that keep nothing else alive."""
    changed: dict[str, Any] = {}
    for name in value.__struct_fields__:
        found = getattr(value, name)
        # Most fields of a template are absent, and a call for each of them would cost more than all the others.
        if found is None or found is ABSENT or type(found) in _PLAIN:
            continue
        changed[name] = found.copy() if isinstance(found, Raw) else _copied(found)
    return structs.replace(value, **changed) if changed else value


def _copied(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_copied(each) for each in value])
    if isinstance(value, Raw):
        return value.copy()
    return without_page(value) if isinstance(value, Struct) else value
