"""The least that would let a pod move: computed, then asked of the scheduler and the strategy once more.

What the stages before placement hold against the pod is simply lifted. For placement each node with one thing against
it is an option; of each kind the cheapest few are tried on a copy of the cluster with that one change. Only those with
which the pod moves are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import structs

from restow.cluster.snapshot import Cluster
from restow.descheduling.evictor import CheckResult
from restow.descheduling.explaining.explanation import Change, ChangeKind, Step
from restow.descheduling.explaining.gates import OWN_LIMIT, PLAN_WIDE, Gates
from restow.descheduling.explaining.options import Option, Options
from restow.descheduling.explaining.scene import Answer, Heard, Scene
from restow.descheduling.job_failures import OF_JOBS
from restow.descheduling.limits import NAMESPACE, NODE, TOTAL, LimitUse
from restow.descheduling.namespace_consent import ANNOTATION, NOT_OPTED_IN, OPTED_OUT, UNKNOWN
from restow.descheduling.placement import Landing, Turn
from restow.policies.policy import Policy
from restow.scheduling.evidence import plural

#: Nodes tried for each kind of change; each costs about as much as hearing one strategy.
_TRIES = 2
_MOST_VICTIMS = 5
_KINDS: tuple[ChangeKind, ...] = ("resources", "uncordon", "toleration", "label", "volume", "pod")
#: Codes of placement that a change of the cluster can answer.
_CHANGEABLE = ("NoFit", "NeedsPreemption", "NoGain", "SameNode", "NotCertain")
#: Protections that a policy can lift by name.
_NAMED = (
    "SystemCriticalPods",
    "PodsWithLocalStorage",
    "PodsWithPVC",
    "PodsWithoutPDB",
    "PodsWithResourceClaims",
)
_LIFTED = {
    "PreferNoEviction": "with noEvictionPolicy: Preferred",
    "PriorityThreshold": "with a priorityThreshold above its priority",
    "MinPodAge": "once it is older than minPodAge",
    "LabelSelector": "with labels that the evictor's labelSelector matches",
    "NamespaceLabelSelector": "in a namespace that the evictor's namespaceLabelSelector matches",
    OPTED_OUT: f"without the annotation {ANNOTATION} of its namespace",
    NOT_OPTED_IN: f"with the annotation {ANNOTATION}: enabled on its namespace",
    "NoFit": "without nodeFit",
}
_FIELDS = {
    TOTAL[1]: "maxNoOfPodsToEvictTotal",
    NODE[1]: "maxNoOfPodsToEvictPerNode",
    NAMESPACE[1]: "maxNoOfPodsToEvictPerNamespace",
    OWN_LIMIT: "evictionLimits.node",
}
_CERTAINTY = Step("certainty", "with certainty: possible in the policy's restow section")


class Changes:
    """Looks for changes for one pod and the strategy that wants it to move."""

    def __init__(self, scene: Scene, heard: Heard, bounds: Mapping[str, float]) -> None:
        self._scene = scene
        self._pod = heard.pod
        self._heard = heard
        self._bounds = bounds
        self._policy = _alone(scene.policy, heard.turn)

    def of(self, gates: Gates) -> tuple[Change, ...]:
        """What would help, the best of each kind; empty where nothing is known to."""
        first = lifted(gates)
        answer = self._heard.answer
        if first is None or gates.placement.code in PLAN_WIDE or (answer is None and not first):
            return ()
        if answer is None:
            # No other stage is asked then.
            return (Change(first, None, (), None, verified=True),)
        if isinstance(answer.landing, Landing):
            return (self._change(first, answer.landing),) if first else ()
        return tuple(self._by_placing(first, answer, answer.landing[1]))

    def _by_placing(self, first: tuple[Step, ...], answer: Answer, code: str) -> Iterator[Change]:
        if answer.landing[0] == "budget":
            yield Change(first, None, (), None, verified=False)
        elif code == "Unknown":
            kinds = self._scene.evidence.decisive(self._pod)
            if kinds:
                step = Step("input", f"if the input told of {plural(kinds)}")
                yield Change((*first, step), None, (), None, verified=False)
        elif code == "UnknownScheduler":
            step = Step("scheduler", "with the profile of its scheduler in --scheduler-config")
            yield Change((*first, step), None, (), None, verified=False)
        elif code in _CHANGEABLE:
            yield from self._certain_enough(first, code)
            yield from self._with_options(first, answer)
            yield from self._without_victims(first, answer)

    def _certain_enough(self, first: tuple[Step, ...], code: str) -> Iterator[Change]:
        if code == "NotCertain" and (landing := self._ask()):
            yield self._change(first, landing)

    def _with_options(self, first: tuple[Step, ...], answer: Answer) -> Iterator[Change]:
        options = Options(self._scene, self._heard, answer, self._bounds).all()
        for kind in _KINDS:
            ranked = sorted((each for each in options if each.step.kind == kind), key=lambda each: each.cost)
            yield from islice(self._tried(first, ranked), 1)

    def _tried(self, first: tuple[Step, ...], ranked: Sequence[Option]) -> Iterator[Change]:
        for option in ranked[:_TRIES]:
            changed = option.change(self._scene.state.cluster) if option.change else None
            landing = self._ask(changed, option.gone)
            if landing is not None:
                yield self._change((*first, option.step), landing, self._alike(option, ranked))

    def _alike(self, chosen: Option, options: Iterable[Option]) -> tuple[str, ...]:
        """Other nodes that lack the same."""
        here = self._name(chosen.node)
        wording = chosen.step.message.replace(here, "")
        alike = [each for each in options if each.step.message.replace(self._name(each.node), "") == wording]
        return tuple(self._name(each.node) for each in alike if each.node != chosen.node)

    def _without_victims(self, first: tuple[Step, ...], answer: Answer) -> Iterator[Change]:
        """Without the pods that it would preempt, had it a higher priority than they or not."""
        victims = answer.decision.victims if answer.decision else ()
        if 0 < len(victims) <= _MOST_VICTIMS and (landing := self._ask(gone=victims)):
            assert answer.decision is not None
            names = " and ".join(map(self._scene.state.cluster.pods.full_name, victims))
            node = self._name(answer.decision.nominated_node)
            yield self._change((*first, Step("pod", f"without {names} on {node}", node)), landing)

    def _ask(self, cluster: Cluster | None = None, gone: Iterable[int] = ()) -> Landing | None:
        """Where the pod would land with a change, if the strategy would still want it to move."""
        scene = Scene(self._scene.setting, self._scene.moves, cluster=cluster, policy=self._policy, gone=gone)
        heard = scene.hear(self._pod).wishes.get(self._heard.turn)
        landing = heard.answer.landing if heard is not None and heard.answer is not None else None
        return landing if isinstance(landing, Landing) else None

    def _change(self, steps: tuple[Step, ...], landing: Landing, others: tuple[str, ...] = ()) -> Change:
        if landing.certainty == "possible" and self._scene.policy.restow.certainty == "certain":
            steps = (*steps, _CERTAINTY)
        to = self._name(landing.target) if landing.target >= 0 else None
        return Change(steps, to, others, landing.certainty, verified=True)

    def _name(self, node: int) -> str:
        name: str = self._scene.state.cluster.nodes.names[node]
        return name


def _alone(policy: Policy, turn: Turn) -> Policy:
    """The policy with one strategy, and any certainty."""
    profiles = tuple(
        structs.replace(
            profile,
            deschedule=tuple(each for each in profile.deschedule if each == turn.plugin),
            balance=tuple(each for each in profile.balance if each == turn.plugin),
        )
        for profile in policy.profiles
        if profile.name == turn.profile
    )
    return structs.replace(policy, profiles=profiles, restow=structs.replace(policy.restow, certainty="possible"))


def lifted(gates: Gates) -> tuple[Step, ...] | None:
    """What would open the stages before placement; None where nothing that one could wish for does."""
    protections = [_without(each) for each in gates.checks if not each.passes]
    limits = [_raised(each) for each in gates.limits if each.used >= each.limit]
    steps = [*protections, *limits, *_more_disruptions(gates)]
    return None if None in steps else tuple(each for each in steps if each is not None)


def _without(check: CheckResult) -> Step | None:
    """Lift a check; a pod that nobody would create elsewhere has better to stay."""
    if check.code in _NAMED:
        return Step("protection", f"without the protection {check.code}")
    if check.code == "MinReplicas":
        return Step("protection", "with a minReplicas that its owner reaches")
    if check.code == UNKNOWN:
        return Step("input", "if the input told of Namespaces")
    return Step("protection", _LIFTED[check.code]) if check.code in _LIFTED else None


def _raised(use: LimitUse) -> Step:
    return Step("limit", f"with {_FIELDS[use.code]} of {use.used + 1}")


def _more_disruptions(gates: Gates) -> Iterator[Step]:
    if gates.budget.code == "Unknown":
        yield Step("input", f"if the input told of {plural(gates.untold)}")
    elif gates.budget.code == "SeveralBudgets":
        yield Step("budget", "if only one budget covered it")
    elif gates.budget.code in OF_JOBS:
        yield Step("budget", "with a podFailurePolicy of its Job that ignores DisruptionTarget first")
    elif gates.budget.passes is False:
        yield Step("budget", f"if {gates.budgets[0].name} allowed 1 more disruption")
