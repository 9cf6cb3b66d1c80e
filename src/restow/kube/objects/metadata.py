"""What kinds of objects have in common: metadata, owners, conditions, selectors, and how values stand on the wire."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, field

from restow.kube import decoding

#: A quantity as the API may write it; ``kube.quantity.parse_quantity`` makes it exact.
WireQuantity = str | int | float

#: The API's integers; a larger number is an error that names its field.
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1, extra={"go": "int32"})]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1, extra={"go": "int64"})]

T = TypeVar("T")

#: What an absent Raw field holds.
ABSENT = Raw()


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
    #: Which revision of its Deployment a ReplicaSet is.
    revision: str | None = field(default=None, name="deployment.kubernetes.io/revision")
    #: Which generation of its template a DaemonSet has; each of its pods says which one it was made of.
    template_generation: str | None = field(default=None, name="deprecated.daemonset.template.generation")
    #: Whether a Namespace lets its pods be evicted.
    eviction: str | None = field(default=None, name="restow.dev/eviction")
    #: Which comes first when a pod of a workload, or of a Namespace, moves: its end or its replacement.
    replacement: str | None = field(default=None, name="restow.dev/replacement")
    #: Whether Karpenter may disrupt a Node.
    do_not_disrupt: str | None = field(default=None, name="karpenter.sh/do-not-disrupt")
    #: Whether a ResourceClaim was made for the extended resources of a pod.
    extended_resource_claim: str | None = field(default=None, name="resource.kubernetes.io/extended-resource-claim")


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


class Present(Struct, frozen=True, gc=False):
    """An object of which only the presence matters (``emptyDir: {}``)."""


class LabelSelectorRequirement(Struct, frozen=True, gc=False):
    """One ``matchExpressions`` entry of a label selector, a node selector term or a policy."""

    key: str = ""
    operator: Annotated[str, Meta(extra={"go": "v1.LabelSelectorOperator"})] = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Struct, frozen=True, gc=False, rename="camel"):
    """metav1.LabelSelector: absent matches nothing, empty matches everything (by convention of its users)."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None


class NodeSelectorTerm(Struct, frozen=True, gc=False, rename="camel"):
    """Expressions and fields of one term are ANDed; an empty term matches nothing."""

    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None
    match_fields: tuple[LabelSelectorRequirement, ...] | None = None


class NodeSelector(Struct, frozen=True, gc=False, rename="camel"):
    """Terms are ORed; no term matches nothing."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


def decode_part(raw: bytes, part: type[T], default: T) -> T:
    """Decode one raw part of a pod; absent, empty and ``null`` give ``default``.

    Raises msgspec.MsgspecError with the path inside the part.
    """
    if not raw or raw == b"null":
        return default
    return decoding.decode(msgspec.json.Decoder(part), raw)
