"""What kinds of objects have in common: metadata, owners, conditions."""

from __future__ import annotations

from msgspec import Struct, field


class OwnerReference(Struct, frozen=True, gc=False):
    """One entry of ``metadata.ownerReferences``."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Annotations(Struct, frozen=True, gc=False):
    """The annotations that decisions read of kinds other than Pod; all others are never decoded."""

    #: Where the scheduler asked for a claim's volume to be made.
    selected_node: str | None = field(default=None, name="volume.kubernetes.io/selected-node")
    #: The mark of the controller on a claim that it has bound for good.
    bind_completed: str | None = field(default=None, name="pv.kubernetes.io/bind-completed")
    #: The class of a claim or a volume, as it was written before it had a field.
    storage_class: str | None = field(default=None, name="volume.beta.kubernetes.io/storage-class")
    #: The built-in drivers that a node has replaced, on its CSINode.
    migrated_plugins: str | None = field(default=None, name="storage.alpha.kubernetes.io/migrated-plugins")
    #: Whether a Namespace lets its pods be evicted.
    eviction: str | None = field(default=None, name="restow.dev/eviction")


class ObjectMeta(Struct, frozen=True, gc=False, rename="camel"):
    """The metadata of every kind but Pod."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: Annotations | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class Condition(Struct, frozen=True, gc=False, rename="camel"):
    """A condition of a pod or a node."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    last_transition_time: str | None = None
