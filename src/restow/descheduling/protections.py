"""The checks of DefaultEvictor's Filter whose results no move changes, each one column over all pods.

They are ``podProtections`` with the deprecated switches (``evictLocalStoragePods`` and the like), ``priorityThreshold``,
``labelSelector`` and ``minPodAge``. Every check has a stable code and upstream's text, so that people find in restow's
output what they know from the Descheduler's log. Source: Descheduler 0.36, plugins/defaultevictor.

A namespace has a say too: its annotation ``restow.dev/eviction: disabled`` keeps every pod in place, even against an
annotation of the pod, because the owner of a namespace decides before the owner of a pod. ``enabled`` is what a policy with
``namespaces: annotated`` requires. Any other value is a mistake, and counts as ``disabled`` because its author wanted to set
something. If a dump has no Namespaces, no annotation is known: then no namespace opts out, and whether one opts in is
unknown. If an API server does not show them, some namespace may have opted out, so nothing may be evicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from msgspec import Struct

from restow.cluster.budgets import CoveringBudgets
from restow.cluster.interning import BoolArray, IntArray, Interner
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.pod_values import NO_TIME, Flag, Phase
from restow.cluster.pods import Pods
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.evictor_args import DEFAULT_PROTECTIONS, DefaultEvictorArgs
from restow.descheduling.pod_criteria import elapsed_since
from restow.kube.duration import format_duration
from restow.kube.excerpts import did_you_mean, excerpt
from restow.kube.labels import EVERYTHING, selector_from
from restow.plain_text import some
from restow.policies.arguments import SYSTEM_CRITICAL_PRIORITY
from restow.policies.codes import RefusalCode
from restow.policies.policy import Namespaces

_BUDGET, _CLAIM = "PodDisruptionBudget", "PersistentVolumeClaim"


class Protection(Struct, frozen=True):
    """One check: pods for which it fails are protected by it."""

    code: RefusalCode
    message: str
    fails: PodColumn[np.bool_]
    #: The kind that the input lacks, if pods are protected for that reason; else empty.
    missing: str = ""


def effective_protections(args: DefaultEvictorArgs) -> frozenset[str]:
    """Which named protections hold. The new lists win; where both are empty the deprecated switches decide."""
    chosen = args.pod_protections
    if chosen.extra_enabled or chosen.default_disabled:
        return frozenset(DEFAULT_PROTECTIONS).difference(chosen.default_disabled).union(chosen.extra_enabled)
    switches = {
        "PodsWithLocalStorage": not args.evict_local_storage_pods,
        "SystemCriticalPods": not args.evict_system_critical_pods,
        "FailedBarePods": not args.evict_failed_bare_pods,
        "DaemonSetPods": not args.evict_daemon_set_pods,
        "PodsWithPVC": args.ignore_pvc_pods,
        "PodsWithoutPDB": args.ignore_pods_without_pdb,
    }
    return frozenset(name for name, holds in switches.items() if holds)


def static_checks(
    args: DefaultEvictorArgs, threshold: int, cluster: ClusterSnapshot, labels: LabelGroups, now: int
) -> list[Protection]:
    """All checks that hold for this policy, in upstream's order; ``threshold`` is the resolved priority."""
    protections = effective_protections(args)
    checks = [*_always(cluster), *_named(protections, args, threshold, cluster, labels)]
    if args.label_selector is not None:
        checks.extend(_label_check(args, cluster))
    if args.min_pod_age is not None:
        checks.append(_age_check(args.min_pod_age, cluster, now))
    return checks


def unknown_check(kind: str, fails: PodColumn[np.bool_], what: str = "") -> Protection:
    """The check that protects pods because the input lacks a kind; ``what`` names the part of it that would decide."""
    return Protection(RefusalCode.UNKNOWN, f"its eviction depends on {what}{kind}s, which the input lacks", fails, kind)


def _always(cluster: ClusterSnapshot) -> Iterator[Protection]:
    pods = cluster.pods
    yield Protection(RefusalCode.MIRROR_POD, "pod is a mirror pod", flagged(pods, Flag.MIRROR))
    yield Protection(RefusalCode.STATIC_POD, "pod is a static pod", flagged(pods, Flag.STATIC))
    yield Protection(RefusalCode.TERMINATING, "pod is terminating", flagged(pods, Flag.TERMINATING))


def _named(
    protections: frozenset[str], args: DefaultEvictorArgs, threshold: int, cluster: ClusterSnapshot, labels: LabelGroups
) -> Iterator[Protection]:
    pods = cluster.pods
    if "SystemCriticalPods" in protections:
        yield Protection(
            RefusalCode.SYSTEM_CRITICAL_PODS,
            "pod has system critical priority and is protected against eviction",
            PodColumn(pods, lambda rows: pods.priority[rows] >= SYSTEM_CRITICAL_PRIORITY),
        )
        yield Protection(
            RefusalCode.PRIORITY_THRESHOLD,
            "pod has higher priority than specified priority class threshold",
            PodColumn(pods, lambda rows: pods.has_priority[rows] & (pods.priority[rows] >= threshold)),
        )
    yield _bare_check(cluster, failed_are_protected="FailedBarePods" in protections)
    if "PodsWithLocalStorage" in protections:
        message = "pod has local storage and is protected against eviction"
        yield Protection(RefusalCode.PODS_WITH_LOCAL_STORAGE, message, flagged(pods, Flag.LOCAL_STORAGE))
    if "DaemonSetPods" in protections:
        yield Protection(
            RefusalCode.DAEMON_SET_PODS, "daemonset pods are protected against eviction", of_daemon_sets(cluster)
        )
    if "PodsWithPVC" in protections:
        yield from _claim_checks(args, cluster)
    if "PodsWithoutPDB" in protections:
        yield _budget_check(cluster, labels)
    if "PodsWithResourceClaims" in protections:
        message = "pod has ResourceClaims and descheduler is configured to protect ResourceClaims pods"
        yield Protection(RefusalCode.PODS_WITH_RESOURCE_CLAIMS, message, flagged(pods, Flag.RESOURCE_CLAIMS))


def _budget_check(cluster: ClusterSnapshot, labels: LabelGroups) -> Protection:
    if not cluster.has_list(_BUDGET):
        return unknown_check(_BUDGET, everywhere(cluster.pods))
    message = "pod does not have a PodDisruptionBudget and is protected against eviction"
    covering = CoveringBudgets(cluster, labels)
    return Protection(RefusalCode.PODS_WITHOUT_PDB, message, PodColumn(cluster.pods, partial(_uncovered, covering)))


def _uncovered(covering: CoveringBudgets, rows: IntArray) -> BoolArray:
    """Which pods no budget covers."""
    return np.array([not covering.of(pod) for pod in rows.tolist()], dtype=bool)


def _bare_check(cluster: ClusterSnapshot, *, failed_are_protected: bool) -> Protection:
    pods = cluster.pods
    bare = by_value(pods, "owners", "owners", lambda many: [not owners for owners in many])
    if failed_are_protected:
        return Protection(RefusalCode.NO_OWNER, "pod does not have any ownerRefs", bare)
    message = "pod does not have any ownerRefs and is not in failed phase"
    return Protection(
        RefusalCode.NO_OWNER, message, PodColumn(pods, lambda rows: bare.of(rows) & (pods.phase[rows] != Phase.FAILED))
    )


def of_daemon_sets(cluster: ClusterSnapshot) -> PodColumn[np.bool_]:
    """Whether each pod has an owner of kind DaemonSet."""
    return by_value(
        cluster.pods,
        "owners",
        "owners",
        lambda many: ["DaemonSet" in [each.kind for each in owners] for owners in many],
    )


def flagged(pods: Pods, flag: Flag) -> PodColumn[np.bool_]:
    """Whether each pod carries a flag."""
    # NumPy looks for a dozen attributes at every operand that is no plain number.
    bit = int(flag)
    return PodColumn(pods, lambda rows: np.bitwise_and(pods.flags[rows], bit).astype(bool))


def everywhere(pods: Pods) -> PodColumn[np.bool_]:
    """True for each pod."""
    return PodColumn(pods, lambda rows: np.ones(len(rows), dtype=bool))


def _claim_checks(args: DefaultEvictorArgs, cluster: ClusterSnapshot) -> list[Protection]:
    config = args.pod_protections.config
    narrowed = config.pods_with_pvc.protected_storage_classes if config and config.pods_with_pvc else ()
    if not narrowed:
        message = "pod with PVC is protected against eviction"
        return [Protection(RefusalCode.PODS_WITH_PVC, message, flagged(cluster.pods, Flag.CLAIMS))]
    if not cluster.has_list(_CLAIM):
        return [unknown_check(_CLAIM, flagged(cluster.pods, Flag.CLAIMS))]
    protected = {each.name for each in narrowed}
    pods, messages = cluster.pods, Interner[str | None]()
    messages.id(None)

    def failures(rows: IntArray) -> IntArray:
        claims = np.bitwise_and(pods.flags[rows], int(Flag.CLAIMS)).astype(bool).tolist()
        found = (
            _storage_class_failure(cluster, pod, protected) if claiming else None
            for pod, claiming in zip(rows.tolist(), claims, strict=True)
        )
        return np.array(messages.ids(found), dtype=np.int64)

    failure = PodColumn(pods, failures)
    # Asking once finds all texts that there are, except for pods that come later.
    known = messages.keys() if len(failure.values) else []
    texts = [(number, text) for number, text in enumerate(known) if text is not None]
    later = PodColumn(pods, lambda rows: np.greater_equal(failure.values[rows], len(known)))
    return [
        *(
            Protection(RefusalCode.PODS_WITH_PVC, text, PodColumn(pods, partial(_is_failure, failure, number)))
            for number, text in texts
        ),
        Protection(RefusalCode.PODS_WITH_PVC, "pod uses a persistent volume claim that may be protected", later),
    ]


def _is_failure(failure: PodColumn[np.int64], number: int, rows: IntArray) -> BoolArray:
    """Of which pods it is this failure."""
    return np.equal(failure.values[rows], number)


def _storage_class_failure(cluster: ClusterSnapshot, pod: int, protected: set[str]) -> str | None:
    pods = cluster.pods
    namespace = pods.tables.namespaces[pods.namespace[pod]]
    classes = []
    for name in (each.claim for each in pods.tables.volumes[pods.volumes[pod]] if each.is_named_claim):
        claim = cluster.kind(_CLAIM).get((namespace, name))
        if claim is None:
            missing = f'persistentvolumeclaim "{name}" not found'
            return f'failed to get persistent volume claim "{namespace}"/"{name}": {missing}'
        storage_class = claim.spec.storage_class_name
        if not storage_class:
            return f'failed to resolve storage class for pod "{namespace}"/"{name}"'
        classes.append(storage_class)
    found = next((each for each in classes if each in protected), None)
    return None if found is None else f'pod using protected storage class "{found}"'


def _label_check(args: DefaultEvictorArgs, cluster: ClusterSnapshot) -> list[Protection]:
    selector = selector_from(args.label_selector)
    if selector == EVERYTHING:
        return []
    fails = by_value(cluster.pods, "labels", "labels", lambda many: [not selector.matches(each) for each in many])
    return [
        Protection(
            RefusalCode.LABEL_SELECTOR,
            "pod labels do not match the labelSelector filter in the policy parameter",
            fails,
        )
    ]


def _age_check(min_age: int, cluster: ClusterSnapshot, now: int) -> Protection:
    pods = cluster.pods

    def young(rows: IntArray) -> BoolArray:
        started = pods.started[rows]
        is_young: BoolArray = (started == NO_TIME) | (elapsed_since(started, now) < min_age)
        return is_young

    message = f"pod age is not older than MinPodAge: &Duration{{Duration:{format_duration(min_age)},}} seconds"
    return Protection(RefusalCode.MIN_POD_AGE, message, PodColumn(pods, young))


ANNOTATION = "restow.dev/eviction"
_ENABLED, _DISABLED = "enabled", "disabled"
_KIND = "Namespace"
_OUT = f"pod namespace is protected against eviction: its annotation {ANNOTATION} is not {_ENABLED}"
_NOT_IN = (
    f"pod namespace lacks the annotation {ANNOTATION}: {_ENABLED}, and the policy's namespaces: annotated asks for it"
)


def namespace_checks(chosen: Namespaces, cluster: ClusterSnapshot) -> tuple[Protection, ...]:
    """The checks of a policy in their order; none if no namespace has the annotation and the policy does not require it."""
    if is_missing(chosen, cluster):
        return (unknown_check(_KIND, everywhere(cluster.pods), f"the annotation {ANNOTATION} of "),)
    said = _said(cluster)
    checks = []
    if any(withheld(value, chosen) for value in said.values()):
        checks.append(Protection(RefusalCode.NAMESPACE_OPTED_OUT, _OUT, _withheld(_OUT, said, chosen, cluster)))
    if chosen == "annotated":
        checks.append(
            Protection(RefusalCode.NAMESPACE_NOT_OPTED_IN, _NOT_IN, _withheld(_NOT_IN, said, chosen, cluster))
        )
    return tuple(checks)


def withheld(value: str | None, chosen: Namespaces) -> str | None:
    """Why pods of a namespace must stay, by the value of its annotation (None: it has none); None if they may go."""
    if value is not None and value != _ENABLED:
        return _OUT
    return _NOT_IN if value is None and chosen == "annotated" else None


def is_missing(chosen: Namespaces, cluster: ClusterSnapshot) -> bool:
    """Whether the policy depends on annotations of namespaces that the input lacks."""
    return _KIND in cluster.missing or (chosen == "annotated" and not cluster.has_list(_KIND))


def namespace_notes(cluster: ClusterSnapshot) -> Iterator[str]:
    """Yield one sentence if some namespace has a value of the annotation that is neither of the two."""
    strange = {name: value for name, value in _said(cluster).items() if value not in {_ENABLED, _DISABLED}}
    if strange:
        value = next(iter(strange.values()))
        hint = did_you_mean(value, (_ENABLED, _DISABLED))
        yield (
            f'namespace {some(list(strange), 1)}: the annotation {ANNOTATION} is "{excerpt(value)}", neither {_ENABLED} nor {_DISABLED}, '
            f"and counts as {_DISABLED}{f'; {hint}' if hint else ''}"
        )


def _said(cluster: ClusterSnapshot) -> dict[str, str]:
    """The annotation's value by namespace, for those that have it."""
    found = ((name, each.metadata.annotations) for (_, name), each in cluster.kind(_KIND).items())
    return {name: given.eviction for name, given in found if given is not None and given.eviction is not None}


def _withheld(why: str, said: Mapping[str, str], chosen: Namespaces, cluster: ClusterSnapshot) -> PodColumn[np.bool_]:
    """Whether each pod is in a namespace whose pods must stay for this reason."""
    return by_value(
        cluster.pods,
        "namespace",
        "namespaces",
        lambda names: [withheld(said.get(each), chosen) == why for each in names],
    )
