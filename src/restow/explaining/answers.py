"""The answers of ``restow explain``: why one pod stays or where it goes, and what a plan has to do with one node.

Of a node that is its load, its class, who leaves, who comes, who stays and why.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from restow.cluster.nodes import BASIC_RESOURCES, PODS
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import RefusedSuggestion
from restow.descheduling.evictor import DefaultEvictor
from restow.descheduling.framework import NodeClass
from restow.descheduling.placement import DIGITS, PluginRef
from restow.descheduling.plan import OutputMetadata
from restow.descheduling.vetoes import closed_now
from restow.explaining.changes import ChangeSearch
from restow.explaining.explanation import (
    EvictorCheck,
    LandingPlaces,
    Load,
    NodeClassification,
    NodeExplanation,
    NodeResource,
    PodExplanation,
    PodOutcome,
    Reason,
    Rejected,
    Staying,
    StrategyView,
)
from restow.explaining.obstacles import Shortfall, gates_of, mounted_claims, taint_text, untolerated
from restow.explaining.trials import Trials
from restow.explaining.what_if import (
    Classes,
    ReplacementAnswer,
    Response,
    Responses,
    Setting,
    WhatIf,
    class_text,
    unseen_node,
)
from restow.kube.labels import parse_selector
from restow.kube.timestamps import format_time
from restow.policies.codes import Placement, Stage
from restow.policies.policy import Profile
from restow.proving.planning import named_move, owner_ref, pod_ref
from restow.scheduling.devices.claims import Claims
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.verdicts import PluginRejection
from restow.scheduling.numa.alignment import Alignment
from restow.scheduling.plugins import (
    dynamic_resources,
    node_resource_topology_match,
    node_resources_fit,
    taint_toleration,
    volume_binding,
    volume_zone,
)
from restow.version import __version__
from restow.workloads.groups import Groups, group_kinds
from restow.workloads.replacements import Replacements


def explain_pod(setting: Setting, pod: int) -> PodExplanation:
    """Everything about one observed pod of the plan's cluster."""
    cluster, pods = setting.cluster, setting.cluster.pods
    move = setting.move_of(pod)
    node = int(pods.node[pod])
    group = Groups(cluster, group_kinds(setting.policy.restow.group_label)).of(pod)
    views, answer = ((), None) if move is not None or node < 0 else _Views(setting, pod).all()
    return PodExplanation(
        metadata=_metadata(setting),
        pod=pod_ref(cluster, pod),
        owner=owner_ref(cluster, pod),
        node=cluster.nodes.names[node] if node >= 0 else None,
        load=_load(setting, node) if node >= 0 else None,
        outcome=_outcome(node, moves=move is not None),
        move=None if move is None else named_move(cluster, move),
        strategies=views,
        places=None if answer is None else _places(setting, pod, answer),
        group=None if group is None else str(group),
    )


def _metadata(setting: Setting) -> OutputMetadata:
    """The metadata of the plan that is explained."""
    return OutputMetadata(format_time(setting.now), setting.placement, __version__)


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
        nodes.resources[row]: round(int(state.requested[row, node]) / int(nodes.allocatable[row, node]), DIGITS)
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
    details = _Details(setting, pod, answer)
    fitting = [node for node, each in enumerate(answer.rejections_by_node) if not each]
    return LandingPlaces(
        fitting=tuple(names[node] for node in fitting),
        candidates=tuple(names[node] for node in answer.odds.nodes.tolist()),
        probabilities=tuple(answer.odds.probability.round(DIGITS).tolist()) if answer.odds.is_known else (),
        rejected=tuple(
            Rejected(plugin, reasons, tuple(names[node] for node in nodes), details.of(nodes))
            for (plugin, reasons), nodes in sorted(grouped.items(), key=lambda each: (-len(each[1]), each[1]))
        ),
        kubelets=_kubelets(setting, pod, fitting),
    )


def _kubelets(setting: Setting, pod: int, nodes: list[int]) -> dict[str, str]:
    state = setting.cycle.state
    alignment, following = Alignment(state), Replacements(state, setting.now).like(pod)
    texts = {node: alignment.answer(following, node).text for node in nodes}
    return {state.cluster.nodes.names[node]: text for node, text in texts.items() if text}


class _Details:
    """What restow adds to the scheduler's reasons for rejecting a node."""

    def __init__(self, setting: Setting, pod: int, answer: ReplacementAnswer) -> None:
        state = self._state = setting.cycle.state
        self._now = setting.now
        self._cluster = state.cluster
        self._nodes = state.cluster.nodes
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
            return ", ".join(map(taint_text, untolerated(self._cluster, self._pod, node)))
        if rejection.plugin == dynamic_resources.NAME:
            return self._devices.lacking(self._following, node)
        if rejection.plugin == node_resource_topology_match.NAME:
            return node_resource_topology_match.shortage_on(self._state, self._following, node)
        if rejection.plugin in {volume_binding.NAME, volume_zone.NAME}:
            return self._far_away(node)
        return ""

    @cached_property
    def _following(self) -> int:
        """The row of the next pod."""
        return Replacements(self._state, self._now).like(self._pod)

    @cached_property
    def _devices(self) -> Claims:
        return Claims(Context.of(self._state))

    def _far_away(self, node: int) -> str:
        zone = self._nodes.zone(node)
        far = [each for each in self._claims if zone and each.zones and zone not in each.zones]
        if not far:
            return ""
        return f"its volume {far[0].name} is in zone {', '.join(far[0].zones)}, the node in zone {zone}"


def explain_node(setting: Setting, node: int) -> NodeExplanation:
    """Everything about one node of the plan's cluster."""
    cluster, record = setting.cluster, setting.cycle.record
    nodes = cluster.nodes
    before, after = ClusterState(cluster), setting.cycle.state
    return NodeExplanation(
        metadata=_metadata(setting),
        node=nodes.names[node],
        zone=nodes.zone(node),
        ready=bool(nodes.ready[node]),
        selected=_selected(setting, node),
        unschedulable=bool(nodes.unschedulable[node]),
        taints=tuple(taint_text(each) for each in nodes.taint_sets[nodes.taints[node]]),
        resources=_resources(before, after, node),
        pods_before=int(before.running[node]),
        pods_after=int(after.running[node]),
        strategies=_views(setting, node),
        leaving=tuple(named_move(cluster, each) for each in record.evictions if each.node == node),
        coming=tuple(
            named_move(cluster, each) for each in record.evictions if each.landing.target == node and each.node != node
        ),
        staying=_staying(setting, [each for each in record.refusals if each.node == node]),
        closed=_closed(setting, node),
    )


def _closed(setting: Setting, node: int) -> str:
    """Why a proven plan puts nothing on a node; empty if it may, or if nothing is proven."""
    if setting.placement != Placement.PROVE:
        return ""
    why = closed_now(setting.policy.restow.vetoes, setting.cluster.nodes.row(node))
    return "" if why is None else f"it {why} and receives nothing"


def _selected(setting: Setting, node: int) -> bool:
    selector = setting.policy.node_selector
    return not selector or parse_selector(selector).matches(setting.cluster.nodes.labels[node])


def _resources(before: ClusterState, after: ClusterState, node: int) -> tuple[NodeResource, ...]:
    nodes = before.cluster.nodes
    return tuple(
        NodeResource(
            name=name,
            allocatable=int(nodes.allocatable[row, node]),
            before=int(before.requested[row, node]),
            after=int(after.requested[row, node]),
        )
        for row, name in enumerate(nodes.resources)
        if name != BASIC_RESOURCES[PODS] and nodes.lists_allocatable[row, node]
    )


def _views(setting: Setting, node: int) -> tuple[NodeClassification, ...]:
    after = WhatIf(setting, setting.cycle.record.evictions)
    before = WhatIf(setting, ()) if after.moves else after
    classes_before, classes_after = Classes(before), Classes(after)
    refs = dict.fromkeys(ref for ref, _, _ in after.runner.refs() if classes_after.sorts(ref))
    unseen = unseen_node(after, node)
    problems = dict(setting.cycle.record.problems)
    views = []
    for ref in refs:
        found = classes_after.of(ref).get(node)
        figures = class_text(setting.cluster.nodes, node, found) if found else ""
        message = unseen or problems.get(ref) or figures or _closed(setting, node)
        views.append(_view(ref, classes_before.of(ref).get(node), found, message))
    return tuple(views)


def _view(ref: PluginRef, before: NodeClass | None, after: NodeClass | None, message: str) -> NodeClassification:
    return NodeClassification(
        *ref,
        before=before.name if before else None,
        after=after.name if after else None,
        gives=bool(before and before.gives),
        load_before=_rounded(before.load) if before else {},
        load_after=_rounded(after.load) if after else {},
        low=_rounded(before.low) if before else {},
        high=_rounded(before.high) if before else {},
        message=message,
        origin=before.origin if before else "",
    )


def _rounded(percentages: dict[str, float]) -> dict[str, float]:
    return {name: round(each, 2) for name, each in sorted(percentages.items())}


def _staying(setting: Setting, refusals: list[RefusedSuggestion]) -> tuple[Staying, ...]:
    """Grouped by stage and code, the most pods first."""
    groups: defaultdict[tuple[Stage, str], list[RefusedSuggestion]] = defaultdict(list)
    for each in refusals:
        groups[each.reason[0], each.reason[1]].append(each)
    ranked = sorted(groups.items(), key=lambda each: (-len(_pods(each[1])), each[0]))
    return tuple(
        Staying(
            stage=stage,
            code=code,
            message=_most_frequent(_message(setting, each) for each in members),
            plugins=tuple(sorted({each.ref.plugin for each in members})),
            pods=tuple(pod_ref(setting.cluster, pod) for pod in sorted(_pods(members))),
        )
        for (stage, code), members in ranked
    )


def _pods(refusals: list[RefusedSuggestion]) -> set[int]:
    """All pods that stay, also those that stay because another pod of their proposal cannot go."""
    return {pod for each in refusals for pod in (each.pod, *each.others)}


def _message(setting: Setting, refused: RefusedSuggestion) -> str:
    """Why the pods stay. If they are of one proposal, the message names the pod that cannot go."""
    reason = setting.reason_of(refused, refused.others[0] if refused.others else refused.pod)
    return reason[2] if reason else ""


def _most_frequent(messages: Iterable[str]) -> str:
    counts = Counter(messages)
    return min(counts, key=lambda each: (-counts[each], each))
