"""One cluster, asked of restow's scheduler and of the real kube-scheduler: every word that they say about every pod.

Each pending pod is asked about in queue order and settled before the next one. Of each are compared: the feasible nodes,
who rejects which of the others with what reasons and code, the nodes that PreFilter leaves, the rejection before any node
was looked at, every plugin's weighted score of every feasible node, the best nodes, the message, the nominated node, and
every candidate for preemption with its victims and violated budgets. Plugins that score nothing and plugins that score 0
are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from builders.metadata import Object
from oracle.scheduler_process import Candidate, Outcome, Rejection, SchedulerProcess
from restow.cluster.interning import IntArray
from restow.cluster.pod_values import Flag
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.cluster.state import ClusterState
from restow.kube.objects import KINDS, known_kind
from restow.scheduling.configuration.load import load_scheduler_configuration
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.devices.claims import Claims
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.verdicts import PluginRejection
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.loop.scheduling_pass import schedule

PodReport = dict[str, Any]


def scheduling_difference(
    cluster: list[Object],
    scheduler: SchedulerProcess,
    config: str = "",
    *,
    minor: int | None = None,
    validate: bool = False,
) -> str:
    """What restow says differently of one cluster under a configuration; empty where it agrees.

    ``minor`` is that of the scheduler; None for the one that restow takes where it knows none.

    ``validate`` recounts after each pod whatever restow keeps count of.
    """
    answer = scheduler.ask(cluster, scores_for="all", config=config)
    if answer.error:
        return f"the oracle cannot answer: {answer.error}"
    names = [each["metadata"]["name"] for each in cluster if each["kind"] == "Node"]
    expected = {outcome.pod: report_of(outcome, names) for outcome in answer.pods}
    found = Restow(cluster, _profiles(config), minor).answers(validate=validate)
    if _queue(found) != _queue(expected) or set(found) != set(expected):
        return f"pods {list(expected)}, restow {list(found)}"
    for pod, report in expected.items():
        for part, value in report.items():
            if found[pod].get(part) != value and not _breaks_off(str(value), str(found[pod].get(part))):
                return f"{pod}: {part}\n  expected {value}\n  restow   {found[pod].get(part)}"
    return ""


def report_of(outcome: Outcome, nodes: Iterable[str]) -> PodReport:
    """What the real scheduler says of a pod, as far as it is compared."""
    if outcome.gated:
        return {"gated": outcome.gated}
    if any(each.code == "Error" for each in outcome.rejected.values()):
        # A cycle that broke off in the middle: what was said of nodes before that is not told by restow.
        outcome = msgspec.structs.replace(outcome, feasible=(), rejected={}, allowed=None)
    before = outcome.pre_filter
    known = set() if outcome.allowed is None else set(nodes) - {*outcome.allowed, *outcome.rejected}
    return {
        "preFilter": _plain(before) if before and before.code != "Error" else None,
        "feasible": list(outcome.feasible),
        "rejected": {node: _plain(each) for node, each in outcome.rejected.items()},
        "excluded": None if outcome.feasible else sorted(known),
        "scores": _nonzero(outcome.scores),
        "best": list(outcome.best),
        "message": outcome.message,
        "candidates": outcome.candidates,
        "bestCandidates": list(outcome.best_candidates),
        "nominatedNode": outcome.nominated_node,
        "devices": {claim: list(devices) for claim, devices in outcome.devices.items()},
    }


class Restow:
    """restow's answers about one cluster, in the words of the oracle."""

    def __init__(
        self,
        cluster: list[Object],
        profiles: Iterable[SchedulerProfile] = (DEFAULT_PROFILE,),
        minor: int | None = None,
    ) -> None:
        self.state = ClusterState(replace(_cluster(cluster), server_minor=minor))
        self.context = Context.of(self.state)
        self.scheduler = Schedulers(self.context, profiles)
        self._names = self.state.cluster.nodes.names

    def answers(self, *, validate: bool = False) -> dict[str, PodReport]:
        """What becomes of each waiting pod, after those before it."""
        name = self.state.cluster.pods.full_name
        queue = self.scheduler.queue()
        told: dict[str, PodReport] = {}
        before: int | None = None
        for decision in schedule(self.scheduler, queue.pods):
            if validate:
                self._validate()
            if before is not None:
                told[name(before)]["devices"] = self._devices(before)
            before = decision.pod
            told[name(before)] = self._tell(decision)
        if validate:
            self._validate()
        if before is not None:
            told[name(before)]["devices"] = self._devices(before)
        return told | {name(pod): {"gated": why} for pod, why in queue.gated.items()}

    def _validate(self) -> None:
        self.state.validate()
        self.context.counts.validate()

    def _devices(self, pod: int) -> dict[str, list[str]]:
        """What the claims of a pod have now."""
        if not self.state.cluster.pods.carries(pod, Flag.RESOURCE_CLAIMS):
            return {}
        claims = self.context.shared(Claims)
        claims.catch_up()
        return {
            each.key[1]: [f"{got.request} {got.device}" for got in each.allocation.devices]
            for each in claims.of(pod)
            if each.allocation is not None
        }

    def _tell(self, decision: SchedulingDecision) -> PodReport:
        candidates = decision.preemption.candidates if decision.preemption else ()
        best = decision.preemption.best if decision.preemption else ()
        name = self.state.cluster.pods.full_name
        before = decision.verdicts.prefilter
        feasible = self._nodes(decision.verdicts.feasible)
        return {
            "preFilter": None if before is None else _rejection(before),
            "feasible": feasible,
            "rejected": {node: _rejection(each) for node, each in self._rejections(decision).items() if each.plugin},
            "excluded": [node for node, each in self._rejections(decision).items() if not each.plugin]
            if not feasible
            else None,
            "scores": self._scores(decision),
            "best": self._nodes(decision.best),
            "message": decision.message,
            "candidates": {
                self._names[each.node]: Candidate(tuple(map(name, each.victims)), each.violations)
                for each in candidates
            },
            "bestCandidates": [self._names[each.node] for each in best],
            "nominatedNode": "" if decision.nominated_node < 0 else self._names[decision.nominated_node],
        }

    def _nodes(self, nodes: IntArray) -> list[str]:
        return [self._names[node] for node in nodes.tolist()]

    def _rejections(self, decision: SchedulingDecision) -> dict[str, PluginRejection]:
        if decision.verdicts.prefilter is not None:
            return {}
        found = {name: decision.verdicts.rejection(node) for node, name in enumerate(self._names)}
        return {name: each for name, each in found.items() if each is not None}

    def _scores(self, decision: SchedulingDecision) -> dict[str, dict[str, int]]:
        if decision.ranking is None:
            return {}
        scores: dict[str, dict[str, int]] = {}
        for index, node in enumerate(self._nodes(decision.ranking.nodes)):
            by_plugin = {plugin: int(values[index]) for plugin, values in decision.ranking.by_plugin.items()}
            scores[node] = by_plugin | {"total": int(decision.ranking.total[index])}
        return _nonzero(scores)


def _breaks_off(*messages: str) -> bool:
    """Whether claims are wrong by all accounts; which of the wrong things is found first is a matter of the nodes' order."""
    return all(each.startswith('running "DynamicResources" filter plugin: ') for each in messages)


def _profiles(config: str) -> tuple[SchedulerProfile, ...]:
    return load_scheduler_configuration(config.encode(), "config").profiles if config else (DEFAULT_PROFILE,)


def _cluster(objects: Iterable[Object]) -> ClusterSnapshot:
    """The cluster that a dump of these objects would give."""
    store = ClusterStore()
    for each in objects:
        kind = known_kind(each["kind"], each.get("apiVersion", ""))
        store.add(kind, [msgspec.json.decode(msgspec.json.encode(each), type=KINDS[kind])])
    return store.snapshot()


def _queue(answers: dict[str, PodReport]) -> list[str]:
    return [pod for pod, answer in answers.items() if "gated" not in answer]


def _nonzero(scores: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """The scores but those of 0, which are what a plugin without an opinion gives."""
    found = {node: {plugin: score for plugin, score in each.items() if score} for node, each in scores.items()}
    return {node: each for node, each in found.items() if each}


def _plain(rejection: Rejection) -> tuple[str, list[str], bool]:
    return rejection.plugin, sorted(rejection.reasons), rejection.code == "UAU"


def _rejection(rejection: PluginRejection) -> tuple[str, list[str], bool]:
    return rejection.plugin, sorted(rejection.outcome.reasons), rejection.outcome.unresolvable
