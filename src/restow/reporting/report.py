"""What every renderer takes: the plan, and the context that a reader needs to trust it.

The plan itself is a wire struct that can be stored and compared; a report adds what only the run that made it knows: how
full each node is, where the input came from, and the policy as it was understood.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from restow.descheduling.plan import NodeLoad, PlanDocument


@dataclass(slots=True, frozen=True)
class PolicyView:
    """The policy as it was understood."""

    #: The file's name, or the bundled policy's.
    name: str
    #: Whether it came with restow because the user named none.
    bundled: bool
    #: The enabled strategies, in the order in which they run.
    strategies: tuple[str, ...]
    #: Makes YAML with defaults filled in; lines with a default are marked (`restow.policies.understood`).
    text: Callable[[], str]


@dataclass(frozen=True)
class Report:
    """A plan with its context; ``notes`` are sentences for the reader that are no part of the plan."""

    plan: PlanDocument
    #: Makes `loads`, which not every form shows.
    count_loads: Callable[[], tuple[NodeLoad, ...]]
    #: Where the cluster came from, such as ``cluster.json, 0.1 s``.
    sources: str
    policy: PolicyView
    notes: tuple[str, ...] = ()

    @cached_property
    def loads(self) -> tuple[NodeLoad, ...]:
        """One for each node, in the canonical order (by name)."""
        return self.count_loads()
