"""Policies that fit the synthetic clusters, as text that the Kubernetes Descheduler reads too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import yaml

if TYPE_CHECKING:
    from restow.sources.synthetic.names import Object

#: Where upstream runs each strategy.
BALANCE = frozenset(
    {
        "RemoveDuplicates",
        "LowNodeUtilization",
        "HighNodeUtilization",
        "RemovePodsViolatingTopologySpreadConstraint",
    }
)


@dataclass(slots=True, frozen=True)
class Strategies:
    """Strategies with their arguments, in running order, and the evictor they share."""

    arguments: dict[str, Object]
    evictor: Object = field(default_factory=dict)


def policy_text(strategies: Strategies, *, node_fit: bool | None = None) -> str:
    """One profile as v1alpha2 YAML; ``node_fit`` None leaves the evictor's nodeFit as it is."""
    evictor = strategies.evictor | ({} if node_fit is None else {"nodeFit": node_fit})
    enabled = {
        point: {"enabled": names}
        for point in ("deschedule", "balance")
        if (names := [name for name in strategies.arguments if _point(name) == point])
    }
    profile = {
        "name": "default",
        "pluginConfig": [
            {"name": name, "args": args} for name, args in ({"DefaultEvictor": evictor} | strategies.arguments).items()
        ],
        "plugins": enabled,
    }
    policy = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [profile]}
    return str(yaml.safe_dump(policy, sort_keys=False))


def _point(name: str) -> Literal["deschedule", "balance"]:
    return "balance" if name in BALANCE else "deschedule"
