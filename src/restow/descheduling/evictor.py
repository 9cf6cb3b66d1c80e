"""DefaultEvictor: which pods may be evicted at all, and why the others may not.

Most of Filter does not change while a plan is made and is one array (``descheduling.protections``). Two things do
change with each eviction and are checked again: how many replicas an owner still has (minReplicas), and whether a pod
fits somewhere else (nodeFit). Source: Descheduler 0.36, plugins/defaultevictor.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.pod_values import Flag
from restow.cluster.pods import NO_POD
from restow.cluster.state import ClusterState
from restow.descheduling.evictor_args import DefaultEvictorArgs
from restow.descheduling.framework import Reason
from restow.descheduling.groups import HeldGroups
from restow.descheduling.node_fit import NodeFit
from restow.descheduling.protections import Protection, everywhere, flagged, static_checks, unknown_check
from restow.kube.labels import parse_selector, selector_from
from restow.policies.codes import RefusalCode, Stage

#: Code and text for a pod that upstream leaves out without a log line.
_ASKS_TO_STAY = (RefusalCode.PREFER_NO_EVICTION, "pod asks not to be evicted and noEvictionPolicy is Mandatory")
_NAMESPACE_CODE = RefusalCode.NAMESPACE_LABEL_SELECTOR
_NAMESPACE = "pod namespace do not match the namespaceLabelSelector filter in the policy parameter"


class CheckResult(NamedTuple):
    """The result of one check for one pod; ``message`` says why it fails."""

    code: RefusalCode
    message: str
    passes: bool
    #: The kind that the input lacks, if the check fails for that reason; else empty.
    missing: str = ""


class DefaultEvictor:
    """The filters of one profile on one state."""

    def __init__(
        self,
        args: DefaultEvictorArgs,
        *,
        threshold: int,
        state: ClusterState,
        fit: NodeFit,
        labels: LabelGroups,
        vetoes: Sequence[Protection],
        now: int,
        held: HeldGroups | None = None,
    ) -> None:
        pods = state.cluster.pods
        self._args = args
        self._state = state
        self._fit = fit
        #: The pods that stay because of their groups; no annotation of a pod overrides that either.
        self._held = held
        #: The pod that stays for neither reason, of an evictor that is asked what if.
        self._bypassed = NO_POD
        #: The checks that no annotation of a pod overrides: opt-outs of namespaces, and what other controllers forbid.
        self._vetoes = vetoes
        self._checks = static_checks(args, threshold, state.cluster, labels, now)
        #: The annotation that overrides every other check, with any value.
        self._always = flagged(pods, Flag.EVICT)
        self._never = flagged(pods, Flag.PREFER_NO_EVICTION if args.no_eviction_policy == "Mandatory" else Flag(0))
        self._failing = PodColumn(pods, self._find_failing)
        #: Codes and texts of the combinations of failing checks that have occurred.
        self._patterns: dict[bytes, list[tuple[RefusalCode, str]]] = {}
        self._unprotected = PodColumn(pods, self._are_unprotected)
        self._fit_nodes = _ready_nodes(state, args.node_selector) if args.node_fit else None
        self._asks_namespaces = args.namespace_label_selector is not None
        self._late = _namespace_check(args, state)
        self._namespace_ok = PodColumn(pods, lambda rows: ~self._late.fails.of(rows))
        #: The kinds that the input lacks and because of which pods are protected.
        self.missing = {each.missing for each in (*vetoes, *self._checks, self._late)} - {""}

    def passes_filter(self, pods: IntArray) -> BoolArray:
        """Which of these pods pass Filter now."""
        passes: BoolArray = self._unprotected.at(pods)
        if self._args.min_replicas > 1:
            siblings = self._state.siblings(pods)
            passes = passes & (self._always.values[pods] | (siblings < 0) | (siblings >= self._args.min_replicas))
        if self._held is not None:
            passes = passes & ~self._held.holds.values[pods] | (pods == self._bypassed)
        return passes

    def passes_pre_eviction(self, pods: IntArray) -> BoolArray:
        """Which of these pods pass PreEvictionFilter now: namespace labels and nodeFit."""
        passes = self._namespace_ok.values[pods]
        if self._fit_nodes is not None:
            nodes, fits = self._fit_nodes, self._fit.fits_any_other
            fitting = [fits(pod, nodes) for pod in pods[passes].tolist()]
            passes = passes.copy()
            passes[passes] = fitting
        return passes

    def passes_all(self, pod: int) -> bool:
        """Whether one pod passes Filter and PreEvictionFilter now."""
        one = np.array([pod])
        return bool(self.passes_filter(one)[0]) and bool(self.passes_pre_eviction(one)[0])

    def passes_late(self, pod: int) -> bool:
        """Whether one pod passes PreEvictionFilter now."""
        if self._asks_namespaces and not self._namespace_ok.values[pod]:
            return False
        return self._fit_nodes is None or self._fit.fits_any_other(pod, self._fit_nodes)

    def refusals(self, pods: IntArray) -> list[Reason]:
        """Why each of these pods is rejected: the code of the first check that fails, and the texts of all that fail."""
        passes = self.passes_filter(pods)
        reasons = iter(self._filter_refusals(pods[~passes]))
        return [
            self._late_refusal(pod) if passed else next(reasons)
            for pod, passed in zip(pods.tolist(), passes.tolist(), strict=True)
        ]

    def checks(self, pod: int) -> list[CheckResult]:
        """The result of every check of this profile for one pod now."""
        spared = bool(self._always.values[pod])
        results = [
            CheckResult(each.code, each.message, not each.fails.values[pod], each.missing) for each in self._vetoes
        ]
        if self._held is not None and self._held.group_of(pod) is not None:
            held = bool(self._held.holds.values[pod])
            results.append(CheckResult(RefusalCode.GROUP_MEMBER, self._held.sentence(pod) if held else "", not held))
        results.append(CheckResult(*_ASKS_TO_STAY, spared or not self._never.values[pod]))
        results += [
            CheckResult(each.code, each.message, spared or not each.fails.values[pod], each.missing)
            for each in self._checks
        ]
        wanted = self._args.min_replicas
        if wanted > 1:
            siblings = int(self._state.siblings(np.array([pod]))[0])
            results.append(
                CheckResult(RefusalCode.MIN_REPLICAS, _few(siblings, wanted), spared or not 0 <= siblings < wanted)
            )
        if self._args.namespace_label_selector is not None:
            late = self._late
            results.append(CheckResult(late.code, late.message, bool(self._namespace_ok.values[pod]), late.missing))
        if self._fit_nodes is not None:
            fits = self._fit.fits_any_other(pod, self._fit_nodes)
            results.append(CheckResult(RefusalCode.NO_FIT, "" if fits else self._no_fit(pod), fits))
        return results

    def bypassing(self, pod: int) -> DefaultEvictor:
        """The same evictor, except that it lets this pod pass and does not check nodeFit."""
        other = copy(self)
        other._fit_nodes = None  # noqa: SLF001  a copy is made inside the class
        other._bypassed = pod  # noqa: SLF001
        for name in ("_unprotected", "_always", "_namespace_ok"):
            setattr(other, name, PodColumn(self._state.cluster.pods, partial(_or_this, getattr(self, name), pod)))
        return other

    def _find_failing(self, rows: IntArray) -> npt.NDArray[np.uint8]:
        """Which checks of Filter fail for some pods, of those that no move changes; a bit for each check, uint8[pod, byte].

        The first bits are for checks that the annotation does not override.
        """
        holds = ~self._always.of(rows)
        failing = [
            *[each.fails.of(rows) for each in self._vetoes],
            self._never.of(rows) & holds,
            *[check.fails.of(rows) & holds for check in self._checks],
        ]
        return np.packbits(np.stack(failing, axis=1), axis=1)

    def _are_unprotected(self, rows: IntArray) -> BoolArray:
        """Which pods pass all checks of Filter whose results do not change with each eviction."""
        unprotected: BoolArray = ~np.logical_or.reduce(self._failing.at(rows), axis=1)
        return unprotected

    def _filter_refusals(self, pods: IntArray) -> list[Reason]:
        if len(pods) == 0:
            return []
        failing = self._failing.at(pods)
        siblings = np.where(self._always.values[pods], -1, self._state.siblings(pods)).tolist()
        bits, width = failing.tobytes(), failing.shape[1]
        reasons = []
        holds = np.zeros(len(pods), dtype=bool) if self._held is None else self._held.holds.values[pods]
        for position, count in enumerate(siblings):
            pattern = bits[position * width : (position + 1) * width]
            known = self._patterns.get(pattern)
            if known is None:
                known = self._patterns[pattern] = self._pattern(pattern)
            if holds[position]:
                known = self._with_group(known, int(pods[position]))
            reasons.append(self._reason(known, count))
        return reasons

    def _with_group(self, failing: list[tuple[RefusalCode, str]], pod: int) -> list[tuple[RefusalCode, str]]:
        """What keeps a pod of a group that stays: vetoes, the group, then all others."""
        assert self._held is not None
        first = sum(message in [each.message for each in self._vetoes] for _, message in failing)
        return [*failing[:first], (RefusalCode.GROUP_MEMBER, self._held.sentence(pod)), *failing[first:]]

    def _pattern(self, bits: bytes) -> list[tuple[RefusalCode, str]]:
        """Codes and texts of one combination of failing checks: vetoes, the annotation, then all others."""
        failing, first = np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).astype(bool), len(self._vetoes)
        found = [(each.code, each.message) for each, fails in zip(self._vetoes, failing[:first], strict=True) if fails]
        if failing[first]:
            return [*found, _ASKS_TO_STAY]
        checks = zip(self._checks, failing[first + 1 : first + 1 + len(self._checks)], strict=True)
        return [*found, *((check.code, check.message) for check, fails in checks if fails)]

    def _reason(self, failing: list[tuple[RefusalCode, str]], siblings: int) -> Reason:
        wanted = self._args.min_replicas
        if 0 <= siblings < wanted and wanted > 1 and _ASKS_TO_STAY not in failing:
            text = _few(siblings, wanted)
            # Upstream checks the age last.
            ages = [each for each in failing if each[0] == RefusalCode.MIN_POD_AGE]
            failing = [*failing[: len(failing) - len(ages)], (RefusalCode.MIN_REPLICAS, text), *ages]
        return Stage.EVICTOR, failing[0][0], "; ".join(message for _, message in failing)

    def _late_refusal(self, pod: int) -> Reason:
        if not self._namespace_ok.values[pod]:
            return Stage.EVICTOR, self._late.code, self._late.message
        message = self._no_fit(pod)
        return Stage.PLACEMENT, RefusalCode.NO_FIT, message

    def _no_fit(self, pod: int) -> str:
        assert self._fit_nodes is not None
        found = self._fit.explain(pod, self._fit_nodes)
        return f"no other node fits: {found}" if found else "there is no other node"


def _or_this(column: PodColumn[np.bool_], pod: int, rows: IntArray) -> BoolArray:
    """The values of a column for some pods; true for ``pod`` in any case."""
    holds: BoolArray = column.of(rows) | (rows == pod)
    return holds


def _few(siblings: int, wanted: int) -> str:
    return f"owner has {siblings} replicas which is less than minReplicas of {wanted}"


def _ready_nodes(state: ClusterState, selector: str) -> BoolArray:
    """Ready nodes that a label selector matches, bool[node]; a selector that does not parse matches none."""
    nodes = state.cluster.nodes
    if not selector:
        return nodes.ready
    try:
        parsed = parse_selector(selector)
    except ValueError:
        return np.zeros(len(nodes), dtype=bool)
    return np.logical_and(nodes.ready, [parsed.matches(labels) for labels in nodes.labels])


def _namespace_check(args: DefaultEvictorArgs, state: ClusterState) -> Protection:
    """The check of namespace labels. Pods of namespaces that the input does not contain fail it."""
    pods = state.cluster.pods
    selector = args.namespace_label_selector
    if selector is None or not (selector.match_labels or selector.match_expressions):
        return Protection(_NAMESPACE_CODE, _NAMESPACE, PodColumn(pods, lambda rows: np.zeros(len(rows), dtype=bool)))
    if not state.cluster.has_list("Namespace"):
        return unknown_check("Namespace", everywhere(pods), "the labels of ")
    compiled = selector_from(selector)
    known = state.cluster.namespace_labels()
    fails = by_value(
        pods,
        "namespace",
        "namespaces",
        lambda names: [not (name in known and compiled.matches(known[name])) for name in names],
    )
    return Protection(_NAMESPACE_CODE, _NAMESPACE, fails)
