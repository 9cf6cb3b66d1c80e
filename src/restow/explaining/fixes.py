"""What would lift each refusal of a pod: of the evictor, of other controllers' vetoes, of limits, budgets and certainty.

A fix changes the inputs of a trial: an argument of a policy, an annotation that goes, a time that passes, a budget that
allows more. Refusals of the placement are for ``options``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import ceil
from typing import Any, Final

import numpy as np
from msgspec import structs

from restow.cluster.pod_values import ALWAYS, NO_TIME
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.evictor import CheckResult
from restow.descheduling.framework import Reason
from restow.descheduling.limits import LimitUse
from restow.descheduling.placement import PluginRef, least_probability
from restow.descheduling.protections import ANNOTATION
from restow.descheduling.vetoes import DO_NOT_DISRUPT, SAFE_TO_EVICT, SAFE_VOLUMES
from restow.explaining.explanation import ChangeKind, Step
from restow.explaining.obstacles import OWN_LIMIT
from restow.explaining.trials import (
    PLENTY,
    Edit,
    Fix,
    TrialInputs,
    on_cluster,
    with_evictor,
    with_object,
    with_own_limit,
    with_restow,
    without_objects,
    without_protection,
)
from restow.explaining.what_if import Response, WhatIf
from restow.kube.duration import SECOND
from restow.kube.objects import Job, Namespace, ObjectMeta, PodDisruptionBudget, PodFailurePolicy, PodFailureRule
from restow.kube.objects.metadata import Annotations
from restow.kube.objects.workloads import PodConditionPattern
from restow.kube.timestamps import format_time
from restow.policies.arguments import SYSTEM_CRITICAL_PRIORITY, PriorityThreshold
from restow.policies.codes import Certainty, RefusalCode
from restow.policies.policy import CertaintySetting, Policy, Profile
from restow.policies.schema import DEFAULT_EVICTOR
from restow.proving.disruption_budgets import OF_JOBS, BudgetUse
from restow.workloads.jobs import job_of

#: Protections that a policy can lift by name.
_NAMED = (
    RefusalCode.SYSTEM_CRITICAL_PODS,
    RefusalCode.PODS_WITH_LOCAL_STORAGE,
    RefusalCode.PODS_WITH_PVC,
    RefusalCode.PODS_WITHOUT_PDB,
    RefusalCode.PODS_WITH_RESOURCE_CLAIMS,
)

_NAMESPACE = "Namespace"
#: The settings of ``restow.vetoes`` that close nodes, by the refusal.
CLOSING: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.LEAVING_NODE: "leavingNodes",
    RefusalCode.VIRTUAL_NODE: "virtualNodes",
}
_FIELDS: Final = {"leavingNodes": "leaving_nodes", "virtualNodes": "virtual_nodes"}
_BUDGET = "PodDisruptionBudget"
_PERCENT = 100
#: The field of a policy by the code of its limit, as people and as programs call it.
_LIMITS: dict[str, tuple[str, str]] = {
    RefusalCode.MAX_TOTAL: ("maxNoOfPodsToEvictTotal", "max_no_of_pods_to_evict_total"),
    RefusalCode.MAX_PER_NODE: ("maxNoOfPodsToEvictPerNode", "max_no_of_pods_to_evict_per_node"),
    RefusalCode.MAX_PER_NAMESPACE: ("maxNoOfPodsToEvictPerNamespace", "max_no_of_pods_to_evict_per_namespace"),
}


class EvictorFixes:
    """Finds what would make the checks pass for one pod and the strategy that wants it to move."""

    def __init__(self, what_if: WhatIf, pod: int, ref: PluginRef, profile: Profile) -> None:
        self._policy = what_if.setting.policy
        self._state = what_if.state
        self._pods = what_if.state.cluster.pods
        self._pod = pod
        self._ref = ref
        self._args = profile.args[DEFAULT_EVICTOR]
        self._makers: dict[RefusalCode, Callable[[], Fix | None]] = {
            RefusalCode.PREFER_NO_EVICTION: lambda: self._evictor(
                "with noEvictionPolicy: Preferred", no_eviction_policy="Preferred"
            ),
            RefusalCode.PRIORITY_THRESHOLD: self._threshold,
            RefusalCode.MIN_REPLICAS: self._replicas,
            RefusalCode.MIN_POD_AGE: self._later,
            RefusalCode.LABEL_SELECTOR: lambda: self._evictor(
                "without the evictor's labelSelector", label_selector=None
            ),
            RefusalCode.NAMESPACE_LABEL_SELECTOR: lambda: self._evictor(
                "without the evictor's namespaceLabelSelector", namespace_label_selector=None
            ),
            RefusalCode.NO_FIT: lambda: self._evictor("without nodeFit", node_fit=False),
            RefusalCode.GROUP_MEMBER: self._together,
            RefusalCode.NAMESPACE_OPTED_OUT: self._opt_out,
            RefusalCode.NAMESPACE_NOT_OPTED_IN: self._opt_out,
            **_lifted_vetoes(what_if.state.cluster, self._pods.original(pod)),
        }

    def of(self, checks: Iterable[CheckResult]) -> list[Fix] | None:
        """What makes all failing checks pass; None if one of them should not be lifted, such as that of a mirror pod."""
        failing = [each for each in checks if not each.passes]
        codes = [each.code for each in failing if each.code != RefusalCode.UNKNOWN]
        if RefusalCode.SYSTEM_CRITICAL_PODS in codes:
            # The threshold is a part of that protection.
            codes = [each for each in codes if each != RefusalCode.PRIORITY_THRESHOLD]
        found = [self._lifted(each) for each in codes]
        found += [self._with_kind(each) for each in dict.fromkeys(each.missing for each in failing if each.missing)]
        return None if None in found else [each for each in found if each is not None]

    def _lifted(self, code: RefusalCode) -> Fix | None:
        if code in _NAMED:
            step = Step("protection", f"without the protection {code}")
            return Fix(step, self._on_policy(without_protection, code))
        make = self._makers.get(code)
        return make() if make else None

    def _evictor(self, message: str, **changed: Any) -> Fix:
        return Fix(Step("protection", message), self._on_policy(with_evictor, **changed))

    def _threshold(self) -> Fix | None:
        priority = int(self._pods.priority[self._pod])
        if priority >= SYSTEM_CRITICAL_PRIORITY:
            return None
        message = "with a priorityThreshold of {}"
        at, below = (
            self._evictor(message.format(value), priority_threshold=PriorityThreshold(value=value))
            for value in (priority + 1, priority)
        )
        return replace(at, weaker=(below,))

    def _replicas(self) -> Fix:
        replicas = int(self._state.siblings(np.array([self._pod]))[0])
        weaker = (self._fewest(replicas + 1),) if replicas + 1 < self._args.min_replicas else ()
        return self._fewest(replicas, weaker)

    def _fewest(self, replicas: int, weaker: tuple[Fix, ...] = ()) -> Fix:
        return replace(self._evictor(f"with a minReplicas of {replicas}", min_replicas=replicas), weaker=weaker)

    def _later(self) -> Fix | None:
        started = int(self._pods.started[self._pod])
        if started == NO_TIME:
            return None
        then = -(-(started + self._args.min_pod_age) // SECOND) * SECOND
        message = f"at {format_time(then)}, when it is older than minPodAge"
        return Fix(Step("protection", message), lambda inputs: replace(inputs, now=then))

    def _opt_out(self) -> Fix:
        asked = self._policy.restow.namespaces == "annotated"
        message = f"with the annotation {ANNOTATION}: enabled on its namespace"
        if not asked:
            message = f"without the annotation {ANNOTATION} of its namespace"
        return Fix(Step("protection", message), self._annotated("enabled" if asked else None))

    def _together(self) -> Fix:
        step = Step("protection", "with groups: together in the policy's restow section")
        return Fix(step, lambda inputs: with_restow(inputs, groups="together"))

    def _with_kind(self, kind: str) -> Fix:
        """For a kind that the input lacks, the best case: the check that needs it passes."""
        edits = {
            "PodDisruptionBudget": self._on_policy(without_protection, "PodsWithoutPDB"),
            "PersistentVolumeClaim": self._on_policy(without_protection, "PodsWithPVC"),
            _NAMESPACE: self._opting_in,
        }
        return Fix(Step("input", f"if the input included {kind}s"), edits[kind], exact=False)

    def _opting_in(self, inputs: TrialInputs) -> TrialInputs:
        """The namespace opts in and has the labels that the policy requires."""
        return self._on_policy(with_evictor, namespace_label_selector=None)(self._annotated("enabled")(inputs))

    def _annotated(self, value: str | None) -> Edit:
        name = self._pods.tables.namespaces[self._pods.namespace[self._pod]]
        return on_cluster(lambda cluster: _annotated(cluster, name, value))

    def _on_policy(self, change: Callable[..., Any], *given: Any, **named: Any) -> Edit:
        def edit(inputs: TrialInputs) -> TrialInputs:
            return replace(inputs, policy=change(inputs.policy, self._ref.profile, *given, **named))

        return edit


def _annotated(cluster: ClusterSnapshot, name: str, value: str | None) -> ClusterSnapshot:
    known = cluster.kind(_NAMESPACE).get(("", name)) or Namespace(ObjectMeta(name=name))
    annotations = structs.replace(known.metadata.annotations or Annotations(), eviction=value)
    metadata = structs.replace(known.metadata, annotations=annotations)
    return with_object(cluster, _NAMESPACE, ("", name), structs.replace(known, metadata=metadata))


def _lifted_vetoes(cluster: ClusterSnapshot, pod: int) -> dict[RefusalCode, Callable[[], Fix]]:
    """Return what lifts each veto that a pod can have, by code; a function makes it when it is needed."""
    return {
        RefusalCode.DO_NOT_DISRUPT: lambda: _disruptable(cluster, pod),
        RefusalCode.NODE_DO_NOT_DISRUPT: lambda: _node_disruptable(cluster, pod),
        RefusalCode.NOT_SAFE_TO_EVICT: lambda: _without(pod, SAFE_TO_EVICT, unsafe_to_evict=False),
        RefusalCode.UNSAFE_LOCAL_VOLUMES: lambda: _without(pod, SAFE_VOLUMES, unsafe_volumes=False),
        RefusalCode.MIGRATION_IN_PROGRESS: lambda: _settled("once the migration of its virtual machine has ended"),
        RefusalCode.MIGRATION_COOL_DOWN: lambda: _settled("once its migrationCoolDown is over"),
    }


def opened_nodes(code: RefusalCode) -> Fix:
    """Return the setting of the policy with which the nodes may receive pods that a refusal names."""
    name = CLOSING[code]

    step = Step("protection", f"with vetoes.{name}: false in the policy's restow section")
    return Fix(step, lambda inputs: _with_vetoes(inputs, **{_FIELDS[name]: False}))


def _disruptable(cluster: ClusterSnapshot, pod: int) -> Fix:
    pods = cluster.pods
    limit, started = pods.tables.vetoes[pods.vetoes[pod]].do_not_disrupt, int(pods.started[pod])
    if limit == ALWAYS or started == NO_TIME:
        return _without(pod, DO_NOT_DISRUPT, do_not_disrupt=0)
    then = -(-(started + limit) // SECOND) * SECOND
    message = f"at {format_time(then)}, when its annotation {DO_NOT_DISRUPT} ends"
    return Fix(Step("protection", message), lambda inputs: replace(inputs, now=then))


def _node_disruptable(cluster: ClusterSnapshot, pod: int) -> Fix:
    node = int(cluster.pods.node[pod])
    name = cluster.nodes.names[node]

    def unmarked(cluster: ClusterSnapshot) -> ClusterSnapshot:
        marked = cluster.nodes.do_not_disrupt.copy()
        marked[node] = False
        return replace(cluster, nodes=replace(cluster.nodes, do_not_disrupt=marked))

    step = Step("protection", f"without the annotation {DO_NOT_DISRUPT} of {name}", name)
    return Fix(step, on_cluster(unmarked))


def _without(pod: int, annotation: str, **changed: Any) -> Fix:
    """The pod without one of its annotations."""

    def edited(cluster: ClusterSnapshot) -> ClusterSnapshot:
        pods = cluster.pods
        known, column = pods.tables.vetoes, pods.vetoes.copy()
        column[pod] = len(known)
        tables = structs.replace(pods.tables, vetoes=[*known, known[pods.vetoes[pod]]._replace(**changed)])
        return replace(cluster, pods=replace(pods, vetoes=column, tables=tables))

    return Fix(Step("protection", f"without its annotation {annotation}"), on_cluster(edited))


def _settled(message: str) -> Fix:
    """As if nothing were known of migrations, which is the best case."""
    return Fix(Step("protection", message), lambda inputs: _with_vetoes(inputs, kube_virt=False), exact=False)


def _with_vetoes(inputs: TrialInputs, **changed: Any) -> TrialInputs:
    return with_restow(inputs, vetoes=structs.replace(inputs.policy.restow.vetoes, **changed))


class LimitFixes:
    """Finds what would lift the refusals of one pod and one strategy."""

    def __init__(self, what_if: WhatIf, response: Response) -> None:
        self._what_if = what_if
        self._cluster = what_if.state.cluster
        self._policy = what_if.setting.policy
        self._response = response
        self._pod = response.pod
        self._ref = response.ref

    def after(self, refusal: Reason) -> Fix | None:
        """What would lift a refusal; None if nothing would."""
        _, code, _ = refusal
        if code in _LIMITS:
            return self._limit(code)
        if code == RefusalCode.DISRUPTION_BUDGET:
            return self._more_disruptions()
        if code == RefusalCode.SEVERAL_BUDGETS:
            return self._one_budget()
        if code in OF_JOBS:
            return self._ignored()
        return self._less_certain() if code == RefusalCode.NOT_CERTAIN else None

    def higher(self, use: LimitUse) -> Fix:
        """A limit of the policy or of the strategy's own, raised."""
        if use.code == OWN_LIMIT:
            return self._least("limit", use.limit, "with evictionLimits.node of {}", self._with_own_limit)
        return self._limit(use.code)

    def _limit(self, code: str) -> Fix:
        name, field = _LIMITS[code]

        def limited(inputs: TrialInputs, limit: int) -> TrialInputs:
            policy: Policy = structs.replace(inputs.policy, **{field: limit})
            return replace(inputs, policy=policy)

        return self._least("limit", getattr(self._policy, field), f"with {name} of {{}}", limited)

    def _with_own_limit(self, inputs: TrialInputs, limit: int) -> TrialInputs:
        return replace(inputs, policy=with_own_limit(inputs.policy, self._ref, limit))

    def _more_disruptions(self) -> Fix:
        name = max(self._budget_uses(), key=lambda each: each.left).name
        namespace, _, own = name.partition("/")

        def allowed(inputs: TrialInputs, more: int) -> TrialInputs:
            return replace(inputs, cluster=_with_more(inputs.cluster, (namespace, own), more))

        return self._least("budget", 0, f"if {name} allowed {{}} more disruption", allowed, plural=True)

    def _budget_uses(self) -> list[BudgetUse]:
        """The budgets that forbid the move; those of evictions where a virtual machine can only be evicted."""
        budgets = self._what_if.budgets()
        decisive = budgets.of_evictions() if budgets.refusal(self._pod) is None else budgets
        return decisive.uses(self._pod)

    def _one_budget(self) -> Fix:
        """Only the budget that allows most evictions is left."""
        uses = self._budget_uses()
        kept = max(uses, key=lambda each: each.left)
        names = [each.name for each in uses if each is not kept]
        keys = [(each.partition("/")[0], each.partition("/")[2]) for each in names]

        step = Step("budget", f"without the budget{'s' if len(names) > 1 else ''} {' and '.join(names)}")
        return Fix(step, on_cluster(lambda cluster: without_objects(cluster, _BUDGET, keys)))

    def _ignored(self) -> Fix | None:
        job = job_of(self._cluster, self._pod)
        if job is None:
            return None
        message = "with a podFailurePolicy of its Job that ignores DisruptionTarget first"
        key = job.metadata.namespace, job.metadata.name
        return Fix(
            Step("budget", message), on_cluster(lambda cluster: with_object(cluster, "Job", key, _ignoring(job)))
        )

    def _less_certain(self) -> Fix:
        """A lower certainty. The amount is 100 minus the certainty in percent, so a higher amount allows more."""
        asked = _PERCENT - round(_PERCENT * least_probability(self._policy.restow.certainty))
        answer = self._response.answer
        found = answer.odds.of(answer.accepts[answer.odds.nodes]) if answer else 0.0

        def at(amounts: tuple[int, ...]) -> Fix:
            (doubt,) = amounts
            setting: CertaintySetting = Certainty.POSSIBLE if doubt == _PERCENT else (_PERCENT - doubt) / _PERCENT
            word = setting if isinstance(setting, str) else f"{setting:g}"
            step = Step("certainty", f"with certainty: {word} in the policy's restow section")
            guess = (ceil(_PERCENT * (1 - found)),)
            return Fix(
                step,
                lambda inputs: with_restow(inputs, certainty=setting),
                at=at,
                amounts=amounts,
                lowest=(asked,),
                guess=guess,
            )

        return at((_PERCENT,))

    def _least(
        self,
        kind: ChangeKind,
        now: int,
        message: str,
        change: Callable[[TrialInputs, int], TrialInputs],
        *,
        plural: bool = False,
    ) -> Fix:
        def at(amounts: tuple[int, ...]) -> Fix:
            (amount,) = amounts
            ending = "s" if plural and amount != 1 else ""
            edit: Edit = lambda inputs: change(inputs, amount)  # noqa: E731
            return Fix(Step(kind, message.format(amount) + ending), edit, at=at, amounts=amounts, lowest=(now,))

        return at((PLENTY,))


def _with_more(cluster: ClusterSnapshot, key: tuple[str, str], more: int) -> ClusterSnapshot:
    budget: PodDisruptionBudget = cluster.kind(_BUDGET)[key]
    status = structs.replace(budget.status, disruptions_allowed=max(0, budget.status.disruptions_allowed) + more)
    return with_object(cluster, _BUDGET, key, structs.replace(budget, status=status))


def _ignoring(job: Job) -> Job:
    rule = PodFailureRule("Ignore", on_pod_conditions=(PodConditionPattern("DisruptionTarget", "True"),))
    policy = job.spec.pod_failure_policy
    rules = (rule, *((policy and policy.rules) or ()))
    return structs.replace(job, spec=structs.replace(job.spec, pod_failure_policy=PodFailurePolicy(rules)))
