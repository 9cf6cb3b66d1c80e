"""The random choices of one case: everything follows from its seed.

A case has *traits*: the oddities that may occur in it. Each cluster gets its own selection, so some cases mix
everything and others are plain but for one thing; a uniform mixture would hold every pod back for some reason.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

#: Oddities of nodes, pods and what is around them.
TRAITS = (
    "affinity",
    "annotations",
    "anti-affinity",
    "bare",
    "budgets",
    "claims",
    "conditions",
    "containers",
    "cordoned",
    "critical",
    "daemons",
    "extended",
    "failed",
    "future",
    "init",
    "local-storage",
    "malformed",
    "metrics",
    "missing-metrics",
    "missing-nodes",
    "mirror",
    "no-allocatable",
    "no-priority",
    "no-times",
    "odd-quantities",
    "odd-times",
    "overhead",
    "pending",
    "phases",
    "pod-level",
    "pools",
    "preferred",
    "qos",
    "resource-claims",
    "restarts",
    "revisions",
    "same-ages",
    "same-names",
    "same-priorities",
    "several-owners",
    "spread",
    "states",
    "taints",
    "terminating",
    "tight",
    "tolerations",
    "uncontrolled",
    "unready",
    "unzoned",
)
#: How often a case has a trait, and one that its subject needs.
USUAL, WANTED = 0.3, 0.9


class Chance(random.Random):
    """``Chance("PodLifeTime-7")``: choices that a case makes, the same ones for the same seed."""

    traits: frozenset[str] = frozenset()

    def choose_traits(self, wanted: Iterable[str]) -> None:
        """Draw the traits of the case; ``wanted`` ones are nearly always there."""
        odds = dict.fromkeys(TRAITS, USUAL) | dict.fromkeys(wanted, WANTED)
        self.traits = frozenset(trait for trait, share in odds.items() if self.random() < share)

    def maybe(self, share: float) -> bool:
        """Whether something happens that happens in this share of the cases."""
        return self.random() < share

    def has(self, trait: str, share: float) -> bool:
        """The same for something that only cases with that trait know."""
        return self.maybe(share) and trait in self.traits

    def weighted(self, options: Mapping[T, float]) -> T:
        """One of the options, by their weights."""
        return self.choices(list(options), list(options.values()))[0]

    def some(self, options: Sequence[T], *, least: int = 1, most: int = 2) -> list[T]:
        """Different options in random order, ``least`` to ``most`` of them."""
        return self.sample(options, min(len(options), self.randint(least, most)))
