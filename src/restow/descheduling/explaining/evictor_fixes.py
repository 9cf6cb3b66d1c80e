"""What would make the evictor's checks pass for a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import structs

from restow.cluster.pod_values import NO_TIME
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.evictor import CheckResult
from restow.descheduling.explaining.changed_clusters import with_evictor, with_object, without_protection
from restow.descheduling.explaining.explanation import Step
from restow.descheduling.explaining.lifted_vetoes import lifted_veto
from restow.descheduling.explaining.limit_fixes import LimitFixes
from restow.descheduling.explaining.trials import PLENTY, Edit, Fix, TrialInputs, Trials
from restow.descheduling.explaining.what_if import WhatIf
from restow.descheduling.namespace_opt_out import ANNOTATION
from restow.descheduling.placement import PluginRef
from restow.kube.objects import Namespace, ObjectMeta
from restow.kube.objects.metadata import Annotations
from restow.kube.timestamps import format_time
from restow.policies.arguments import SYSTEM_CRITICAL_PRIORITY, PriorityThreshold
from restow.policies.codes import RefusalCode
from restow.policies.policy import Profile
from restow.policies.schema import DEFAULT_EVICTOR

#: Protections that a policy can lift by name.
_NAMED = (
    RefusalCode.SYSTEM_CRITICAL_PODS,
    RefusalCode.PODS_WITH_LOCAL_STORAGE,
    RefusalCode.PODS_WITH_PVC,
    RefusalCode.PODS_WITHOUT_PDB,
    RefusalCode.PODS_WITH_RESOURCE_CLAIMS,
)
_SECOND = 10**9
_KIND = "Namespace"

#: Changes that are made together.
Together = tuple[Fix, ...]

#: Refusals answered one after the other.
_MOST_ANSWERS = 5


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
            **lifted_veto(what_if.state.cluster, self._pods.original(pod)),
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
        then = -(-(started + self._args.min_pod_age) // _SECOND) * _SECOND
        message = f"at {format_time(then)}, when it is older than minPodAge"
        return Fix(Step("protection", message), lambda inputs: replace(inputs, now=then))

    def _opt_out(self) -> Fix:
        asked = self._policy.restow.namespaces == "annotated"
        message = f"with the annotation {ANNOTATION}: enabled on its namespace"
        if not asked:
            message = f"without the annotation {ANNOTATION} of its namespace"
        return Fix(Step("protection", message), self._annotated("enabled" if asked else None))

    def _together(self) -> Fix:
        def edit(inputs: TrialInputs) -> TrialInputs:
            restow = structs.replace(inputs.policy.restow, groups="together")
            return replace(inputs, policy=structs.replace(inputs.policy, restow=restow))

        return Fix(Step("protection", "with groups: together in the policy's restow section"), edit)

    def _with_kind(self, kind: str) -> Fix:
        """For a kind that the input lacks, the best case: the check that needs it passes."""
        edits = {
            "PodDisruptionBudget": self._on_policy(without_protection, "PodsWithoutPDB"),
            "PersistentVolumeClaim": self._on_policy(without_protection, "PodsWithPVC"),
            _KIND: self._opting_in,
        }
        return Fix(Step("input", f"if the input included {kind}s"), edits[kind], exact=False)

    def _opting_in(self, inputs: TrialInputs) -> TrialInputs:
        """The namespace opts in and has the labels that the policy requires."""
        return self._on_policy(with_evictor, namespace_label_selector=None)(self._annotated("enabled")(inputs))

    def _annotated(self, value: str | None) -> Edit:
        name = self._pods.tables.namespaces[self._pods.namespace[self._pod]]
        return lambda inputs: replace(inputs, cluster=_annotated(inputs.cluster, name, value))

    def _on_policy(self, change: Callable[..., Any], *given: Any, **named: Any) -> Edit:
        def edit(inputs: TrialInputs) -> TrialInputs:
            return replace(inputs, policy=change(inputs.policy, self._ref.profile, *given, **named))

        return edit


@dataclass(slots=True, frozen=True)
class Search:
    """Searches for the smallest set by trials about one pod."""

    trials: Trials
    limit_fixes: LimitFixes
    #: The strategy whose refusals are lifted.
    ref: PluginRef

    def least(self, together: Together) -> Together | None:
        """These changes and those that a plan with them still needs; None if the pod stays, or if fewer changes are enough."""
        found = self._completed(together)
        if found is None:
            return None
        fewer, lowered = self._needed(found), None
        while lowered is None or len(fewer) < len(lowered):
            # With smaller amounts other pods stay, which may make another step needless.
            lowered = self._lowered(fewer)
            if lowered is None:
                return None
            fewer = self._needed(lowered)
        return lowered if self.is_least(lowered) else None

    def is_least(self, together: Together) -> bool:
        """Whether the pod moves with these changes and their rounded amounts, and stays if any of them is smaller."""
        if not self.trials.moves(together) or len(self._needed(together)) < len(together):
            return False
        for index, each in enumerate(together):
            if each.rounded is not None and not self.trials.moves(_with(together, index, each.rounded)):
                return False
            if any(self.trials.moves(_with(together, index, less)) for less in each.weaker):
                return False
        return True

    def _completed(self, together: Together) -> Together | None:
        """The changes, and those that lift the refusals that then come up, one after the other."""
        for _ in range(_MOST_ANSWERS):
            outcome = self.trials.of(together)
            if outcome.move is not None:
                return together
            refusal = outcome.refusals.get(self.ref)
            more = None if refusal is None else self.limit_fixes.after(refusal)
            if more is None or any(more.step == each.step for each in together):
                return None
            together = (*together, more)
        return None

    def _needed(self, together: Together) -> Together:
        """The changes without those that the pod can move without."""
        for each in together:
            fewer = tuple(other for other in together if other is not each)
            if fewer and self.trials.moves(fewer):
                together = fewer
        return together

    def _lowered(self, together: Together) -> Together | None:
        """The changes with the smallest amounts that are enough."""
        for index, each in enumerate(together):
            for place in range(len(each.amounts)):
                lower = self._lowest(together, index, place)
                if lower is None:
                    return None
                together = lower
            if each.at is not None:
                together = _with(together, index, together[index].with_weaker())
        return together

    def _lowest(self, together: Together, index: int, place: int) -> Together | None:
        """The changes with the smallest amount in one place, found by bisection; None if no amount is enough."""
        fix = together[index]

        def at(amount: int) -> Together:
            return _with(together, index, fix.with_amount(place, amount))

        low, high = fix.lowest[place], fix.amounts[place]
        if high == PLENTY:
            # One more is mostly enough, and in a large cluster each trial takes long. If it is not: without the limit
            # the plan makes that many evictions, so that is the highest amount worth trying.
            if self.trials.moves(at(low + 1)):
                return at(low + 1)
            high = max(low + 1, self.trials.of(together).evictions)
            if not self.trials.moves(at(high)):
                return None
        # Bisection finds the smallest amount only if the pod also moves with every larger one. That is not certain, for a
        # larger amount also lets other pods move. So ``is_least`` tries what was found once more.
        tried = [each for guess in fix.guess[place : place + 1] for each in (guess, guess - 1)]
        tried.append(high - 1)
        while high - low > 1:
            middle = tried.pop(0) if tried else (low + high) // 2
            if low < middle < high:
                low, high = (low, middle) if self.trials.moves(at(middle)) else (middle, high)
        return at(high)


def _annotated(cluster: ClusterSnapshot, name: str, value: str | None) -> ClusterSnapshot:
    known = cluster.kind(_KIND).get(("", name)) or Namespace(ObjectMeta(name=name))
    annotations = structs.replace(known.metadata.annotations or Annotations(), eviction=value)
    metadata = structs.replace(known.metadata, annotations=annotations)
    return with_object(cluster, _KIND, ("", name), structs.replace(known, metadata=metadata))


def _with(together: Together, index: int, fix: Fix) -> Together:
    return (*together[:index], fix, *together[index + 1 :])
