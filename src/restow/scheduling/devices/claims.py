"""The claims of pods on one state: what each asks for, what it has, and where that can be used.

A claim that the input holds has what its status says. A pod that is placed gets devices for its claims that have none, as the
scheduler's first fit finds them on its node. When a pod leaves, its own claims, which were made of templates, end with it;
claims that it only names stay as they are. Where the state takes a change back, everybody has again what they had. Source:
Reserve of DynamicResources, and the ResourceClaim controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from restow.cluster.journal import NodeChange
from restow.cluster.nodes import NodePart
from restow.cluster.pod_parts import decode_requests
from restow.cluster.pod_values import PodClaim
from restow.kube.objects import DEVICE_KINDS
from restow.kube.objects.devices import DeviceClaim, ResourceClaim, ResourceClaimTemplate
from restow.scheduling.devices.allocated import Allocation, in_status, on_node
from restow.scheduling.devices.allocation import Allocated, allocate
from restow.scheduling.devices.asked import NamedClaim, Reach
from restow.scheduling.devices.extended_resources import NAME, claim_for, is_on_nodes, owners_of_claims, serving_classes
from restow.scheduling.devices.holdings import Holding, Holdings
from restow.scheduling.devices.pools import Inventory, Pool, PoolId
from restow.scheduling.devices.rules import TAINT_RULE, rules_of, unclear_in_claim, unclear_in_slices
from restow.scheduling.devices.selectors import Selectors
from restow.scheduling.devices.shortage import shortage
from restow.scheduling.framework.context import Context, Follower
from restow.scheduling.framework.extension_points import CycleError, UnknownError

CLAIM, TEMPLATE, CLASS, SLICE = DEVICE_KINDS

#: Namespace and name of a claim; one that is to be made of a template has its pod's row and name instead.
ClaimKey = tuple[str | int, str]
#: Why it is not known what a pod gets.
WAITED_FOR: Final = (
    "its claim has a device that a driver is still preparing (bindingConditions), for as long as it takes"
)


class NoClaimError(Exception):
    """A claim of a pod that cannot be used, in the scheduler's words; the pod waits until it can."""


class UsedClaim(Struct, frozen=True):
    """A claim that a pod uses."""

    key: ClaimKey
    named: NamedClaim
    #: None while it has no devices.
    allocation: Allocation | None
    #: Whether it ends with the pod.
    is_own: bool
    #: Whether another pod may use it.
    is_shared: bool = False


class Wanted(NamedTuple):
    """Claims to find devices for."""

    claims: tuple[NamedClaim, ...]
    #: Equal for claims that ask for the same.
    shape: tuple[bytes, ...]


#: The devices that pods got here, by claim.
_Allocations = dict[ClaimKey, Allocation]


class Claims:
    """The claims of one state."""

    def __init__(self, context: Context) -> None:
        self._state = context.state
        self._nodes = context.state.cluster.nodes
        self._pods = context.state.cluster.pods
        self._rules = rules_of(context.state.cluster)
        self._selectors = Selectors()
        self._shapes: dict[int, tuple[DeviceClaim, bytes]] = {}
        #: What claims got here, and the pods for which they did.
        self._got: _Allocations = {}
        self._got_for: dict[int, tuple[ClaimKey, ...]] = {}
        #: Claims that ended with their pods, of those that the input holds.
        self._ended: set[ClaimKey] = set()
        #: What claims had got for each pod each time that it left, and what of it ended; latest last.
        self._given_up: defaultdict[int, list[tuple[tuple[ClaimKey, ...], _Allocations]]] = defaultdict(list)
        #: The pods (uids) that each claim is reserved for.
        self._reserved: defaultdict[ClaimKey, set[str]] = defaultdict(set)
        #: Changes each time that anybody gets or gives back devices, or that nodes reach others.
        self.changes = 0
        self._nodes.follow(NodePart.POSITION | NodePart.LABELS, self._forget_pools)
        self._follow = Follower(self._state, self._note)
        self._read()
        self._place_all()

    def catch_up(self) -> None:
        """Take note of everything that happened since the last time."""
        self._follow.catch_up()
        if self._versions != self._seen():
            self._read()
            self._place_all()

    def of(self, pod: int) -> list[UsedClaim]:
        """The claims of a pod, in the order of its spec, and last the one for its extended resources.

        NoClaimError says which one it waits for.
        """
        used = [self._used(pod, each) for each in self._named(pod)]
        requested = self.served(pod)
        return [*used, self._for_resources(pod, requested)] if requested else used

    def served(self, pod: int) -> Mapping[str, int]:
        """What a pod requests of extended resources that a class serves and no node lists: devices, by name."""
        key = int(self._pods.resources[pod])
        known = self._served.get(key)
        if known is None:
            requests = self._pods.tables.resources[key].requests
            known = self._served[key] = {name: requests[name] for name in self._serving if requests.get(name, 0) > 0}
        return known

    def undecided(self, pod: int) -> str:
        """An extended resource of a pod that some nodes have, and a class serves on others; empty if there is none."""
        requests = self._pods.tables.resources[self._pods.resources[pod]].requests
        return next((name for name in self._undecided if requests.get(name, 0) > 0), "")

    def wanted(self, claims: Iterable[UsedClaim]) -> Wanted:
        """What those of some claims ask for that have no devices."""
        named = tuple([each.named for each in claims if each.allocation is None])
        return Wanted(named, tuple([self._shape(each.devices) for each in named]))

    def found(self, node: int, wanted: Wanted) -> list[list[Allocated]] | None:
        """What claims would get on a node, on the state that was noted last; None if it does not have it.

        CycleError where no node can be right, UnknownError where that is not known.
        """
        known = self._found[node]
        if wanted.shape not in known:
            reach = self.reach(node)
            self._check_version(reach, wanted)
            known[wanted.shape] = allocate(reach, wanted.claims)
        return known[wanted.shape]

    def _check_version(self, reach: Reach, wanted: Wanted) -> None:
        """UnknownError where it is not known what this version of the scheduler makes of something."""
        if not self._rules.in_order:
            in_claims = (unclear_in_claim(each.devices) for each in wanted.claims)
            if unclear := next(filter(None, (self._unclear, *in_claims)), ""):
                raise UnknownError(unclear)
        if not self._rules.passes_over_pools and (odd := [each.id for each in reach.pools if not each.is_usable]):
            raise UnknownError(
                f"whether it gets devices beside pool {odd[0]}, which is incomplete or invalid, is chance"
            )

    def has_invalid_pools(self, node: int) -> bool:
        """Whether a node sees a pool that contradicts itself."""
        return any(each.is_invalid for each in self.reach(node).pools)

    def lacking(self, pod: int, node: int) -> str:
        """What the claims of a pod lack on a node, a clause for people; empty where it is not a matter of numbers."""
        self.catch_up()
        try:
            return shortage(self.reach(node), self.wanted(self.of(pod)).claims)
        except (NoClaimError, CycleError):
            return ""

    def has_class(self, name: str) -> bool:
        """Whether a device class exists."""
        return ("", name) in self._classes

    def _shape(self, devices: DeviceClaim) -> bytes:
        """Equal for claims that ask for the same."""
        known = self._shapes.get(id(devices))
        if known is None:
            # With the claim, so that no other one gets its identity.
            known = self._shapes[id(devices)] = devices, msgspec.json.encode(devices)
        return known[1]

    def _named(self, pod: int) -> tuple[PodClaim, ...]:
        found: tuple[PodClaim, ...] = self._pods.tables.claims[self._pods.claims[pod]]
        return found

    def has_any(self, pod: int) -> bool:
        """Whether a pod uses claims, or will."""
        return bool(self._named(pod) or self.served(pod))

    def _seen(self) -> tuple[int, ...]:
        return tuple(map(self._state.version, (*DEVICE_KINDS, TAINT_RULE)))

    def _read(self) -> None:
        """Read all objects."""
        cluster = self._state.cluster
        self._versions = self._seen()
        self._claims: Mapping[Any, ResourceClaim] = cluster.kind(CLAIM)
        self._templates: Mapping[Any, ResourceClaimTemplate] = cluster.kind(TEMPLATE)
        self._classes = cluster.kind(CLASS)
        self._inventory = Inventory(cluster.kind(SLICE).values(), self._rules, cluster.kind(TAINT_RULE).values())
        self._unclear = "" if self._rules.in_order else unclear_in_slices(cluster.kind(SLICE).values())
        serving = serving_classes(cluster)
        self._serving = {name: each for name, each in serving.items() if not is_on_nodes(cluster, name)}
        self._undecided = sorted(serving.keys() - self._serving.keys())
        #: What is requested of them, and the claim for it, by the interned requests.
        self._served: dict[int, Mapping[str, int]] = {}
        self._claims_for: dict[int, DeviceClaim] = {}
        self._made_for = owners_of_claims(self._claims.items())
        self._forget_pools()
        self._known: dict[ClaimKey, Allocation | None] = {
            key: in_status(claim.status) for key, claim in self._claims.items()
        }
        self._holdings = Holdings()
        self._got, self._got_for, self._ended = {}, {}, set()
        self._given_up.clear()
        for key, claim in self._claims.items():
            self._reserved[key] = {each.uid for each in claim.status.reserved_for or ()}
        for each in filter(None, self._known.values()):
            self._holdings.add(each.holdings)

    def _place_all(self) -> None:
        """Give devices to the pods that are on nodes, and have none yet; those of pods that have left already are free."""
        self._follow.skip()
        pods, state = self._pods, self._state
        for pod in pods.where(~state.exists).tolist():
            self._end_own(pod)
        for pod in pods.where(state.holds_resources() & (state.node >= 0)).tolist():
            if self.has_any(pod):
                self._come(pod, int(state.node[pod]), undone=False)

    def _forget_pools(self) -> None:
        self._pools: dict[int, list[Pool]] = {}
        self._forget_what_is_found()

    def _forget_what_is_found(self) -> None:
        #: By node and by what claims ask for.
        self._found: defaultdict[int, dict[tuple[bytes, ...], list[list[Allocated]] | None]] = defaultdict(dict)
        self.changes += 1

    def _hold(self, holdings: Sequence[Holding]) -> None:
        self._holdings.add(holdings)
        self._forget_found_beside(holdings)

    def _release(self, holdings: Sequence[Holding]) -> None:
        self._holdings.remove(holdings)
        self._forget_found_beside(holdings)

    def _forget_found_beside(self, holdings: Sequence[Holding]) -> None:
        """Devices are somebody else's now: forget what was found on the nodes that reach them."""
        self.changes += 1
        for name in {self._inventory.node_of(PoolId(each.device.driver, each.device.pool)) for each in holdings}:
            if name is None:
                self._forget_what_is_found()
            elif name in self._nodes.index:
                self._found.pop(self._nodes.index[name], None)

    def reach(self, node: int) -> Reach:
        """What a node reaches, on the state that was noted last."""
        name, labels = self._nodes.names[node], self._nodes.labels[node]
        if node not in self._pools:
            self._pools[node] = self._inventory.pools(name, labels)
        return Reach(name, labels, self._pools[node], self._classes, self._selectors, self._holdings, self._rules)

    # What pods have.
    def _note(self, change: NodeChange) -> None:
        pod = change.pod
        if pod < 0 or not self.has_any(pod):
            return
        if change.present > 0:
            self._come(pod, change.node, undone=change.undone)
        elif change.present < 0:
            self._go(pod, undone=change.undone)

    def _come(self, pod: int, node: int, *, undone: bool) -> None:
        given_up = self._given_up[pod]
        for key in self._keys(pod):
            self._reserved[key].add(self._pods.uids[pod])
        for key in self._own(pod) & self._ended:
            self._ended.discard(key)
            self._hold(_holdings(self._known.get(key)))
        if undone and given_up:
            self._got_for[pod], again = given_up.pop()
            self._give(again)
        else:
            self._place(pod, node)

    def _go(self, pod: int, *, undone: bool) -> None:
        for key in self._keys(pod):
            self._reserved[key].discard(self._pods.uids[pod])
        got = self._got_for.pop(pod, ())
        ended = {key: self._got.pop(key) for key in got if undone or key[0] == pod or key in self._own(pod)}
        for allocation in ended.values():
            self._release(allocation.holdings)
        self._end_own(pod)
        if not undone:
            self._given_up[pod].append((got, ended))

    def _end_own(self, pod: int) -> None:
        """The pod's own claims of the input end with it."""
        for key in self._own(pod) - self._ended:
            if self._known.get(key) is not None:
                self._ended.add(key)
                self._release(_holdings(self._known[key]))

    def _give(self, allocations: _Allocations) -> None:
        self._got |= allocations
        for allocation in allocations.values():
            self._hold(allocation.holdings)

    def _keys(self, pod: int) -> list[ClaimKey]:
        """The claims of the input that a pod uses."""
        namespace = self._namespace(pod)
        return [(namespace, each.claim) for each in self._named(pod) if each.claim]

    def _own(self, pod: int) -> set[ClaimKey]:
        """Those of them that end with the pod."""
        namespace = self._namespace(pod)
        own: set[ClaimKey] = {(namespace, each.claim) for each in self._named(pod) if each.template and each.claim}
        made = self._made_for.get(self._pods.uids[pod])
        return own if made is None else own | {made}

    def _place(self, pod: int, node: int) -> None:
        """Give a pod on a node devices for its claims; what cannot be given is not."""
        if not self._state.holds[pod]:
            return
        try:
            claims = [each for each in self.of(pod) if each.allocation is None]
            found = self.found(node, self.wanted(claims)) if claims else None
        except (CycleError, NoClaimError):
            return
        if found is not None:
            name = self._nodes.names[node]
            self._got_for[pod] = tuple(each.key for each in claims)
            self._give({each.key: on_node(got, name) for each, got in zip(claims, found, strict=True)})

    # What pods ask for.
    def _namespace(self, pod: int) -> str:
        found: str = self._pods.tables.namespaces[self._pods.namespace[pod]]
        return found

    def _used(self, pod: int, claim: PodClaim) -> UsedClaim:
        return self._to_make(pod, claim) if claim.to_make else self._existing(pod, claim)

    def _to_make(self, pod: int, claim: PodClaim) -> UsedClaim:
        namespace, key = self._namespace(pod), (pod, claim.name)
        template = self._templates.get((namespace, claim.template))
        if template is None:
            raise NoClaimError(f'resourceclaimtemplate "{claim.template}" not found')
        named = NamedClaim(f"{self._pods.full_name(pod)}-{claim.name}", template.spec.spec.devices)
        return UsedClaim(key, named, self._got.get(key), is_own=True)

    def _existing(self, pod: int, claim: PodClaim) -> UsedClaim:
        full_name, key = self._pods.full_name(pod), (self._namespace(pod), claim.claim)
        if not claim.claim:
            raise NoClaimError(f'pod "{full_name}": ResourceClaim not created yet')
        found = self._claims.get(key)
        if found is None:
            raise NoClaimError(f'could not find v1.ResourceClaim "{"/".join(key)}"')
        if found.metadata.deletion_timestamp is not None:
            raise NoClaimError(f'resourceclaim "{claim.claim}" is being deleted')
        uid = self._pods.uids[pod]
        if claim.template and not any(
            each.controller and each.uid == uid for each in found.metadata.owner_references or ()
        ):
            raise NoClaimError(f"ResourceClaim {'/'.join(key)} was not created for Pod {full_name} (Pod is not owner)")
        named = NamedClaim("/".join(key), found.spec.devices)
        return UsedClaim(key, named, self._has(key), claim.template != "", bool(self._reserved[key] - {uid}))

    def _for_resources(self, pod: int, requested: Mapping[str, int]) -> UsedClaim:
        """The claim for the extended resources of a pod, which is there once the pod is bound."""
        named = NamedClaim(f"{self._namespace(pod)}/{NAME}", self._claim_for(int(self._pods.resources[pod]), requested))
        made = self._made_for.get(self._pods.uids[pod])
        if made is not None and self._known.get(made) is not None and made not in self._ended:
            return UsedClaim(made, named, self._known[made], is_own=True)
        key = (pod, NAME)
        return UsedClaim(key, named, self._got.get(key), is_own=True)

    def _claim_for(self, resources: int, requested: Iterable[str]) -> DeviceClaim:
        known = self._claims_for.get(resources)
        if known is None:
            parts = decode_requests(self._pods.tables.resources[resources].key)
            known = self._claims_for[resources] = claim_for(parts, self._serving, requested)
        return known

    def _has(self, key: ClaimKey) -> Allocation | None:
        known = None if key in self._ended else self._known.get(key)
        return known or self._got.get(key)


def _holdings(allocation: Allocation | None) -> tuple[Holding, ...]:
    return () if allocation is None else allocation.holdings
