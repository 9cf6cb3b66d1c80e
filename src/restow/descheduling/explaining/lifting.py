"""What would make the evictor's checks pass for a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import structs

from restow.cluster.pods import NO_TIME
from restow.cluster.snapshot import Cluster
from restow.descheduling.evictor import CheckResult
from restow.descheduling.explaining.changed_clusters import with_object
from restow.descheduling.explaining.changed_policies import with_evictor, without_protection
from restow.descheduling.explaining.explanation import Step
from restow.descheduling.explaining.trials import Edit, Inputs, Remedy
from restow.descheduling.explaining.what_if import WhatIf
from restow.descheduling.namespace_opt_out import ANNOTATION
from restow.descheduling.placement import PluginRef
from restow.descheduling.protections import SYSTEM_CRITICAL
from restow.kube.objects import Namespace, ObjectMeta
from restow.kube.objects.metadata import Annotations
from restow.kube.timestamps import format_time
from restow.policies.arguments import PriorityThreshold
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


class Lifting:
    """Finds what would make the checks pass for one pod and the strategy that wants it to move."""

    def __init__(self, what_if: WhatIf, pod: int, ref: PluginRef, profile: Profile) -> None:
        self._policy = what_if.setting.policy
        self._state = what_if.state
        self._pods = what_if.state.cluster.pods
        self._pod = pod
        self._ref = ref
        self._args = profile.args[DEFAULT_EVICTOR]
        self._makers: dict[RefusalCode, Callable[[], Remedy | None]] = {
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
            RefusalCode.NAMESPACE_OPTED_OUT: self._opt_out,
            RefusalCode.NAMESPACE_NOT_OPTED_IN: self._opt_out,
        }

    def of(self, checks: Iterable[CheckResult]) -> list[Remedy] | None:
        """What makes all failing checks pass; None if one of them should not be lifted, such as that of a mirror pod."""
        failing = [each for each in checks if not each.passes]
        codes = [each.code for each in failing if each.code != RefusalCode.UNKNOWN]
        if RefusalCode.SYSTEM_CRITICAL_PODS in codes:
            # The threshold is a part of that protection.
            codes = [each for each in codes if each != RefusalCode.PRIORITY_THRESHOLD]
        found = [self._lifted(each) for each in codes]
        found += [self._told_of(each) for each in dict.fromkeys(each.missing for each in failing if each.missing)]
        return None if None in found else [each for each in found if each is not None]

    def _lifted(self, code: RefusalCode) -> Remedy | None:
        if code in _NAMED:
            step = Step("protection", f"without the protection {code}")
            return Remedy(step, self._on_policy(without_protection, code))
        make = self._makers.get(code)
        return make() if make else None

    def _evictor(self, message: str, **changed: Any) -> Remedy:
        return Remedy(Step("protection", message), self._on_policy(with_evictor, **changed))

    def _threshold(self) -> Remedy | None:
        priority = int(self._pods.priority[self._pod])
        if priority >= SYSTEM_CRITICAL:
            return None
        message = "with a priorityThreshold of {}"
        at, below = (
            self._evictor(message.format(value), priority_threshold=PriorityThreshold(value=value))
            for value in (priority + 1, priority)
        )
        return replace(at, weaker=(below,))

    def _replicas(self) -> Remedy:
        replicas = int(self._state.siblings(np.array([self._pod]))[0])
        weaker = (self._fewest(replicas + 1),) if replicas + 1 < self._args.min_replicas else ()
        return self._fewest(replicas, weaker)

    def _fewest(self, replicas: int, weaker: tuple[Remedy, ...] = ()) -> Remedy:
        return replace(self._evictor(f"with a minReplicas of {replicas}", min_replicas=replicas), weaker=weaker)

    def _later(self) -> Remedy | None:
        started = int(self._pods.started[self._pod])
        if started == NO_TIME:
            return None
        then = -(-(started + self._args.min_pod_age) // _SECOND) * _SECOND
        message = f"at {format_time(then)}, when it is older than minPodAge"
        return Remedy(Step("protection", message), lambda inputs: replace(inputs, now=then))

    def _opt_out(self) -> Remedy:
        asked = self._policy.restow.namespaces == "annotated"
        message = f"with the annotation {ANNOTATION}: enabled on its namespace"
        if not asked:
            message = f"without the annotation {ANNOTATION} of its namespace"
        return Remedy(Step("protection", message), self._annotated("enabled" if asked else None))

    def _told_of(self, kind: str) -> Remedy:
        """For a kind that the input lacks, the best case: the check that needs it passes."""
        edits = {
            "PodDisruptionBudget": self._on_policy(without_protection, "PodsWithoutPDB"),
            "PersistentVolumeClaim": self._on_policy(without_protection, "PodsWithPVC"),
            _KIND: self._opting_in,
        }
        return Remedy(Step("input", f"if the input included {kind}s"), edits[kind], exact=False)

    def _opting_in(self, inputs: Inputs) -> Inputs:
        """The namespace opts in and has the labels that the policy requires."""
        return self._on_policy(with_evictor, namespace_label_selector=None)(self._annotated("enabled")(inputs))

    def _annotated(self, value: str | None) -> Edit:
        name = self._pods.tables.namespaces[self._pods.namespace[self._pod]]
        return lambda inputs: replace(inputs, cluster=_annotated(inputs.cluster, name, value))

    def _on_policy(self, change: Callable[..., Any], *given: Any, **named: Any) -> Edit:
        def edit(inputs: Inputs) -> Inputs:
            return replace(inputs, policy=change(inputs.policy, self._ref.profile, *given, **named))

        return edit


def _annotated(cluster: Cluster, name: str, value: str | None) -> Cluster:
    known = cluster.kind(_KIND).get(("", name)) or Namespace(ObjectMeta(name=name))
    annotations = structs.replace(known.metadata.annotations or Annotations(), eviction=value)
    metadata = structs.replace(known.metadata, annotations=annotations)
    return with_object(cluster, _KIND, ("", name), structs.replace(known, metadata=metadata))
