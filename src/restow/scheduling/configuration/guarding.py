"""Guards around plugins of other packages: a fault never ends the scheduler, and never moves a pod.

A filter that raises, or answers with a value of the wrong shape, rejects every node that it was asked about; the fault
is the reason. A score that fails leaves the cycle without an answer. So no pod lands where a plugin failed, and none is
moved there. A ``PluginError`` says what is no answer, in half a sentence.

The scheduler does not know what such a plugin looks at, so it asks every time. Verdicts are kept only for a plugin that
declares ``scope`` and ``key``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.journal import NodeChange
from restow.cluster.nodes import ANY_PART
from restow.cluster.state import ClusterState
from restow.installed_packages import FAULTS, UnusablePackageError
from restow.kube.excerpts import described
from restow.scheduling.framework.context import Context, Follower
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import (
    MAX_SCORE,
    NO_PODS,
    PASSES,
    PROCEED,
    CycleError,
    FilterResult,
    Outcome,
    PreFiltered,
    Scope,
    Scores,
    one_outcome,
)
from restow.scheduling.framework.post_filtering import Handle, Preemption
from restow.scheduling.framework.verdicts import Verdicts
from restow.scheduling.sampling.relative_scores import Ranged, RelativeScores

#: The methods that a plugin has for its points.
_METHODS = {"preFilter": "prefilter", "filter": "filter", "score": "score"}


class PluginError(Exception):
    """A plugin raised, or gave an answer that is none."""


def guarded(declaration: SchedulerPlugin, context: Context, args: Any) -> Guarded:
    """The plugin of another package, made for one state; UnusablePackageError where it cannot be made or lacks a method."""
    assert declaration.make is not None, "a plugin that filters or scores can be made"
    try:
        made = declaration.make(context, args)
    except FAULTS as error:
        raise _cannot_be_made(declaration, error) from error
    for point in declaration.points:
        if point in _METHODS and not callable(getattr(made, _METHODS[point], None)):
            raise UnusablePackageError(
                f'scheduler plugin "{declaration.name}": no method {_METHODS[point]} for {point}'
            )
    scope = getattr(made, "scope", None)
    if isinstance(scope, Scope) and "preFilter" in declaration.points:
        raise UnusablePackageError(
            f'scheduler plugin "{declaration.name}": a plugin with a scope cannot run at preFilter'
        )
    renewed = RebuiltPlugin(made, partial(declaration.make, context, args), context.state)
    if isinstance(scope, Scope):
        return GuardedLocal(declaration.name, renewed, scope, context.state)
    return Guarded(declaration.name, renewed, context.state)


def guarded_post_filter(declaration: SchedulerPlugin, handle: Handle, args: Any) -> GuardedPostFilter:
    """Guard a plugin that runs at postFilter."""
    assert declaration.make_post_filter is not None, "a plugin at postFilter can be made"
    make = partial(declaration.make_post_filter, handle, args)
    try:
        return GuardedPostFilter(declaration.name, RebuiltPlugin(make(), make, handle.context.state))
    except FAULTS as error:
        raise _cannot_be_made(declaration, error) from error


def _cannot_be_made(declaration: SchedulerPlugin, error: BaseException) -> UnusablePackageError:
    return UnusablePackageError(
        f'scheduler plugin "{declaration.name}" cannot be made for this cluster: {described(error)}'
    )


class RebuiltPlugin:
    """What a package made for one state; rebuilt after nodes changed, because it may keep nodes."""

    def __init__(self, made: Any, make: Callable[[], Any], state: ClusterState) -> None:
        self._made = made
        self._make = make
        #: Whether nodes are others than those that it was made for.
        self.is_outdated = False
        state.cluster.nodes.follow(ANY_PART, self._outdate)

    def has(self, method: str) -> bool:
        """Whether it has a method."""
        return hasattr(self._made, method)

    def call(self, method: str, *arguments: object) -> Any:
        """Call a method; PluginError if it fails, or if the plugin cannot be rebuilt."""
        if self.is_outdated:
            self.renew()
        try:
            return getattr(self._made, method)(*arguments)
        except FAULTS as error:
            raise PluginError(f"{method} raised {described(error)}") from error

    def renew(self) -> None:
        """Have it made for the nodes as they are."""
        try:
            self._made = self._make()
        except FAULTS as error:
            raise PluginError(f"it cannot be made for the nodes as they are: {described(error)}") from error
        self.is_outdated = False

    def _outdate(self) -> None:
        self.is_outdated = True


class Guarded:
    """A plugin of another package that does not declare what it looks at."""

    def __init__(self, name: str, made: RebuiltPlugin, state: ClusterState) -> None:
        self.name = name
        self._made = made
        self._state = state
        self._normalises = made.has("normalize_score")
        #: The fault when it was notified of a pod: from then on its counts are useless.
        self._lost: PluginError | None = None
        self._follower = Follower(state, self._notify) if made.has("add_pod") else None
        if self._follower is not None:
            self._notify_of_all()

    def applies_to(self, _pod: int) -> bool:
        """Every pod; those that it skips are skipped in ``prefilter``."""
        return True

    def signature(self, pod: int) -> Hashable:
        """The pod itself: what else distinguishes pods for the plugin is not known."""
        return pod

    def prefilter(self, pod: int) -> PreFiltered:
        """Its answer; no node is right for the pod where it fails."""
        if not self._made.has("prefilter"):
            return PROCEED
        try:
            return _checked_prefilter(self._ask("prefilter", pod), len(self._state.cluster.nodes))
        except PluginError as fault:
            return PreFiltered(failure=self._outcome(fault))

    def affecting_pods(self, pod: int) -> IntArray | None:
        """Its answer; all pods where it has none."""
        if not self._made.has("affecting_pods"):
            return None
        try:
            return _checked_pods(self._ask("affecting_pods", pod), len(self._state.exists))
        except PluginError:
            return None

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Its verdict; it rejects all of the nodes where it fails."""
        try:
            return _checked_filter(self._ask("filter", pod, nodes.copy()), len(nodes))
        except PluginError as fault:
            return self._reject(nodes, fault)

    def score(self, pod: int, nodes: IntArray) -> Scores | int | None:
        """Its scores, normalised; CycleError where it fails."""
        try:
            scores = self._raw(pod, nodes)
            if self._normalises and isinstance(scores, np.ndarray) and len(scores):
                scores = self._normalise(scores, int(scores.min()), int(scores.max()))
            _check_range(scores)
        except PluginError as fault:
            raise self._broken_cycle(fault) from fault
        return scores

    def relative(self, pod: int, nodes: IntArray) -> RelativeScores | None:
        """Scores in windows of the nodes; None if it does not normalise. CycleError if it fails."""
        if not self._normalises:
            return None
        try:
            raw = self._raw(pod, nodes)
        except PluginError as fault:
            raise self._broken_cycle(fault) from fault
        return Ranged.of(raw, self._normalise_window) if isinstance(raw, np.ndarray) else None

    def _raw(self, pod: int, nodes: IntArray) -> Scores | int | None:
        return _checked_scores(self._ask("score", pod, nodes.copy()), len(nodes))

    def _normalise(self, raw: Scores, lowest: int, highest: int) -> Scores:
        return _checked_normalised(self._ask("normalize_score", raw, lowest, highest), len(raw))

    def _normalise_window(self, raw: Scores, lowest: int, highest: int) -> Scores:
        try:
            return self._normalise(raw, lowest, highest)
        except PluginError as fault:
            raise self._broken_cycle(fault) from fault

    def _ask(self, method: str, *arguments: object) -> Any:
        """What a method answers, on the state as it is."""
        if self._follower is not None:
            if self._made.is_outdated:
                self._begin_again(self._follower)
            self._follower.catch_up()
        if self._lost is not None:
            raise self._lost
        return self._made.call(method, *arguments)

    def _begin_again(self, follower: Follower) -> None:
        """Have it count all pods on the nodes as they are."""
        self._made.renew()
        follower.skip()
        self._lost = None
        self._notify_of_all()

    def _notify_of_all(self) -> None:
        placed = self._state.holds_resources() & (self._state.node >= 0)
        for pod in self._state.cluster.pods.where(placed).tolist():
            self._notify(NodeChange(int(self._state.node[pod]), pod, 1, 1))

    def _notify(self, change: NodeChange) -> None:
        """Notify the plugin that a pod came or went; finished pods hold nothing on any node."""
        if self._lost is None and not self._made.is_outdated and self._state.holds[change.pod]:
            try:
                self._made.call("add_pod" if change.present > 0 else "remove_pod", change.pod, change.node)
            except PluginError as fault:
                self._lost = fault

    def _reject(self, nodes: IntArray, fault: PluginError) -> FilterResult:
        return one_outcome(np.ones(len(nodes), dtype=bool), self._outcome(fault))

    def _outcome(self, fault: PluginError) -> Outcome:
        return Outcome((_failed(self.name, fault),), unresolvable=True)

    def _broken_cycle(self, fault: PluginError) -> CycleError:
        return CycleError(f"running Score plugins: {_failed(self.name, fault)}")


class GuardedLocal(Guarded):
    """One that looks at a node (and the pods on it), and of the incoming pod at its key."""

    def __init__(self, name: str, made: RebuiltPlugin, scope: Scope, state: ClusterState) -> None:
        super().__init__(name, made, state)
        self.scope = scope

    def key(self, pod: int) -> int:
        """The key of what the plugin looks at; unique to the pod if the plugin fails."""
        try:
            return self._key(pod)
        except PluginError:
            return -1 - pod

    def affecting_pods(self, pod: int) -> IntArray | None:
        """No pods, where it looks at nodes only."""
        return NO_PODS if self.scope is Scope.NODE else super().affecting_pods(pod)

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Filter; reject a pod whose key fails."""
        try:
            self._key(pod)
        except PluginError as fault:
            return self._reject(nodes, fault)
        return super().filter(pod, nodes)

    def _key(self, pod: int) -> int:
        return _checked_key(self._ask("key", pod))


class GuardedPostFilter:
    """A plugin of another package that runs at postFilter."""

    def __init__(self, name: str, made: RebuiltPlugin) -> None:
        self._name = name
        self._made = made

    def signature(self, pod: int) -> Hashable:
        """The pod itself, as for ``Guarded``."""
        return pod

    def post_filter(self, pod: int, verdicts: Verdicts) -> Preemption:
        """Its answer; nothing can be done for the pod where it fails."""
        try:
            return _checked_preemption(self._made.call("post_filter", pod, verdicts))
        except PluginError as fault:
            return Preemption(message=_failed(self._name, fault))


def _failed(name: str, fault: PluginError) -> str:
    return f'plugin "{name}" failed: {fault}'


def _checked_prefilter(answer: Any, nodes: int) -> PreFiltered:
    """Check a PreFilter answer about ``nodes`` nodes."""
    if not isinstance(answer, PreFiltered):
        raise PluginError(f"prefilter returned {_kind(answer)} instead of a PreFiltered")
    if answer.failure is not None:
        _check_outcome("prefilter", answer.failure)
    if answer.allowed is not None and not _is(answer.allowed, "b", nodes):
        raise PluginError(f"prefilter allowed {_kind(answer.allowed)} instead of bool[{nodes}]")
    return answer if answer.allowed is None else replace(answer, allowed=answer.allowed.copy())


def _checked_filter(answer: Any, nodes: int) -> FilterResult:
    """Check a filter answer about ``nodes`` nodes."""
    if not isinstance(answer, FilterResult):
        raise PluginError(f"filter returned {_kind(answer)} instead of a FilterResult")
    category = answer.category
    if not _is(category, "i", nodes):
        raise PluginError(f"filter returned categories of {_kind(category)} instead of int64[{nodes}]")
    if not isinstance(answer.outcomes, list | tuple):
        raise PluginError(f"filter returned outcomes of {_kind(answer.outcomes)} instead of a tuple")
    for each in answer.outcomes:
        _check_outcome("filter", each)
    if nodes and not PASSES <= int(category.min()) <= int(category.max()) < len(answer.outcomes):
        raise PluginError(f"filter returned a category that is none of its {len(answer.outcomes)} outcomes")
    return answer


def _checked_scores(answer: Any, nodes: int) -> Scores | int | None:
    """Check the raw scores of ``nodes`` nodes."""
    if answer is None or (isinstance(answer, int) and not isinstance(answer, bool)):
        return answer
    if not _is(answer, "i", nodes):
        raise PluginError(f"score returned {_kind(answer)} instead of int64[{nodes}], a number or None")
    scores: Scores = answer
    return scores


def _checked_normalised(answer: Any, nodes: int) -> Scores:
    """Check the normalised scores of ``nodes`` nodes."""
    if not _is(answer, "i", nodes):
        raise PluginError(f"normalize_score returned {_kind(answer)} instead of int64[{nodes}]")
    scores: Scores = answer
    return scores


def _check_range(scores: Scores | int | None) -> None:
    """Scores are 0 to 100 in the end."""
    if scores is None or (isinstance(scores, np.ndarray) and len(scores) == 0):
        return
    least, most = int(np.min(scores)), int(np.max(scores))
    if least < 0 or most > MAX_SCORE:
        raise PluginError(f"a score is {least if least < 0 else most}, not 0 to {MAX_SCORE}")


def _checked_pods(answer: Any, pods: int) -> IntArray:
    """Check rows among those of ``pods`` pods."""
    if not (isinstance(answer, np.ndarray) and answer.dtype.kind == "i" and answer.ndim == 1):
        raise PluginError(f"affecting_pods returned {_kind(answer)} instead of rows of pods")
    if len(answer) and not 0 <= int(answer.min()) <= int(answer.max()) < pods:
        raise PluginError("affecting_pods returned a row that no pod has")
    rows: IntArray = answer
    return rows


def _checked_key(answer: Any) -> int:
    """What a plugin looks at of a pod."""
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
        raise PluginError(f"key returned {_kind(answer)} instead of a whole number")
    return int(answer)


def _checked_preemption(answer: Any) -> Preemption:
    """An answer to PostFilter."""
    if not isinstance(answer, Preemption):
        raise PluginError(f"post_filter returned {_kind(answer)} instead of a Preemption")
    return answer


def _check_outcome(method: str, outcome: Any) -> None:
    reasons = outcome.reasons if isinstance(outcome, Outcome) else None
    if not (isinstance(reasons, tuple) and reasons and all(isinstance(each, str) for each in reasons)):
        raise PluginError(f"{method} returned {_kind(outcome)} instead of an Outcome with a tuple of reasons")


def _is(value: Any, kind: str, length: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == kind and value.shape == (length,)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return "nothing" if value is None else f"a value of type {type(value).__name__}"
