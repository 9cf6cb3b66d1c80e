"""Scheduler profiles: which plugins schedule the pods that name a scheduler, in which order, and how they are set.

A profile is what is left of a KubeSchedulerConfiguration once its plugin sets are merged with the defaults. Of a profile
are made its plugins for one state (``plugins_of``), where one that filters and scores is one object, so that what it keeps
is kept once, and the rules of a queue (``queueing_rules``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from msgspec import Struct, field

from restow.cluster.interning import IntArray
from restow.cluster.pod_reading import DEFAULT_SCHEDULER
from restow.scheduling.configuration.guarding import guarded, guarded_post_filter
from restow.scheduling.configuration.registry import IN_TREE, plugin
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import POINTS, Availability, Point, SchedulerPlugin
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
    SigningPlugin,
    one_outcome,
)
from restow.scheduling.framework.post_filtering import Handle, PostFilterPlugin
from restow.scheduling.framework.requeueing import ALONE, QueueSurroundings, registered
from restow.scheduling.framework.scoring import WeightedPlugin
from restow.scheduling.plugins.gang_scheduling import NAME as GANG_SCHEDULING
from restow.scheduling.queueing.events import ProfileRules, QueueingRules
from restow.scheduling.sampling.relative_scores import RelativePlugin, RelativeScores
from restow.scheduling.volumes.storage import ReservingPlugin

#: What runs by default at every point that it has, in this order.
DEFAULT_PLUGINS: Final[tuple[SchedulerPlugin, ...]] = tuple(
    each for each in IN_TREE.values() if each.availability is Availability.DEFAULT
)

_MAKING_POINTS: tuple[Point, ...] = ("preFilter", "filter", "preScore", "score")


def default_points() -> dict[Point, tuple[str, ...]]:
    """The default plugins of each point, in order."""
    return {point: tuple(each.name for each in DEFAULT_PLUGINS if point in each.points) for point in POINTS}


def default_weights() -> dict[str, int]:
    """The weights of the default score plugins."""
    return {each.name: each.weight for each in DEFAULT_PLUGINS if "score" in each.points}


class SchedulerProfile(Struct, frozen=True):
    """How the pods of one scheduler name are scheduled."""

    #: What ``spec.schedulerName`` of its pods says.
    name: str = DEFAULT_SCHEDULER
    #: The plugins of each point, in their order, those that restow does not model included.
    plugins: Mapping[Point, tuple[str, ...]] = field(default_factory=default_points)
    #: Of every plugin at score.
    weights: Mapping[str, int] = field(default_factory=default_weights)
    #: By plugin, where they are not the defaults.
    arguments: Mapping[str, Any] = field(default_factory=dict)
    #: The percentage of nodes that must be feasible before the search ends; 0 depends on the number of nodes.
    percentage_of_nodes_to_score: int = 0

    def runs(self, plugin: str, point: Point) -> bool:
        """Whether a plugin runs at a point."""
        return plugin in self.plugins[point]

    @property
    def ignores_gates(self) -> bool:
        """Whether pods with scheduling gates are scheduled like all others."""
        return not any(IN_TREE[name].holds_gated_pods for name in self.plugins["preEnqueue"] if name in IN_TREE)


#: The default profile of kube-scheduler.
DEFAULT_PROFILE = SchedulerProfile()


class ProfilePlugins(Struct, frozen=True):
    """Filters and scores in order, plugins that sign pods by more than their parts, and those that reserve volumes."""

    filters: tuple[FilterPlugin, ...]
    scores: tuple[WeightedPlugin, ...]
    signing: tuple[SigningPlugin, ...]
    reserving: tuple[ReservingPlugin, ...]


# A profile lists preFilter and filter apart, and preScore and score. restow's plugins do both at once; these wrappers
# make two of one where a configuration takes them apart. Many do: who turns a score off at score alone leaves its
# preScore running.
class PreFilterPart:
    """Only the preFilter of a plugin: it may reject the pod or rule out nodes, and filters no node."""

    def __init__(self, plugin: FilterPlugin) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def applies_to(self, pod: int) -> bool:
        """The plugin's own answer."""
        return self._plugin.applies_to(pod)

    def prefilter(self, pod: int) -> PreFiltered:
        """The plugin's PreFilter answer; it filters no nodes."""
        answer = self._plugin.prefilter(pod)
        return PreFiltered(skip=True, failure=answer.failure, allowed=answer.allowed)

    def affecting_pods(self, _pod: int) -> IntArray:
        """Pods do not matter."""
        return NO_PODS

    def filter(self, _pod: int, nodes: IntArray) -> FilterResult:
        """Every node passes."""
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
        """The plugin's own answer; true for every pod if its preFilter does not run."""
        return not self._prepared or self._plugin.applies_to(pod)

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip only what the plugin itself skips where it runs at preFilter too."""
        return SKIP if self._prepared and self._plugin.prefilter(pod).skip else PROCEED

    def affecting_pods(self, pod: int) -> IntArray | None:
        """Those of the plugin."""
        return self._plugin.affecting_pods(pod)

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """The plugin's verdict; a PreFilter rejection counts for every node."""
        failure = None if self._prepared or self._lenient else self._plugin.prefilter(pod).failure
        if failure is not None:
            return one_outcome(np.ones(len(nodes), dtype=bool), failure)
        return self._plugin.filter(pod, nodes)


class PreScorePart:
    """A plugin that prepares scores without being asked for any; its only effect is that preparing may fail."""

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


def plugins_of(profile: SchedulerProfile, context: Context) -> ProfilePlugins:
    """The plugins of a profile that decisions depend on."""
    names = dict.fromkeys(name for point in _MAKING_POINTS for name in profile.plugins[point])
    made = {name: _made(each, context, profile) for name in names if (each := plugin(name)).make is not None}
    filters = {name: each for name, each in made.items() if isinstance(each, FilterPlugin)}
    scores = {name: each for name, each in made.items() if isinstance(each, ScorePlugin)}
    signing = tuple(each for each in made.values() if isinstance(each, SigningPlugin))
    prepared = (each for name, each in made.items() if profile.runs(name, "preBind"))
    reserving = tuple(each for each in prepared if isinstance(each, ReservingPlugin))
    return ProfilePlugins(_filters(profile, filters), _scores(profile, scores), signing, reserving)


def post_filters_of(profile: SchedulerProfile, handle: Handle) -> Sequence[PostFilterPlugin]:
    """The plugins of a profile that are asked about pods that fit nowhere, in order."""
    plugins = map(plugin, profile.plugins["postFilter"])
    return [_post_filter(each, handle, profile) for each in plugins if each.make_post_filter is not None]


def _made(plugin: SchedulerPlugin, context: Context, profile: SchedulerProfile) -> object:
    assert plugin.make is not None, "only plugins that can be made are"
    make = plugin.make if plugin.name in IN_TREE else partial(guarded, plugin)
    return make(context, arguments_of(profile, plugin))


def _post_filter(plugin: SchedulerPlugin, handle: Handle, profile: SchedulerProfile) -> PostFilterPlugin:
    assert plugin.make_post_filter is not None, "only plugins that can be made are"
    make = plugin.make_post_filter if plugin.name in IN_TREE else partial(guarded_post_filter, plugin)
    return make(handle, arguments_of(profile, plugin))


def arguments_of(profile: SchedulerProfile, plugin: SchedulerPlugin) -> Any:
    """What a profile sets a plugin to; None for a plugin without arguments."""
    return profile.arguments.get(plugin.name) or (plugin.args() if plugin.args else None)


def _filters(profile: SchedulerProfile, plugins: Mapping[str, FilterPlugin]) -> tuple[FilterPlugin, ...]:
    before = [name for name in profile.plugins["preFilter"] if name in plugins]
    filtering = [name for name in profile.plugins["filter"] if name in plugins]
    # Those that filter no node and come last change nothing about the others.
    alone = [name for name in before if "filter" not in plugin(name).points]
    both = [name for name in filtering if "preFilter" in plugin(name).points]
    if before == [*both, *alone]:
        return (*(plugins[name] for name in filtering), *(PreFilterPart(plugins[name]) for name in alone))
    return (
        *(PreFilterPart(plugins[name]) for name in before),
        *(FilterPart(plugins[name], prepared=name in before, lenient=plugin(name).is_lenient) for name in filtering),
    )


def _scores(profile: SchedulerProfile, plugins: Mapping[str, ScorePlugin]) -> tuple[WeightedPlugin, ...]:
    def prepared(name: str) -> ScorePlugin:
        needs = "preScore" in plugin(name).points and not profile.runs(name, "preScore")
        return UnpreparedScore(plugins[name]) if needs else plugins[name]

    scoring = [name for name in profile.plugins["score"] if name in plugins]
    unused = [name for name in profile.plugins["preScore"] if name in plugins and name not in scoring]
    return (
        *(WeightedPlugin(PreScorePart(plugins[name]), 1) for name in unused),
        *(WeightedPlugin(prepared(name), profile.weights[name]) for name in scoring),
    )


def queueing_rules(profiles: Iterable[SchedulerProfile], surroundings: QueueSurroundings = ALONE) -> QueueingRules:
    """The rules of a queue that serves these profiles, with what keeps its pods from being tried beside themselves."""
    return QueueingRules({profile.name: _rules(profile) for profile in profiles}, surroundings)


def _rules(profile: SchedulerProfile) -> ProfileRules:
    # A pod with a group shows that the scheduler has this plugin, which no profile names.
    names = dict.fromkeys([*(name for names in profile.plugins.values() for name in names), GANG_SCHEDULING])
    gates = ((name, plugin(name).pre_enqueue) for name in (*profile.plugins["preEnqueue"], GANG_SCHEDULING))
    return ProfileRules(
        interests={name: registered(plugin(name).interests) for name in names},
        arguments={name: arguments_of(profile, plugin(name)) for name in names},
        pre_enqueue={name: gate for name, gate in gates if gate is not None},
    )
