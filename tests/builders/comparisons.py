"""Comparisons of policies as the renderers get them."""

from __future__ import annotations

from restow.reporting.comparison_result import Comparison, ComparisonMetadata, comparison
from restow.simulating.scenarios.running import Future


def a_future(seed: int, **numbers: float | None) -> Future:
    """A future in which nothing happens but what is said."""
    quiet = {"evictions": 0, "in_vain": 0, "moved_again": 0, "pending_pod_seconds": 0.0, "below_seconds": 0.0}
    ends = {"nodes_in_use": 3, "cpu_spread": 0.1, "memory_spread": 0.1, "quiet_after_seconds": 60.0, "failed": 0}
    return Future(seed, **(quiet | ends | numbers))  # type: ignore[arg-type]


def a_comparison(**policies: list[Future]) -> Comparison:
    """Policies by name with their futures, of which the first is what the others are held against."""
    seeds = tuple(each.seed for each in next(iter(policies.values())))
    metadata = ComparisonMetadata("node.yaml", "A node fails", "2026-11-21T00:00:00Z", 3600, False, seeds, "1")
    return comparison(metadata, [(f"{name}.yaml", "prove", futures) for name, futures in policies.items()])


def two_policies(futures: int = 20) -> Comparison:
    """One that evicts less and leaves the nodes less even, where chance makes some difference."""
    seeds = range(1, futures + 1)
    today = [a_future(each, evictions=400 + each, moved_again=each % 3, cpu_spread=0.05) for each in seeds]
    proposed = [
        a_future(each, evictions=250 + each % 7, cpu_spread=0.08, quiet_after_seconds=None if each % 5 else 90.0)
        for each in seeds
    ]
    return a_comparison(today=today, proposed=proposed)
