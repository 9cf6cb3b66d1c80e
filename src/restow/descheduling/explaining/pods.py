"""Why one pod stays, or where it goes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import restow
from restow.cluster.nodes import BASIC_RESOURCES, PODS
from restow.cluster.owners import workload_of
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.descheduling.evictor import DefaultEvictor
from restow.descheduling.explaining.changes import ChangeSearch
from restow.descheduling.explaining.explanation import (
    EvictorCheck,
    LandingPlaces,
    Load,
    PodExplanation,
    PodOutcome,
    Reason,
    Rejected,
    StrategyView,
)
from restow.descheduling.explaining.gates import gates_of, mounted_claims
from restow.descheduling.explaining.options import taint_text
from restow.descheduling.explaining.shortfall import Shortfall
from restow.descheduling.explaining.strategy_views import Classes
from restow.descheduling.explaining.trials import Trials
from restow.descheduling.explaining.what_if import ReplacementAnswer, Response, Responses, Setting, WhatIf
from restow.descheduling.placement import PluginRef
from restow.descheduling.plan import OutputMetadata, OwnerRef, PodRef
from restow.descheduling.planning import named_move
from restow.kube.taints import HARD_EFFECTS
from restow.kube.timestamps import format_time
from restow.policies.policy import Profile
from restow.scheduling.framework.verdicts import PluginRejection
from restow.scheduling.plugins import node_resources_fit, taint_toleration, volume_binding, volume_zone
from restow.scheduling.plugins.tolerations import scheduler_tolerates
from restow.workloads.groups import Groups, group_kinds

#: Digits of shares and of probabilities.
_DIGITS = 4


def explain_pod(setting: Setting, pod: int) -> PodExplanation:
    """Everything about one observed pod of the plan's cluster."""
    cluster, pods = setting.cluster, setting.cluster.pods
    move = setting.move_of(pod)
    node = int(pods.node[pod])
    workload = workload_of(cluster, pod)
    group = Groups(cluster, group_kinds(setting.policy.restow.group_label)).of(pod)
    views, answer = ((), None) if move is not None or node < 0 else _Views(setting, pod).all()
    return PodExplanation(
        metadata=metadata_of(setting),
        pod=pod_ref(cluster, pod),
        owner=None if workload is None else OwnerRef(workload.kind, workload.name),
        node=cluster.nodes.names[node] if node >= 0 else None,
        load=_load(setting, node) if node >= 0 else None,
        outcome=_outcome(node, moves=move is not None),
        move=None if move is None else named_move(cluster, move),
        strategies=views,
        places=None if answer is None else _places(setting, pod, answer),
        group=None if group is None else str(group),
    )


def metadata_of(setting: Setting) -> OutputMetadata:
    """The metadata of the plan that is explained."""
    return OutputMetadata(format_time(setting.now), setting.placement, restow.__version__)


def pod_ref(cluster: ClusterSnapshot, pod: int) -> PodRef:
    """Which pod."""
    pods = cluster.pods
    return PodRef(pods.tables.namespaces[pods.namespace[pod]], pods.names[pod], pods.uids[pod])


def _outcome(node: int, *, moves: bool) -> PodOutcome:
    if moves:
        return "moves"
    if node >= 0:
        return "stays"
    return "pending" if node == PENDING else "lost"


def _load(setting: Setting, node: int) -> Load:
    return Load(_shares(ClusterState(setting.cluster), node), _shares(setting.cycle.state, node))


def _shares(state: ClusterState, node: int) -> dict[str, float]:
    nodes = state.cluster.nodes
    rows = [row for row, name in enumerate(nodes.resources) if name != BASIC_RESOURCES[PODS]]
    having = [row for row in rows if nodes.allocatable[row, node] > 0]
    return {
        nodes.resources[row]: round(int(state.requested[row, node]) / int(nodes.allocatable[row, node]), _DIGITS)
        for row in having
    }


@dataclass(slots=True, frozen=True)
class _Asked:
    """What-if evaluations on one state, and the strategies' responses."""

    what_if: WhatIf
    responses: Responses
    classes: Classes


class _Views:
    """What all strategies want of one pod that stays."""

    def __init__(self, setting: Setting, pod: int) -> None:
        self._setting = setting
        self._pod = pod
        self._refusals = {
            each.ref: Reason(*reason)
            for each in setting.cycle.record.refusals
            if (reason := setting.reason_of(each, pod)) is not None
        }
        self._after = self._ask(WhatIf(setting, setting.cycle.record.evictions))
        self._first: _Asked | None = None
        self._trials = Trials(setting, pod)

    def all(self) -> tuple[tuple[StrategyView, ...], ReplacementAnswer | None]:
        """Each strategy's view, and the scheduler's answer where one of them asked."""
        answers: list[ReplacementAnswer] = []
        views = []
        for ref, profile, evictor in self._after.what_if.runner.refs():
            asked, response = self._suggested(ref)
            views.append(self._view(ref, profile, evictor, asked, response))
            if response is not None and response.answer is not None:
                answers.append(response.answer)
        return tuple(views), answers[0] if answers else None

    def _ask(self, what_if: WhatIf) -> _Asked:
        return _Asked(what_if, what_if.ask(self._pod), Classes(what_if))

    def _before(self) -> _Asked:
        if self._first is None:
            self._first = self._ask(WhatIf(self._setting, ()))
        return self._first

    def _suggested(self, ref: PluginRef) -> tuple[_Asked, Response | None]:
        """What a strategy wants once the plan is carried out; else what it wanted before and the plan refused."""
        response = self._after.responses.suggested.get(ref)
        if response is None and ref in self._refusals and self._after.what_if.moves:
            before = self._before().responses.suggested.get(ref)
            if before is not None:
                return self._before(), before
        return self._after, response

    def _view(
        self, ref: PluginRef, profile: Profile, evictor: DefaultEvictor, asked: _Asked, response: Response | None
    ) -> StrategyView:
        refusal = self._refusals.get(ref)
        if response is None:
            reason = "" if refusal else asked.classes.why_not(ref, self._pod, asked.responses)
            return StrategyView(*ref, wanted=refusal is not None, before=False, reason=reason, refusal=refusal)
        if asked is not self._after:
            evictor = next(each for other, _, each in asked.what_if.runner.refs() if other == ref)
        gates = gates_of(asked.what_if, response, (profile, evictor), refusal)
        bounds = asked.classes.of(ref)
        own = bounds.get(response.source)
        changes = ChangeSearch(asked.what_if, response, profile, own.high if own else {}, self._trials)
        return StrategyView(
            *ref,
            wanted=True,
            before=asked is not self._after,
            reason=response.suggestion.reason,
            refusal=refusal,
            gates=gates.all(),
            checks=tuple(
                EvictorCheck(each.code, each.passes, "" if each.passes else each.message) for each in gates.checks
            ),
            welcome=self._welcome(response),
            changes=changes.of(gates),
        )

    def _welcome(self, response: Response) -> tuple[str, ...]:
        if response.answer is None:
            return ()
        names, accepts = self._setting.cluster.nodes.names, response.answer.accepts
        return tuple(names[node] for node in response.answer.odds.nodes.tolist() if accepts[node])


def _places(setting: Setting, pod: int, answer: ReplacementAnswer) -> LandingPlaces:
    names = setting.cluster.nodes.names
    grouped: defaultdict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)
    for node, rejections_by_node in enumerate(answer.rejections_by_node):
        if rejections_by_node:
            grouped[rejections_by_node[0].plugin, rejections_by_node[0].outcome.reasons].append(node)
    details = _Details(setting.cycle.state, pod, answer)
    return LandingPlaces(
        fitting=tuple(names[node] for node, each in enumerate(answer.rejections_by_node) if not each),
        candidates=tuple(names[node] for node in answer.odds.nodes.tolist()),
        probabilities=tuple(answer.odds.probability.round(_DIGITS).tolist()) if answer.odds.is_known else (),
        rejected=tuple(
            Rejected(plugin, reasons, tuple(names[node] for node in nodes), details.of(nodes))
            for (plugin, reasons), nodes in sorted(grouped.items(), key=lambda each: (-len(each[1]), each[1]))
        ),
    )


class _Details:
    """What restow adds to the scheduler's reasons for rejecting a node."""

    def __init__(self, state: ClusterState, pod: int, answer: ReplacementAnswer) -> None:
        self._nodes = state.cluster.nodes
        self._pods = state.cluster.pods
        self._pod = pod
        self._answer = answer
        self._shortfall = Shortfall(state, pod, answer)
        self._claims = mounted_claims(state.cluster, pod)

    def of(self, nodes: list[int]) -> dict[str, str]:
        """The details by node name; nodes without any are left out."""
        texts = {self._nodes.names[node]: self._of(node, self._answer.rejections_by_node[node][0]) for node in nodes}
        return {name: text for name, text in texts.items() if text}

    def _of(self, node: int, rejection: PluginRejection) -> str:
        if rejection.plugin == node_resources_fit.NAME:
            return self._shortfall.text(node)
        if rejection.plugin == taint_toleration.NAME:
            return ", ".join(self._untolerated(node))
        if rejection.plugin in {volume_binding.NAME, volume_zone.NAME}:
            return self._far_away(node)
        return ""

    def _untolerated(self, node: int) -> list[str]:
        tolerations = self._pods.tables.tolerations[self._pods.tolerations[self._pod]]
        taints = self._nodes.taint_sets[self._nodes.taints[node]]
        hard = (each for each in taints if each.effect in HARD_EFFECTS)
        return [taint_text(each) for each in hard if not scheduler_tolerates(tolerations, each)]

    def _far_away(self, node: int) -> str:
        zone = self._nodes.zone(node)
        far = [each for each in self._claims if zone and each.zones and zone not in each.zones]
        if not far:
            return ""
        return f"its volume {far[0].name} is in zone {', '.join(far[0].zones)}, the node in zone {zone}"
