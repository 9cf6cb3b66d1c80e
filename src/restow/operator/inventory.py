"""The parts of an operator in a cluster, in the order in which they are removed.

First the resource, whose deletion makes the operator remove what it created; then what is left of that; then the
operator, its namespace and the CustomResourceDefinition.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from msgspec import Struct

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.listing import all_objects
from restow.client.resources import RESOURCES, ApiResource
from restow.client.transport import Api
from restow.operator.applying import made_objects
from restow.operator.guards import GUARDS
from restow.operator.objects import (
    DEPLOYMENTS,
    KUBEDESCHEDULERS,
    POLICY_BINDINGS,
    VALIDATING_POLICIES,
    plain,
    plain_kind,
    resource_for,
)
from restow.operator.resource import KIND, NAMESPACE
from restow.operator.soft_taints import has_soft_taints, read_nodes

Step = Literal["resource", "objects", "taints", "operator", "namespace", "definition"]
_ORDER: Final[tuple[Step, ...]] = get_args(Step)

#: Names of ``deploy/operator``.
OPERATOR: Final = "descheduler-operator"
RIGHTS: Final = "openshift-descheduler-operator"
DEFINITION: Final = f"{KUBEDESCHEDULERS.plural}.{KUBEDESCHEDULERS.group}"

NAMESPACES: Final = plain(RESOURCES["Namespace"])
NODES: Final = RESOURCES["Node"]
DEFINITIONS: Final = plain_kind(
    "CustomResourceDefinition", "apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False
)


class Item(Struct, frozen=True):
    """One thing that is there; of a node, its soft taints are meant."""

    step: Step
    kind: str
    name: str
    namespace: str = ""


async def inventory(api: Api, namespace: str) -> tuple[Item, ...]:
    """Return all that there is, in the order of removal; ClientError for what cannot be read.

    A namespace of another name than the operator's own is not among it unless something of an operator is in there.
    """
    inside = (*await resources(api), *await made(api, namespace), *await operator(api, namespace))
    is_its_own = namespace == NAMESPACE or any(each.namespace == namespace for each in inside)
    found = (
        *inside,
        *await tainted_nodes(api),
        *(await present(api, "namespace", NAMESPACES, namespace) if is_its_own else ()),
        *await present(api, "definition", DEFINITIONS, DEFINITION),
    )
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.step)))


async def resources(api: Api) -> list[Item]:
    """Return the KubeDeschedulers of all namespaces; none where the cluster does not know the kind."""
    try:
        found = await all_objects(api, KUBEDESCHEDULERS)
    except NotFound:
        return []
    return [Item("resource", KIND, each["metadata"]["name"], each["metadata"]["namespace"]) for each in found]


async def made(api: Api, namespace: str) -> list[Item]:
    """Return the objects that the operator made, those first that use others."""
    return [Item("objects", kind, name, where) for kind, where, name in reversed(await made_objects(api, namespace))]


async def tainted_nodes(api: Api) -> list[Item]:
    """Return the nodes with soft taints."""
    return [Item("taints", NODES.kind, each.name) for each in await read_nodes(api) if has_soft_taints([each])]


async def operator(api: Api, namespace: str) -> list[Item]:
    """Return the operator, and what it has outside of its namespace; what is in there goes with it."""
    found = await present(api, "operator", DEPLOYMENTS, OPERATOR, namespace)
    for resource, name in _OUTSIDE:
        found += await present(api, "operator", resource, name)
    return found


async def present(api: Api, step: Step, resource: ApiResource, name: str, namespace: str = "") -> list[Item]:
    """Return an object, if it is there."""
    try:
        await objects.find(api, resource, namespace, name)
    except NotFound:
        return []
    return [Item(step, resource.kind, name, namespace)]


def resource_of_item(item: Item) -> ApiResource:
    """Return where an item lives in the API."""
    known = {
        each.kind: each
        for each in (KUBEDESCHEDULERS, NODES, NAMESPACES, DEFINITIONS, POLICY_BINDINGS, VALIDATING_POLICIES)
    }
    return known.get(item.kind) or resource_for({"kind": item.kind})


#: Kinds and names; bindings go before what they bind.
_OUTSIDE: Final = (
    *((resource_for({"kind": kind}), RIGHTS) for kind in ("ClusterRoleBinding", "ClusterRole")),
    *((resource, name) for resource in (POLICY_BINDINGS, VALIDATING_POLICIES) for name in GUARDS),
)
