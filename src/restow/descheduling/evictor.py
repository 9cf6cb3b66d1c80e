"""DefaultEvictor: which pods may be evicted at all, and why the others may not.

Most of Filter does not change while a plan is made and is one array (``descheduling.protections``). Two things do
change with each eviction and are asked anew: how many replicas an owner still has (minReplicas), and whether a pod
fits somewhere else (nodeFit). Source: Descheduler 0.36, plugins/defaultevictor.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.label_groups import LabelGroups
from restow.cluster.pods import Flag
from restow.cluster.state import ClusterState
from restow.descheduling.evictor_args import DefaultEvictorArgs
from restow.descheduling.node_fit import NodeFit
from restow.descheduling.protections import Check, static_checks, unknown_check
from restow.kube.labels import parse_selector, selector_from
from restow.policies.codes import RefusalCode, Stage

#: Stage, code and message of a refusal.
Reason = tuple[Stage, RefusalCode, str]

#: Code and text for a pod that upstream passes over without a word.
_ASKS_TO_STAY = (RefusalCode.PREFER_NO_EVICTION, "pod asks not to be evicted and noEvictionPolicy is Mandatory")
_NAMESPACE_CODE = RefusalCode.NAMESPACE_LABEL_SELECTOR
_NAMESPACE = "pod namespace do not match the namespaceLabelSelector filter in the policy parameter"


class CheckResult(NamedTuple):
    """How one check went for one pod; ``message`` is what is said where it fails."""

    code: RefusalCode
    message: str
    passes: bool
    #: The kind that the input would have to tell of, where it is for want of that that the check fails.
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
        opt_out: Sequence[Check],
        now: int,
    ) -> None:
        pods = state.cluster.pods
        self._args = args
        self._state = state
        self._fit = fit
        #: What namespaces say (``descheduling.namespace_opt_out``); no annotation of a pod overrides it.
        self._opt_out = opt_out
        self._checks = static_checks(args, threshold, state.cluster, labels, now)
        #: The annotation that overrides every other check, whatever its value.
        self._always = pods.has(Flag.EVICT)
        self._never = pods.has(Flag.PREFER_NO_EVICTION) & (args.no_eviction_policy == "Mandatory")
        failing = np.logical_or.reduce([self._never, *(check.fails for check in self._checks)])
        self._unprotected = np.logical_and.reduce([~failing | self._always, *(~each.fails for each in opt_out)])
        self._fit_nodes = _ready_nodes(state, args.node_selector) if args.node_fit else None
        self._late = _namespace_check(args, state)
        self._namespace_ok = ~self._late.fails
        #: The kinds for want of which pods are protected.
        self.missing = {each.missing for each in (*opt_out, *self._checks, self._late)} - {""}

    def passes_filter(self, pods: IntArray) -> BoolArray:
        """Which of these pods pass Filter now."""
        passes: BoolArray = self._unprotected[pods]
        if self._args.min_replicas > 1:
            siblings = self._state.siblings(pods)
            passes = passes & (self._always[pods] | (siblings < 0) | (siblings >= self._args.min_replicas))
        return passes

    def passes_pre_eviction(self, pods: IntArray) -> BoolArray:
        """Which of these pods pass PreEvictionFilter now: namespace labels and nodeFit."""
        passes = self._namespace_ok[pods]
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
        if self._fit_nodes is None:
            return bool(self._namespace_ok[pod])
        return bool(self._namespace_ok[pod]) and self._fit.fits_any_other(pod, self._fit_nodes)

    def refusals(self, pods: IntArray) -> list[Reason]:
        """Why each of these pods does not pass: the code of the first failing check, the texts of all."""
        passes = self.passes_filter(pods)
        reasons = iter(self._filter_refusals(pods[~passes]))
        return [
            self._late_refusal(pod) if passed else next(reasons)
            for pod, passed in zip(pods.tolist(), passes.tolist(), strict=True)
        ]

    def checks(self, pod: int) -> list[CheckResult]:
        """Every check that this profile makes, and how it goes for one pod now."""
        spared = bool(self._always[pod])
        results = [CheckResult(each.code, each.message, not each.fails[pod], each.missing) for each in self._opt_out]
        results.append(CheckResult(*_ASKS_TO_STAY, spared or not self._never[pod]))
        results += [
            CheckResult(each.code, each.message, spared or not each.fails[pod], each.missing) for each in self._checks
        ]
        wanted = self._args.min_replicas
        if wanted > 1:
            siblings = int(self._state.siblings(np.array([pod]))[0])
            results.append(
                CheckResult(RefusalCode.MIN_REPLICAS, _few(siblings, wanted), spared or not 0 <= siblings < wanted)
            )
        if self._args.namespace_label_selector is not None:
            late = self._late
            results.append(CheckResult(late.code, late.message, bool(self._namespace_ok[pod]), late.missing))
        if self._fit_nodes is not None:
            fits = self._fit.fits_any_other(pod, self._fit_nodes)
            results.append(CheckResult(RefusalCode.NO_FIT, "" if fits else self._no_fit(pod), fits))
        return results

    def bypassing(self, pod: int) -> DefaultEvictor:
        """The same evictor, but that it lets one pod pass whatever that is, and asks nobody for nodeFit."""
        other = copy(self)
        other._fit_nodes = None  # noqa: SLF001  a copy is made inside the class
        for name in ("_unprotected", "_always", "_namespace_ok"):
            column = getattr(self, name).copy()
            column[pod] = True
            setattr(other, name, column)
        return other

    def _filter_refusals(self, pods: IntArray) -> list[Reason]:
        if len(pods) == 0:
            return []
        holds = ~self._always[pods]
        failing = np.stack(
            [
                *(each.fails[pods] for each in self._opt_out),
                self._never[pods] & holds,
                *(check.fails[pods] & holds for check in self._checks),
            ]
        )
        patterns, pattern_of = np.unique(failing, axis=1, return_inverse=True)
        texts = [self._pattern(patterns[:, column]) for column in range(patterns.shape[1])]
        siblings = np.where(holds, self._state.siblings(pods), -1).tolist()
        return [
            self._reason(texts[pattern], count)
            for pattern, count in zip(pattern_of.ravel().tolist(), siblings, strict=True)
        ]

    def _pattern(self, failing: BoolArray) -> list[tuple[RefusalCode, str]]:
        """Codes and texts of one combination of failing checks; the row after consent stands for the annotation."""
        first = len(self._opt_out)
        found = [(each.code, each.message) for each, fails in zip(self._opt_out, failing[:first], strict=True) if fails]
        if failing[first]:
            return [*found, _ASKS_TO_STAY]
        checks = zip(self._checks, failing[first + 1 :], strict=True)
        return [*found, *((check.code, check.message) for check, fails in checks if fails)]

    def _reason(self, failing: list[tuple[RefusalCode, str]], siblings: int) -> Reason:
        wanted = self._args.min_replicas
        if 0 <= siblings < wanted and wanted > 1 and _ASKS_TO_STAY not in failing:
            text = _few(siblings, wanted)
            # Upstream asks for the age last.
            ages = [each for each in failing if each[0] == RefusalCode.MIN_POD_AGE]
            failing = [*failing[: len(failing) - len(ages)], (RefusalCode.MIN_REPLICAS, text), *ages]
        return Stage.EVICTOR, failing[0][0], "; ".join(message for _, message in failing)

    def _late_refusal(self, pod: int) -> Reason:
        if not self._namespace_ok[pod]:
            return Stage.EVICTOR, self._late.code, self._late.message
        message = self._no_fit(pod)
        return Stage.PLACEMENT, RefusalCode.NO_FIT, message

    def _no_fit(self, pod: int) -> str:
        assert self._fit_nodes is not None
        found = self._fit.explain(pod, self._fit_nodes)
        return f"no other node fits: {found}" if found else "there is no other node"


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


def _namespace_check(args: DefaultEvictorArgs, state: ClusterState) -> Check:
    """The labels of namespaces; of a namespace that the input does not hold it knows none."""
    pods = state.cluster.pods
    selector = args.namespace_label_selector
    if selector is None or not (selector.match_labels or selector.match_expressions):
        return Check(_NAMESPACE_CODE, _NAMESPACE, np.zeros(len(pods), dtype=bool))
    if not state.cluster.has_list("Namespace"):
        return unknown_check("Namespace", np.ones(len(pods), dtype=bool), "the labels of ")
    compiled = selector_from(selector)
    known = state.cluster.namespace_labels()
    names = pods.tables.namespaces
    matching = [name in known and compiled.matches(known[name]) for name in names]
    return Check(_NAMESPACE_CODE, _NAMESPACE, ~np.array(matching, dtype=bool)[pods.namespace])
