"""restow: a Kubernetes descheduler that knows where a pod will land before it evicts it.

    import restow

    cluster = restow.Cluster.read("cluster.json")
    plan = cluster.plan("policy.yaml")
    plan.moves, plan.refusals, plan.warnings

``Cluster`` also reads a live cluster or makes one up; it plans, schedules, explains and simulates. Authors of strategies,
scheduler plugins, usage sources and outputs import ``restow.plugins``. Errors are those of ``restow.errors``. These names are
loaded when they are used, so that the import itself takes no time.
"""

from __future__ import annotations

from importlib import import_module

from restow.version import __version__

#: Importing it from typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from restow import errors as errors
    from restow.api.answers import Explanation as Explanation
    from restow.api.answers import Schedule as Schedule
    from restow.api.applying import Applied as Applied
    from restow.api.clusters import Cluster as Cluster
    from restow.api.plans import Plan as Plan
    from restow.api.rows import NodeSummary as NodeSummary
    from restow.api.rows import PodSummary as PodSummary
    from restow.api.rows import Rows as Rows
    from restow.api.simulations import Simulation as Simulation

#: Where each name is.
_HOMES = {
    "Applied": "restow.api.applying",
    "Cluster": "restow.api.clusters",
    "Explanation": "restow.api.answers",
    "NodeSummary": "restow.api.rows",
    "Plan": "restow.api.plans",
    "PodSummary": "restow.api.rows",
    "Rows": "restow.api.rows",
    "Schedule": "restow.api.answers",
    "Simulation": "restow.api.simulations",
}
__all__ = [
    "Applied",
    "Cluster",
    "Explanation",
    "NodeSummary",
    "Plan",
    "PodSummary",
    "Rows",
    "Schedule",
    "Simulation",
    "__version__",
    "errors",
]


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("restow.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'restow' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
