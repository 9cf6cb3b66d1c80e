"""What is measured: a synthetic cluster, the policy for it, and how it is compared.

The scenarios are those in which the Kubernetes Descheduler's cost was studied: in the first group it finishes at any
size, in the second its cost grows with the square of the cluster or worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(slots=True, frozen=True)
class Size:
    """How large the clusters are."""

    nodes: int
    pods: int

    def tenth(self) -> Size:
        """The size with which growth is compared."""
        return Size(self.nodes // 10, self.pods // 10)


SIZES = MappingProxyType({"small": Size(100, 3_000), "medium": Size(500, 15_000), "large": Size(5_000, 150_000)})


@dataclass(slots=True, frozen=True)
class Case:
    """One row of the table."""

    name: str
    #: The profile that generates the cluster.
    cluster: str
    #: The profile whose policy is run on it.
    policy: str
    #: Replaces the evictor's own nodeFit setting.
    node_fit: bool | None = None
    #: Upstream evicts more or fewer pods from one run to the next: it walks nodes and pods in the order of Go's maps.
    varies: bool = False


def _scenario(profile: str) -> Case:
    return Case(profile, cluster=profile, policy=profile)


def _with_node_fit(profile: str) -> Case:
    return Case(f"{profile} + nodeFit", cluster=profile, policy=profile, node_fit=True)


CASES = (
    _scenario("lifetime"),
    _scenario("failed"),
    _scenario("restarts"),
    _scenario("taints"),
    _scenario("low-utilization"),
    _with_node_fit("low-utilization"),
    _scenario("duplicates"),
    _with_node_fit("duplicates"),
    _scenario("node-affinity"),
    _scenario("lifetime-nodefit"),
    _scenario("spread-hostname"),
    _scenario("spread-zone"),
    _scenario("anti-affinity"),
    _scenario("anti-affinity-one-namespace"),
    _scenario("spread-one-namespace"),
    _scenario("node-affinity-nowhere"),
    _scenario("taints-full"),
    _scenario("spread-nofit"),
    Case("full-size pods, one strategy", cluster="full", policy="lifetime"),
    Case("full-size pods, eight strategies", cluster="full", policy="full", varies=True),
)


def chosen(names: list[str] | None) -> list[Case]:
    """The cases with these names, in the order of ``CASES``; all of them without a name. ValueError for a wrong one."""
    known = [case.name for case in CASES]
    wrong = set(names or ()).difference(known)
    if wrong:
        raise ValueError(f"there is no scenario {', '.join(sorted(wrong))}; there are: {', '.join(known)}")
    return [case for case in CASES if not names or case.name in names]
