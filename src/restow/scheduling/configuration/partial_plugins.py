"""Plugins of which a profile runs only a part: preFilter without filter, filter in another order, score unprepared.

A profile lists preFilter and filter apart, and preScore and score. restow's plugins do both at once; these wrappers make
two of one where a configuration takes them apart.
"""

from __future__ import annotations

import numpy as np

from restow.cluster.interning import IntArray
from restow.scheduling.framework.extension_points import (
    NO_PODS,
    PASSES,
    PROCEED,
    SKIP,
    CycleError,
    FilterPlugin,
    FilterResult,
    PreFiltered,
    ScorePlugin,
    Scores,
    one_outcome,
)
from restow.scheduling.sampling.relative_scores import RelativePlugin, RelativeScores


class PreFilterPart:
    """A plugin that rules out the pod or nodes beforehand, and judges no node."""

    def __init__(self, plugin: FilterPlugin) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def applies_to(self, pod: int) -> bool:
        """Those that the plugin concerns."""
        return self._plugin.applies_to(pod)

    def prefilter(self, pod: int) -> PreFiltered:
        """What the plugin says of the pod; it is not asked about nodes."""
        answer = self._plugin.prefilter(pod)
        return PreFiltered(skip=True, failure=answer.failure, allowed=answer.allowed)

    def affecting_pods(self, _pod: int) -> IntArray:
        """Pods do not matter."""
        return NO_PODS

    def filter(self, _pod: int, nodes: IntArray) -> FilterResult:
        """No objection."""
        return FilterResult(np.full(len(nodes), PASSES), ())


class FilterPart:
    """A plugin that judges nodes; what it says beforehand only counts for whether it is asked."""

    def __init__(self, plugin: FilterPlugin, *, prepared: bool, lenient: bool) -> None:
        self.name = plugin.name
        self._plugin = plugin
        self._prepared = prepared
        #: Whether pods pass that it would have ruled out beforehand.
        self._lenient = lenient

    def applies_to(self, pod: int) -> bool:
        """Those that the plugin concerns; all where it does not know beforehand."""
        return not self._prepared or self._plugin.applies_to(pod)

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip only what the plugin itself skips where it runs at preFilter too."""
        return SKIP if self._prepared and self._plugin.prefilter(pod).skip else PROCEED

    def affecting_pods(self, pod: int) -> IntArray | None:
        """Those of the plugin."""
        return self._plugin.affecting_pods(pod)

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """The plugin's verdict; what it would have said of the pod beforehand it says of every node."""
        failure = None if self._prepared or self._lenient else self._plugin.prefilter(pod).failure
        if failure is not None:
            return one_outcome(np.ones(len(nodes), dtype=bool), failure)
        return self._plugin.filter(pod, nodes)


class PreScorePart:
    """A plugin that prepares scores that nobody asks for; all that comes of it is that it may not be able to."""

    def __init__(self, plugin: ScorePlugin) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def score(self, pod: int, nodes: IntArray) -> None:
        """No opinion; CycleError where the plugin cannot read what the pod asks for."""
        self._plugin.score(pod, nodes)


class UnpreparedScore:
    """A score plugin without its preScore, which is what lets it have no opinion: it gives 0 to every node instead."""

    def __init__(self, plugin: ScorePlugin) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def score(self, pod: int, nodes: IntArray) -> Scores | int:
        """The plugin's scores, or zero."""
        try:
            scores = self._plugin.score(pod, nodes)
        except CycleError as error:
            problem = str(error).removeprefix(f'running PreScore plugin "{self.name}": ')
            raise CycleError(f'running Score plugins: plugin "{self.name}" failed with: {problem}') from error
        return 0 if scores is None else scores

    def relative(self, pod: int, nodes: IntArray) -> RelativeScores | None:
        """The plugin's scores for windows of the nodes, where they depend on the window."""
        return self._plugin.relative(pod, nodes) if isinstance(self._plugin, RelativePlugin) else None
