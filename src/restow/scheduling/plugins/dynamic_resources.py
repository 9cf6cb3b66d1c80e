"""DynamicResources: the devices that a pod claims must be usable from its node, or be found there.

A claim that has devices ties the pod to the nodes where these can be used; for the others the scheduler's own search looks
on each node (``scheduling.devices``). While it is tried out which pods a node could do without, devices stay taken: they are
free once a claim is gone, not its pod. A pod whose class or claim cannot be read is an error of the whole cycle. Extended
resources that a DeviceClass serves are claimed, too. Source: Kubernetes 1.33 to 1.37.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.node_matching import matches
from restow.cluster.pod_values import PodClaim
from restow.kube.objects.devices import DeviceRequest, DeviceSubRequest
from restow.scheduling.devices.allocated import Allocation, Readiness
from restow.scheduling.devices.allocation import Allocated
from restow.scheduling.devices.claims import CLAIM, CLASS, SLICE, WAITED_FOR, Claims, NoClaimError, UsedClaim, Wanted
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin, SchedulerPluginArgs
from restow.scheduling.framework.extension_points import (
    NO_PODS,
    PASSES,
    PROCEED,
    SKIP,
    CycleError,
    FilterResult,
    Outcome,
    PreFiltered,
    Scores,
    UnknownError,
    at_feasible,
    scaled,
)
from restow.scheduling.framework.minors import (
    ALTERNATIVES_SCORED,
    CLAIMS_ENABLED,
    NO_CLAIMS_UNTOLD,
    SCORED_BY_CLAIM,
    holds,
)
from restow.scheduling.framework.post_filtering import Handle, Preemption
from restow.scheduling.framework.verdicts import Verdicts

NAME = "DynamicResources"

_UNAVAILABLE = Outcome(("resourceclaim not available on the node",), unresolvable=True)
_NOT_FOUND = Outcome(("cannot allocate all claims",), unresolvable=True)
_INVALID_POOLS = Outcome(("invalid resource pools were encountered",), unresolvable=True)
_OUTCOMES = (_UNAVAILABLE, _NOT_FOUND, _INVALID_POOLS)
_NO_CLAIMS = Preemption(message="no new claims to deallocate", keeps_nomination=True)
_DEALLOCATED = Preemption(message="deallocation of ResourceClaim completed", keeps_nomination=True)
_HOPELESS = Preemption(message="still not schedulable", keeps_nomination=True)
#: Where that is not told: up to 1.33, where the plugin is disabled, and since 1.37.
_NOTHING = Preemption(keeps_nomination=True)
#: Its error where a pod is ruled out before it has seen it.
_UNSEEN = Preemption(message="not found", keeps_nomination=True, is_final=True)
#: The first of so many alternatives scores highest. Source: FirstAvailableDeviceRequestMaxSize, Kubernetes 1.36.
_MOST_ALTERNATIVES: Final = 8
#: What has to be known to find devices.
_NEEDED: Final = (CLAIM, CLASS, SLICE)


class DynamicResourcesArgs(SchedulerPluginArgs, frozen=True):
    """How long kube-scheduler searches, and waits for devices; neither is modelled."""

    filter_timeout: str | None = None
    binding_timeout: str | None = None


@dataclass(slots=True)
class _Cycle:
    """One pod, with the devices as they were when it was asked about."""

    pod: int
    changes: int
    claims: Sequence[UsedClaim]
    #: What those of them ask for that have no devices.
    wanted: Wanted
    #: What its claims without devices would get, by node.
    found: dict[int, list[list[Allocated]] | None] = field(default_factory=dict)
    #: Claims that some node is the wrong one for, by position.
    unavailable: set[int] = field(default_factory=set)

    @property
    def has_no_choice(self) -> bool:
        """Whether all nodes score alike: no claim has devices already, and none has alternatives."""
        requests = (each for claim in self.wanted.claims for each in claim.devices.requests or ())
        return len(self.wanted.claims) == len(self.claims) and not any(each.first_available for each in requests)


class _Latest:
    """What was asked last, by any profile."""

    def __init__(self, _context: Context) -> None:
        self.cycle: _Cycle | None = None


class DynamicResources:
    """Filter and score."""

    name = NAME

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cluster = context.state.cluster
        self._pods = context.state.cluster.pods
        self._nodes = context.state.cluster.nodes
        self._is_enabled = holds(CLAIMS_ENABLED, context.state.cluster)
        self._scores_alternatives = holds(ALTERNATIVES_SCORED, context.state.cluster)
        self._scores_by_claim = holds(SCORED_BY_CLAIM, context.state.cluster)
        self._latest = context.shared(_Latest)

    @property
    def _claims(self) -> Claims:
        return self._context.shared(Claims)

    def applies_to(self, pod: int) -> bool:
        """Pods with claims, and those that request what a DeviceClass serves."""
        named: tuple[PodClaim, ...] = self._pods.tables.claims[self._pods.claims[pod]]
        return self._is_enabled and (bool(named) or self._is_served(pod))

    def affecting_pods(self, _pod: int) -> IntArray:
        """None: devices stay taken while pods are tried out."""
        return NO_PODS

    def prefilter(self, pod: int) -> PreFiltered:
        """Fail where a claim or a class is missing; UnknownError where not all is known that counts."""
        before, self._latest.cycle = self._latest.cycle, None
        if not self.applies_to(pod):
            return SKIP
        if why := self._unknown(pod):
            raise UnknownError(why).of(NAME)
        self._claims.catch_up()
        if before is not None and (before.pod, before.changes) == (pod, self._claims.changes):
            self._latest.cycle = before
            return PROCEED
        try:
            self._latest.cycle = self._cycle(pod)
        except NoClaimError as error:
            return PreFiltered(failure=Outcome((str(error),), unresolvable=True))
        return PROCEED

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes where devices are that the pod's claims have, or where none are left that they ask for."""
        cycle = self._of(pod)
        category = np.full(len(nodes), PASSES)
        if cycle.wanted.claims:
            for position, node in enumerate(nodes.tolist()):
                if self._found(cycle, node) is None:
                    category[position] = 2 if self._claims.has_invalid_pools(node) else 1
        passes = np.equal(category, PASSES)
        for position, claim in enumerate(cycle.claims):
            if claim.allocation is not None:
                elsewhere = passes & ~self._is_usable(claim.allocation)[nodes]
                category[elsewhere] = 0
                if elsewhere.any():
                    cycle.unavailable.add(position)
        return FilterResult(category, _OUTCOMES)

    def _is_usable(self, allocation: Allocation) -> BoolArray:
        """On which nodes what a claim has can be used, bool[node]; on none if a driver could not prepare it."""
        everywhere = np.full(len(self._nodes), allocation.readiness is not Readiness.FAILED)
        return everywhere if allocation.nodes is None else everywhere & matches(allocation.nodes, self._nodes)

    def score(self, pod: int, nodes: IntArray) -> Scores | int | None:
        """Prefer nodes that have the earlier of alternatives (``firstAvailable``)."""
        if not self._scores_alternatives or not self.applies_to(pod) or len(nodes) == 0:
            return None
        cycle = self._of(pod)
        if not cycle.wanted.claims or cycle.has_no_choice:
            return None
        scores = np.array([self._score(cycle, node) for node in nodes.tolist()], dtype=np.int64)
        return scaled(scores, int(scores.max()))

    def score_all(self, pod: int, feasible: BoolArray) -> Scores | int | None:
        """The scores of all nodes; no opinion about a pod without claims, whatever nodes there are."""
        return at_feasible(self, pod, feasible) if self._scores_alternatives and self.applies_to(pod) else None

    def _unknown(self, pod: int) -> str:
        """Why it is not known which devices a pod gets; empty if it is."""
        if both := self._claims.undecided(pod):
            return f"it requests {both}, which some nodes have and a DeviceClass serves on others; restow models one or the other"
        lacking = [kind for kind in _NEEDED if not self._cluster.has_list(kind)]
        served = min(self._claims.served(pod), default="")
        what = f"it requests {served}, which a DeviceClass serves" if served else "it claims devices"
        return f"{what}, and objects of kind {lacking[0]} are not known here" if lacking else ""

    def _is_served(self, pod: int) -> bool:
        """Whether a pod requests extended resources that a DeviceClass serves, at least on some nodes."""
        return bool(self._cluster.kind(CLASS)) and bool(self._claims.served(pod) or self._claims.undecided(pod))

    def _cycle(self, pod: int) -> _Cycle:
        """The cycle of a pod that begins now; NoClaimError where a claim or a class is missing."""
        claims = self._claims.of(pod)
        if any(each.allocation is not None and each.allocation.readiness is Readiness.WAITED_FOR for each in claims):
            raise UnknownError(WAITED_FOR).of(NAME)
        wanted = self._claims.wanted(claims)
        for request in (request for claim in wanted.claims for request in claim.devices.requests or ()):
            for name, each in _alternatives(request):
                if not self._claims.has_class(each.device_class_name):
                    raise NoClaimError(f"request {name}: device class {each.device_class_name} does not exist")
        return _Cycle(pod, self._claims.changes, claims, wanted)

    def _of(self, pod: int) -> _Cycle:
        """The cycle of a pod; a new one where another pod was asked about since."""
        if self._latest.cycle is None or self._latest.cycle.pod != pod:
            self.prefilter(pod)
        cycle = self._latest.cycle
        if cycle is None:
            # Scored without having been filtered, which takes a profile that asks for it.
            raise CycleError(f'running Score plugins: plugin "{NAME}" failed with: not found')
        return cycle

    def _found(self, cycle: _Cycle, node: int) -> list[list[Allocated]] | None:
        if node not in cycle.found:
            try:
                cycle.found[node] = self._claims.found(node, cycle.wanted)
            except UnknownError as error:
                raise error.of(NAME) from None
            except CycleError as error:
                raise CycleError(f'running "{NAME}" filter plugin: {error}') from error
        return cycle.found[node]

    def _score(self, cycle: _Cycle, node: int) -> int:
        found = self._found(cycle, node)
        return 0 if found is None else sum(map(_worth, cycle.claims, self._chosen(cycle, found)))

    def _chosen(self, cycle: _Cycle, found: list[list[Allocated]]) -> list[set[str]]:
        """What was chosen for the requests of each claim. CycleError up to 1.36 where some claims have devices already."""
        chosen = [{each.request for each in devices} for devices in found]
        if len(found) == len(cycle.claims):
            return chosen
        if not self._scores_by_claim:
            raise CycleError(
                f'running Score plugins: plugin "{NAME}" failed with: number of allocations {len(found)} is smaller than '
                "number of claims"
            )
        rest = iter(chosen)
        return [
            next(rest) if each.allocation is None else {had.request for had in each.allocation.devices}
            for each in cycle.claims
        ]


def _worth(claim: UsedClaim, chosen: set[str]) -> int:
    """The score of what a claim gets: the earlier of alternatives, the more."""
    return sum(
        _MOST_ALTERNATIVES - at
        for request in claim.named.devices.requests or ()
        for at, each in enumerate(request.first_available or ())
        if f"{request.name}/{each.name}" in chosen
    )


def _alternatives(request: DeviceRequest) -> Iterator[tuple[str, DeviceSubRequest]]:
    """The alternatives of a request with their full names; the request itself where it has none."""
    if request.first_available:
        for each in request.first_available:
            yield f"{request.name}/{each.name}", each
    else:
        yield request.name, request.exactly or DeviceSubRequest()


class Deallocation:
    """PostFilter: a claim that has devices elsewhere, and that nobody else uses, is given others."""

    def __init__(self, handle: Handle) -> None:
        self._prefilters = handle.prefilters
        cluster = handle.context.state.cluster
        self._is_enabled = holds(CLAIMS_ENABLED, cluster)
        self._latest = handle.context.shared(_Latest)
        is_silent = holds(NO_CLAIMS_UNTOLD, cluster)
        self._without_claims = _NOTHING if is_silent else _NO_CLAIMS
        self._hopeless = _NOTHING if is_silent else _HOPELESS

    def post_filter(self, pod: int, verdicts: Verdicts) -> Preemption:
        """What can be done about the pod's claims."""
        if not self._is_enabled:
            return _NOTHING
        if self._is_unseen(verdicts):
            return _UNSEEN
        cycle = self._latest.cycle
        if cycle is None or cycle.pod != pod or not cycle.claims:
            return self._without_claims
        unused = [cycle.claims[each] for each in cycle.unavailable]
        return _DEALLOCATED if any(not each.is_shared for each in unused) else self._hopeless

    def _is_unseen(self, verdicts: Verdicts) -> bool:
        """Whether another plugin ruled the pod out before this one."""
        if NAME not in self._prefilters:
            return True
        ruled_out = verdicts.prefilter
        if ruled_out is None or not ruled_out.outcome.unresolvable:
            return False
        return ruled_out.plugin not in self._prefilters[self._prefilters.index(NAME) :]


PLUGIN = SchedulerPlugin(
    NAME,
    ("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"),
    lambda context, _args: DynamicResources(context),
    make_post_filter=lambda handle, _args: Deallocation(handle),
    args=DynamicResourcesArgs,
    weight=2,
    dependent=("filter",),
    # Where the queue matters, pods with resource claims are left to others: nothing helps them.
    interests=(),
    not_modelled="extended resources that some nodes have and a DeviceClass serves on others are not known",
)
