"""The stable import for authors of strategies, goals, scheduler plugins, usage sources, outputs, kinds of groups and engines.

Names keep their meaning within a major version (docs/reference/stability.md). Each name is loaded on first use, so that a
strategy does not load the code that renders plans.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from restow.cluster.interning import BoolArray as BoolArray
    from restow.cluster.interning import IntArray as IntArray
    from restow.cluster.pod_columns import PodColumn as PodColumn
    from restow.descheduling.framework import NodeClass as NodeClass
    from restow.descheduling.framework import PendingFilters as PendingFilters
    from restow.descheduling.framework import Proposal as Proposal
    from restow.descheduling.framework import Strategy as Strategy
    from restow.descheduling.framework import StrategyError as StrategyError
    from restow.descheduling.framework import Suggestion as Suggestion
    from restow.descheduling.framework import Suggestions as Suggestions
    from restow.descheduling.framework import Verdict as Verdict
    from restow.descheduling.framework import View as View
    from restow.descheduling.framework import suggest_by_node as suggest_by_node
    from restow.descheduling.plan import GoalResult as GoalResult
    from restow.descheduling.plan import Move as Move
    from restow.descheduling.plan import Refusal as Refusal
    from restow.descheduling.rebalancing.goal import Goal as Goal
    from restow.descheduling.rebalancing.goal import SuggestedGoal as SuggestedGoal
    from restow.descheduling.rebalancing.model import PlanningModel as PlanningModel
    from restow.documents.findings import Issue as Issue
    from restow.engines.registry import Engine as Engine
    from restow.engines.work import EngineTask as EngineTask
    from restow.engines.work import ResultListener as ResultListener
    from restow.kube.labels import parse_selector as parse_selector
    from restow.optimizing.problem import Deviation as Deviation
    from restow.optimizing.problem import Excess as Excess
    from restow.optimizing.problem import Objective as Objective
    from restow.plain_text import printable as printable
    from restow.policies.arguments import PodSelectionArgs as PodSelectionArgs
    from restow.policies.arguments import check_pod_selection as check_pod_selection
    from restow.policies.codes import PlacementConstraint as PlacementConstraint
    from restow.policies.schema import PluginSchema as PluginSchema
    from restow.policies.usage import MetricsUtilization as MetricsUtilization
    from restow.reporting.forms import Report as Report
    from restow.scheduling.framework.context import Context as Context
    from restow.scheduling.framework.declaration import SchedulerPlugin as SchedulerPlugin
    from restow.scheduling.framework.declaration import SchedulerPluginArgs as SchedulerPluginArgs
    from restow.scheduling.framework.declaration import out_of_range as out_of_range
    from restow.scheduling.framework.declaration import required as required
    from restow.scheduling.framework.extension_points import PROCEED as PROCEED
    from restow.scheduling.framework.extension_points import SKIP as SKIP
    from restow.scheduling.framework.extension_points import FilterResult as FilterResult
    from restow.scheduling.framework.extension_points import Outcome as Outcome
    from restow.scheduling.framework.extension_points import PreFiltered as PreFiltered
    from restow.scheduling.framework.extension_points import Scores as Scores
    from restow.scheduling.framework.extension_points import one_outcome as one_outcome
    from restow.scheduling.framework.extension_points import scaled as scaled
    from restow.scheduling.framework.plain_functions import Functions as Functions
    from restow.scheduling.framework.plain_functions import NodeView as NodeView
    from restow.scheduling.framework.plain_functions import PodView as PodView
    from restow.scheduling.framework.plain_functions import plain_plugin as plain_plugin
    from restow.scheduling.framework.post_filtering import Preemption as Preemption
    from restow.scheduling.framework.requeueing import Action as Action
    from restow.scheduling.framework.requeueing import ClusterEvent as ClusterEvent
    from restow.scheduling.framework.requeueing import Interest as Interest
    from restow.scheduling.framework.requeueing import NodeFacts as NodeFacts
    from restow.scheduling.framework.requeueing import PodFacts as PodFacts
    from restow.scheduling.framework.requeueing import Resource as Resource
    from restow.usage.sources import Sample as Sample
    from restow.usage.sources import Times as Times
    from restow.usage.sources import UsageSource as UsageSource
    from restow.usage.sources import UsageSourceSchema as UsageSourceSchema
    from restow.workloads.groups import GroupKind as GroupKind

#: The names, by the module that they come from.
_HOMES = {
    "restow.cluster.interning": ("BoolArray", "IntArray"),
    "restow.cluster.pod_columns": ("PodColumn",),
    "restow.descheduling.framework": (
        "NodeClass",
        "PendingFilters",
        "Proposal",
        "Strategy",
        "StrategyError",
        "Suggestion",
        "Suggestions",
        "Verdict",
        "View",
        "suggest_by_node",
    ),
    "restow.descheduling.plan": ("GoalResult", "Move", "Refusal"),
    "restow.descheduling.rebalancing.goal": ("Goal", "SuggestedGoal"),
    "restow.descheduling.rebalancing.model": ("PlanningModel",),
    "restow.documents.findings": ("Issue",),
    "restow.engines.registry": ("Engine",),
    "restow.engines.work": ("EngineTask", "ResultListener"),
    "restow.kube.labels": ("parse_selector",),
    "restow.optimizing.problem": ("Deviation", "Excess", "Objective"),
    "restow.plain_text": ("printable",),
    "restow.policies.arguments": ("PodSelectionArgs", "check_pod_selection"),
    "restow.policies.codes": ("PlacementConstraint",),
    "restow.policies.schema": ("PluginSchema",),
    "restow.policies.usage": ("MetricsUtilization",),
    "restow.reporting.forms": ("Report",),
    "restow.scheduling.framework.context": ("Context",),
    "restow.scheduling.framework.declaration": ("SchedulerPlugin", "SchedulerPluginArgs", "out_of_range", "required"),
    "restow.scheduling.framework.extension_points": (
        "PROCEED",
        "SKIP",
        "FilterResult",
        "Outcome",
        "PreFiltered",
        "Scores",
        "one_outcome",
        "scaled",
    ),
    "restow.scheduling.framework.plain_functions": ("Functions", "NodeView", "PodView", "plain_plugin"),
    "restow.scheduling.framework.post_filtering": ("Preemption",),
    "restow.scheduling.framework.requeueing": (
        "Action",
        "ClusterEvent",
        "Interest",
        "NodeFacts",
        "PodFacts",
        "Resource",
    ),
    "restow.usage.sources": ("Sample", "Times", "UsageSource", "UsageSourceSchema"),
    "restow.workloads.groups": ("GroupKind",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - the names of the table above


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'restow.plugins' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
