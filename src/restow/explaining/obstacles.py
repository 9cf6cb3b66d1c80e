"""What stands in the way of a pod: the answers of all stages of the arbiter, and of each node what keeps the pod off.

Stages answer also after the first that refuses the pod. Of a node there are the resources that it lacks, for the pod or for
a strategy's bounds, its taints, and the zones of the pod's volumes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from restow.cluster.amounts import LARGEST
from restow.cluster.nodes import PODS
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.descheduling.evictor import CheckResult, DefaultEvictor
from restow.descheduling.limits import LimitUse
from restow.descheduling.placement import Landing, PluginRef, probability_text
from restow.explaining.explanation import Reason, StageResult
from restow.explaining.what_if import ReplacementAnswer, Response, WhatIf
from restow.kube.objects import PersistentVolume, PersistentVolumeClaim, Taint
from restow.kube.quantity import amount, enough, enough_value
from restow.kube.taints import HARD_EFFECTS
from restow.policies.codes import Certainty, Placement, RefusalCode, Stage
from restow.policies.policy import Profile
from restow.proving.disruption_budgets import OF_JOBS, BudgetUse
from restow.scheduling.framework.verdicts import PluginRejection
from restow.scheduling.loop.missing_data import plural_kinds
from restow.scheduling.plugins.node_resources_fit import NAME as FIT
from restow.scheduling.plugins.taint_toleration import scheduler_tolerates

#: A limit that a strategy has of its own.
OWN_LIMIT = "EvictionLimits"
#: Refusals that only the plan as a whole can give: the pod itself would find a place.
PLAN_WIDE = (RefusalCode.CYCLE, RefusalCode.REVERSAL)
_UNKNOWN = (RefusalCode.UNKNOWN, RefusalCode.UNKNOWN_SCHEDULER)

_NOT_ASKED = "not checked: placement upstream leaves it to the API server"
_NOT_PREDICTED = "not checked: placement upstream does not predict where pods land"

_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


@dataclass(slots=True, frozen=True)
class Gates:
    """The answers of all stages about one pod and one strategy."""

    evictor: StageResult
    limit: StageResult
    budget: StageResult
    placement: StageResult
    checks: tuple[CheckResult, ...]
    limits: tuple[LimitUse, ...]
    #: The kinds that the input lacks and that could forbid the eviction.
    missing: tuple[str, ...]

    def all(self) -> tuple[StageResult, ...]:
        """In the arbiter's order."""
        return self.evictor, self.limit, self.budget, self.placement


@dataclass(slots=True, frozen=True)
class MountedClaim:
    """A claim that a pod mounts, its volume, and the zones of the volume; no zones if it names none."""

    name: str
    volume: str
    zones: tuple[str, ...]


def gates_of(
    what_if: WhatIf, response: Response, decided_by: tuple[Profile, DefaultEvictor], refusal: Reason | None
) -> Gates:
    """Check every stage for a pod that a strategy wants to move."""
    pod = response.pod
    checks = tuple(_checks(what_if, pod, decided_by[1]))
    limits = tuple(_limits(what_if, pod, response.ref, decided_by[0]))
    budgets = what_if.budgets()
    if refusal is not None and refusal.stage == Stage.BUDGET and budgets.refusal(pod) is None:
        # A virtual machine that has no place to be migrated to could only be evicted.
        budgets = budgets.of_evictions()
    return Gates(
        evictor=_evictor(checks),
        limit=_limit(what_if, pod, limits),
        budget=_budget(what_if, pod, budgets.uses(pod), budgets.refusal(pod)),
        placement=_placement(what_if, response, refusal),
        checks=checks,
        limits=limits,
        missing=what_if.missing_data.evicting(pod),
    )


def _checks(what_if: WhatIf, pod: int, evictor: DefaultEvictor) -> list[CheckResult]:
    has_uid = bool(what_if.state.cluster.pods.uids[pod])
    return [*evictor.checks(pod), CheckResult(RefusalCode.MISSING_UID, "pod is missing UID", has_uid)]


def _limits(what_if: WhatIf, pod: int, ref: PluginRef, profile: Profile) -> list[LimitUse]:
    limits = what_if.limits()
    uses = limits.uses(what_if.state, pod)
    own = getattr(profile.args.get(ref.plugin), "eviction_limits", None)
    if own is not None and own.node is not None:
        refs = [each for each, _, _ in what_if.runner.refs()]
        uses.append(LimitUse(OWN_LIMIT, limits.moved(refs.index(ref), int(what_if.state.node[pod])), own.node))
    return uses


def _evictor(checks: Sequence[CheckResult]) -> StageResult:
    failing = [each for each in checks if not each.passes]
    if not failing:
        return StageResult(Stage.EVICTOR, True, f"passes {len(checks)} of {len(checks)} checks")
    text = "; ".join(each.message for each in failing)
    passes = None if failing[0].code == RefusalCode.UNKNOWN else False
    return StageResult(Stage.EVICTOR, passes, f"fails {len(failing)} of {len(checks)} checks: {text}", failing[0].code)


def _limit(what_if: WhatIf, pod: int, uses: Sequence[LimitUse]) -> StageResult:
    if not uses:
        return StageResult(Stage.LIMIT, True, "none set")
    worst = min(uses, key=lambda each: each.limit - each.used)
    left = max(0, worst.limit - worst.used)
    node = what_if.state.cluster.nodes.names[int(what_if.state.node[pod])]
    places: dict[str, str] = {
        RefusalCode.MAX_TOTAL: "in the plan",
        RefusalCode.MAX_PER_NODE: f"on {node}",
        RefusalCode.MAX_PER_NAMESPACE: f"in namespace {what_if.state.cluster.pods.full_name(pod).partition('/')[0]}",
        OWN_LIMIT: f"on {node} (the strategy's own limit)",
    }
    where = places[worst.code]
    return StageResult(
        Stage.LIMIT, left > 0, f"{left} of {worst.limit} evictions left {where}", "" if left else worst.code
    )


def _budget(what_if: WhatIf, pod: int, uses: Sequence[BudgetUse], refusal: tuple[str, str] | None) -> StageResult:
    if what_if.setting.placement != Placement.PROVE:
        return StageResult(Stage.BUDGET, None, _NOT_ASKED)
    unknown = what_if.missing_data.evicting(pod)
    if unknown:
        return StageResult(Stage.BUDGET, None, f"the input lacks {plural_kinds(unknown)}", RefusalCode.UNKNOWN)
    if refusal is not None and (len(uses) > 1 or refusal[0] in OF_JOBS):
        return StageResult(Stage.BUDGET, False, refusal[1], refusal[0])
    if not uses:
        return StageResult(Stage.BUDGET, True, "no budget covers it")
    use = uses[0]
    left = f"{use.left} disruption{'' if use.left == 1 else 's'} left"
    message = f"{use.name}: {use.healthy} healthy, {use.wanted} required, {left}"
    return StageResult(Stage.BUDGET, refusal is None, message, refusal[0] if refusal else "")


def _placement(what_if: WhatIf, response: Response, refusal: Reason | None) -> StageResult:
    answer = response.answer
    if answer is None:
        return StageResult(Stage.PLACEMENT, None, _NOT_PREDICTED)
    if answer.decision is None and not isinstance(answer.landing, Landing):
        _, code, message = answer.landing
        return StageResult(Stage.PLACEMENT, None if code in _UNKNOWN else False, message, code)
    if isinstance(answer.landing, Landing):
        if refusal is not None and refusal.code in PLAN_WIDE:
            return StageResult(Stage.PLACEMENT, False, refusal.message, refusal.code)
        return StageResult(Stage.PLACEMENT, True, _landing(what_if, answer.landing))
    stage, code, message = answer.landing
    fitting = _fitting(response)
    if stage == Stage.BUDGET:
        return StageResult(Stage.PLACEMENT, True, fitting)
    # The reasons for the other nodes are listed node by node.
    text = "" if code == RefusalCode.NO_FIT else f"; {message.partition('; the other nodes:')[0]}"
    return StageResult(Stage.PLACEMENT, False, f"{fitting}{text}", code)


def _landing(what_if: WhatIf, landing: Landing) -> str:
    if landing.target < 0:
        return "no replacement needed"
    node = what_if.state.cluster.nodes.names[landing.target]
    if landing.steering is not None:
        return f"would be steered to {node}"
    if landing.certainty == Certainty.CERTAIN or landing.probability is None:
        return f"would land on {node}, {landing.certainty}"
    return f"would land on {node}, {landing.certainty} ({probability_text(landing.probability)})"


def _fitting(response: Response) -> str:
    """How many nodes fit, not counting the pod's own."""
    assert response.answer is not None
    passes = np.array([not each for each in response.answer.rejections_by_node], dtype=bool)
    others = len(passes) - 1
    fitting = int(passes.sum()) - int(passes[response.source])
    nodes = "other node fits" if others == 1 else f"other nodes {'fits' if fitting == 1 else 'fit'}"
    return f"{fitting} of {others} {nodes}"


def mounted_claims(cluster: ClusterSnapshot, pod: int) -> list[MountedClaim]:
    """The claims of a pod that have a volume, in the order of its spec."""
    pods = cluster.pods
    namespace = pods.tables.namespaces[pods.namespace[pod]]
    found = []
    for mounted in pods.tables.volumes[pods.volumes[pod]]:
        claim: PersistentVolumeClaim | None = cluster.kind("PersistentVolumeClaim").get((namespace, mounted.claim))
        volume = cluster.kind("PersistentVolume").get(("", claim.spec.volume_name)) if claim else None
        if volume is not None:
            found.append(MountedClaim(mounted.claim, volume.metadata.name, _zones(volume)))
    return found


def _zones(volume: PersistentVolume) -> tuple[str, ...]:
    labels = volume.metadata.labels or {}
    named = [labels[key] for key in _ZONES if key in labels]
    affinity = volume.spec.node_affinity
    terms = (affinity.required.node_selector_terms or ()) if affinity and affinity.required else ()
    for term in terms:
        for each in term.match_expressions or ():
            if each.key in _ZONES and each.operator == "In":
                named += each.values or ()
    return tuple(dict.fromkeys(named))


_INSUFFICIENT = "Insufficient "
_TOO_MANY = "Too many pods"


def untolerated(cluster: ClusterSnapshot, pod: int, node: int) -> list[Taint]:
    """The taints that keep a pod off a node."""
    pods, nodes = cluster.pods, cluster.nodes
    tolerations, taints = pods.tables.tolerations[pods.tolerations[pod]], nodes.taint_sets[nodes.taints[node]]
    return [each for each in taints if each.effect in HARD_EFFECTS and not scheduler_tolerates(tolerations, each)]


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it: ``gpu=true:NoSchedule``."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


@dataclass(slots=True, frozen=True)
class Shortfall:
    """The amounts on nodes that one answer depends on."""

    state: ClusterState
    pod: int
    answer: ReplacementAnswer

    def to_fit(self, node: int) -> dict[int, int]:
        """How much more of each resource (by row) a node needs so that NodeResourcesFit passes."""
        needs = {
            row: self._wanted(row) - self.free(row, node) for row in self._rows(self.answer.rejections_by_node[node])
        }
        return {row: need for row, need in needs.items() if need > 0}

    def to_stay_below(self, node: int, bounds: Mapping[str, float]) -> dict[int, int] | None:
        """How much more of which resources a node needs to stay below these percentages with the pod; None if never."""
        needs: dict[int, int] = {}
        nodes = self.state.cluster.nodes
        for name, percentage in bounds.items():
            row = nodes.resource(name)
            used = 0 if row is None else self._used(row, node) + self._wanted(row)
            if row is None or used == 0:
                continue
            if percentage <= 0:
                return None
            allocatable = int(nodes.allocatable[row, node])
            # The bound is cut to whole units: one more is always enough.
            need = -int(-used * 100 // percentage) - allocatable
            if int(percentage * 0.01 * allocatable) < used:
                needs[row] = max(need, 1)
                if int(percentage * 0.01 * (allocatable + needs[row])) < used:
                    needs[row] += 1 + int(100 / percentage)
        return needs

    def free(self, row: int, node: int) -> int:
        """How much of a resource is free on a node; at least 0."""
        return int(self.state.cluster.nodes.allocatable[row, node]) - self._used(row, node)

    def arrived(self, row: int, node: int) -> int:
        """How much more of a resource is used on a node than before the plan; negative if it is less."""
        before = ClusterState(self.state.cluster)
        used = before.running[node] if row == PODS else before.requested[row, node]
        return self._used(row, node) - int(used)

    def text(self, node: int) -> str:
        """What the pod needs and what is free, for people."""
        return ", ".join(self._text(row, node) for row in self._rows(self.answer.rejections_by_node[node]))

    def sentence(self, needs: Mapping[int, int]) -> str:
        """Amounts for people: ``500m more CPU and 4.9Gi more memory``."""
        return " and ".join(
            f"{enough(self._name(row), need)} more {_title(self._name(row), need)}"
            for row, need in sorted(needs.items())
            if need
        )

    def rounded(self, needs: Mapping[int, int]) -> dict[int, int]:
        """The amounts that the sentence names: rounded up, so that they are enough."""
        return {row: enough_value(self._name(row), need) for row, need in needs.items()}

    def amounts(self, needs: Mapping[int, int]) -> dict[str, int]:
        """The needs by resource name."""
        return {self._name(row): need for row, need in sorted(needs.items()) if need}

    def can_be_added(self, node: int, needs: Mapping[int, int]) -> bool:
        """Whether a node can have the rounded amounts more: no amount of a node exceeds int64."""
        nodes = self.state.cluster.nodes
        has = {row: int(max(nodes.allocatable[row, node], nodes.capacity[row, node])) for row in needs}
        return all(has[row] + need <= LARGEST for row, need in self.rounded(needs).items())

    def share(self, node: int, needs: Mapping[int, int]) -> float:
        """How large the needs are as a share of what the node has."""
        allocatable = self.state.cluster.nodes.allocatable
        return sum(need / max(1, int(allocatable[row, node])) for row, need in needs.items())

    def _rows(self, rejections: Iterable[PluginRejection]) -> list[int]:
        reasons = [reason for each in rejections if each.plugin == FIT for reason in each.outcome.reasons]
        names = [each.removeprefix(_INSUFFICIENT) for each in reasons if each.startswith(_INSUFFICIENT)]
        rows = [PODS] if _TOO_MANY in reasons else []
        return rows + [row for name in names if (row := self.state.cluster.nodes.resource(name)) is not None]

    def _text(self, row: int, node: int) -> str:
        name = self._name(row)
        if row == PODS:
            return f"holds {int(self.answer.running[node])} of {self.state.cluster.nodes.allocatable[row, node]} pods"
        free = amount(name, max(0, self.free(row, node)))
        return f"needs {amount(name, self._wanted(row))} {_title(name, 2)}, {free} free"

    def _wanted(self, row: int) -> int:
        return 1 if row == PODS else int(self.state.requests_of(self.pod)[row])

    def _used(self, row: int, node: int) -> int:
        return int(self.answer.running[node]) if row == PODS else int(self.answer.requested[row, node])

    def _name(self, row: int) -> str:
        return self.state.cluster.nodes.resources[row]


def _title(resource: str, count: int) -> str:
    if resource == "pods":
        return "pod slot" if count == 1 else "pod slots"
    return "CPU" if resource == "cpu" else resource
