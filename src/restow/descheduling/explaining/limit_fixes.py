"""What would lift a refusal that holds only for now: a higher limit, more disruptions, less certainty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil

from msgspec import structs

from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.certainty import least_probability
from restow.descheduling.disruption_budgets import OF_JOBS
from restow.descheduling.evictor import Reason
from restow.descheduling.explaining.changed_clusters import with_object, with_own_limit, without_objects
from restow.descheduling.explaining.explanation import ChangeKind, Step
from restow.descheduling.explaining.gates import OWN_LIMIT
from restow.descheduling.explaining.trials import PLENTY, Edit, Fix, TrialInputs
from restow.descheduling.explaining.what_if import Response, WhatIf
from restow.descheduling.limits import LimitUse
from restow.kube.objects import Job, PodDisruptionBudget, PodFailurePolicy, PodFailureRule
from restow.kube.objects.workloads import PodConditionPattern
from restow.policies.codes import Certainty, RefusalCode
from restow.policies.policy import CertaintySetting, Policy
from restow.workloads.jobs import job_of

_BUDGET = "PodDisruptionBudget"
_PERCENT = 100
#: The field of a policy by the code of its limit, as people and as programs call it.
_LIMITS: dict[str, tuple[str, str]] = {
    RefusalCode.MAX_TOTAL: ("maxNoOfPodsToEvictTotal", "max_no_of_pods_to_evict_total"),
    RefusalCode.MAX_PER_NODE: ("maxNoOfPodsToEvictPerNode", "max_no_of_pods_to_evict_per_node"),
    RefusalCode.MAX_PER_NAMESPACE: ("maxNoOfPodsToEvictPerNamespace", "max_no_of_pods_to_evict_per_namespace"),
}


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
        name = max(self._what_if.budgets().uses(self._pod), key=lambda each: each.left).name
        namespace, _, own = name.partition("/")

        def allowed(inputs: TrialInputs, more: int) -> TrialInputs:
            return replace(inputs, cluster=_with_more(inputs.cluster, (namespace, own), more))

        return self._least("budget", 0, f"if {name} allowed {{}} more disruption", allowed, plural=True)

    def _one_budget(self) -> Fix:
        """Only the budget that allows most evictions is left."""
        uses = self._what_if.budgets().uses(self._pod)
        kept = max(uses, key=lambda each: each.left)
        names = [each.name for each in uses if each is not kept]
        keys = [(each.partition("/")[0], each.partition("/")[2]) for each in names]

        def alone(inputs: TrialInputs) -> TrialInputs:
            return replace(inputs, cluster=without_objects(inputs.cluster, _BUDGET, keys))

        return Fix(Step("budget", f"without the budget{'s' if len(names) > 1 else ''} {' and '.join(names)}"), alone)

    def _ignored(self) -> Fix | None:
        job = job_of(self._cluster, self._pod)
        if job is None:
            return None
        message = "with a podFailurePolicy of its Job that ignores DisruptionTarget first"
        key = job.metadata.namespace, job.metadata.name
        return Fix(
            Step("budget", message),
            lambda inputs: replace(inputs, cluster=with_object(inputs.cluster, "Job", key, _ignoring(job))),
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

            def edit(inputs: TrialInputs) -> TrialInputs:
                own = structs.replace(inputs.policy.restow, certainty=setting)
                return replace(inputs, policy=structs.replace(inputs.policy, restow=own))

            step = Step("certainty", f"with certainty: {word} in the policy's restow section")
            guess = (ceil(_PERCENT * (1 - found)),)
            return Fix(step, edit, at=at, amounts=amounts, lowest=(asked,), guess=guess)

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
