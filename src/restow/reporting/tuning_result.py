"""The document of ``restow tune -o json``: what was searched, what was found, and how sure that is."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct, field

from restow.descheduling.plan import API_VERSION
from restow.tuning.judging import Improvement
from restow.tuning.space import Value

#: What the trials are compared with.
BASE: Final = "base"
UPSTREAM: Final = "base, upstream placement"
NEVER: Final = "never move"


class TuningMetadata(Struct, frozen=True, rename="camel"):
    """What was searched, in which futures."""

    scenario: str
    description: str
    begins: str
    #: How much virtual time each future has, at most.
    seconds: float
    until_stable: bool
    policy: str
    space: str
    #: Formulas; less is better.
    objectives: tuple[str, ...]
    #: Futures in which all trials were made.
    seeds: tuple[int, ...]
    #: Futures in which what was found is compared.
    fresh_seeds: tuple[int, ...]
    #: What the search itself follows from.
    search_seed: int
    restow_version: str


class TunedSetting(Struct, frozen=True, rename="camel"):
    """One setting of the space."""

    path: str
    #: What the policy has; null where it has nothing.
    base: Any
    best: Value
    #: The part of the first objective's differences that it explains; null where that cannot be said.
    worth: float | None


class TuningTrial(Struct, frozen=True, rename="camel"):
    """Values that were tried."""

    number: int
    values: dict[str, Value]
    #: Means over the futures of the search; of a trial that was given up, what they would probably be.
    objectives: tuple[float, ...]
    #: How many futures it was tried in; fewer than there are if it was given up.
    futures: int


class CheckedPolicy(Struct, frozen=True, rename="camel"):
    """A policy in the fresh futures."""

    #: ``trial 12``, or what it is compared with: ``base``, ``base, upstream placement``, ``never move``.
    name: str
    #: Of the trial; null for what it is compared with.
    trial: int | None
    #: Means over the fresh futures.
    objectives: tuple[float, ...]
    #: How much less each objective is than with the policy as it is.
    less: tuple[Improvement, ...]
    #: How much more each objective is than with the best of all checked policies in each future.
    regret: tuple[float, ...]


class TuningResult(Struct, frozen=True, rename="camel"):
    """The document."""

    metadata: TuningMetadata
    settings: tuple[TunedSetting, ...]
    #: Of these no other trial is as good in all objectives and better in one; the first is the best.
    front: tuple[int, ...]
    checked: tuple[CheckedPolicy, ...]
    trials: tuple[TuningTrial, ...]
    api_version: str = field(default=API_VERSION)
    kind: str = "PolicyTuning"

    @property
    def best(self) -> TuningTrial:
        """The first trial of the front."""
        return self.trials[self.front[0]]
