"""The result of a comparison: the document of ``restow simulate --compare -o json``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from restow.descheduling.plan import API_VERSION
from restow.simulating.scenarios.futures import Future


class ComparisonMetadata(Struct, frozen=True, rename="camel"):
    """What was simulated, for how long at most, and with which seeds."""

    scenario: str
    description: str
    begins: str
    seconds: float
    until_stable: bool
    seeds: tuple[int, ...]
    restow_version: str


class Quartiles(Struct, frozen=True, rename="camel"):
    """One number over all futures: its median and its middle half; null is a cluster that was not quiet at the end."""

    number: str
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None


class ComparedPolicy(Struct, frozen=True, rename="camel"):
    """A policy and its results."""

    policy: str
    placement: str
    numbers: tuple[Quartiles, ...]
    futures: tuple[Future, ...]


#: equal: no future differs. unclear: chance could make such a difference.
Verdict = Literal["better", "worse", "unclear", "equal"]


class Difference(Struct, frozen=True, rename="camel"):
    """A policy against the first one in one number, future by future."""

    policy: str
    than: str
    number: str
    verdict: Verdict
    better: int
    worse: int
    equal: int
    #: How probable it is that chance alone makes as many futures better, or as many worse.
    p: float


class Comparison(Struct, frozen=True, rename="camel"):
    """The document of ``restow simulate --compare -o json``."""

    metadata: ComparisonMetadata
    policies: tuple[ComparedPolicy, ...]
    differences: tuple[Difference, ...]
    #: For people.
    sentences: tuple[str, ...]
    api_version: str = field(default=API_VERSION)
    kind: str = "SimulationComparison"
