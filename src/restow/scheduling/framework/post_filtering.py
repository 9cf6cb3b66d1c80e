"""PostFilter: what can be done for a pod that fits nowhere.

Plugins are asked in order until one can help; the messages of the others are reported. Source: RunPostFilterPlugins,
Kubernetes 1.33 to 1.37.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from restow.cluster.interning import BoolArray
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.filtering import Filters
from restow.scheduling.framework.verdicts import Verdicts
from restow.scheduling.framework.waiting_pods import Nominations


@dataclass(slots=True, frozen=True)
class Candidate:
    """A node where a pod would fit without these pods."""

    node: int
    #: The most important first.
    victims: tuple[int, ...]
    violations: int
    #: Whether some of them are on other nodes: since 1.37 they may have to go with those that are here.
    elsewhere: bool = False

    def where(self, names: Sequence[str]) -> str:
        """The nodes that pods leave, for a sentence."""
        return f"{names[self.node]} and other nodes" if self.elsewhere else names[self.node]


@dataclass(frozen=True)
class FoundCandidates:
    """The candidates for one pod, each made when it is asked for."""

    #: Which nodes are candidates, bool[node].
    among: BoolArray
    #: Those among which preemption may choose, bool[node]; the first is chosen.
    winning: BoolArray
    #: The candidate of a node; what it looks at must not change.
    candidate: Callable[[int], Candidate]

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of them, in order of the nodes' names."""
        return tuple(map(self.candidate, np.flatnonzero(self.among).tolist()))

    @cached_property
    def best(self) -> tuple[Candidate, ...]:
        """The best of them."""
        return tuple(map(self.candidate, np.flatnonzero(self.winning).tolist()))

    @cached_property
    def chosen(self) -> Candidate | None:
        """The first of the best; None where there is none."""
        return self.candidate(int(self.winning.argmax())) if self.winning.any() else None


_NOWHERE: BoolArray = np.zeros(0, dtype=bool)
NOTHING_FOUND = FoundCandidates(_NOWHERE, _NOWHERE, dict[int, Candidate]().__getitem__)


@dataclass(slots=True, frozen=True)
class Preemption:
    """What can be done for a pod."""

    found: FoundCandidates = NOTHING_FOUND
    #: Why nothing can, or since 1.37 what can; empty where there is nothing to say.
    message: str = ""
    #: Whether the pod stays nominated for the node that it is nominated for already.
    keeps_nomination: bool = False
    #: Whether this is an error, after which no other plugin is asked.
    is_final: bool = False

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The nodes where it would help that pods go, in order of their names."""
        return self.found.candidates

    @property
    def best(self) -> tuple[Candidate, ...]:
        """Those among which it may choose; the first is chosen."""
        return self.found.best

    @property
    def chosen(self) -> Candidate | None:
        """The first of the best; None where there is none."""
        return self.found.chosen


@dataclass(slots=True, frozen=True)
class Handle:
    """What postFilter plugins work with, in addition to the state."""

    context: Context
    filters: Filters
    nominations: Nominations
    #: The plugins at preFilter, in their order, those that restow does not model included.
    prefilters: tuple[str, ...] = ()


class PostFilterPlugin(Protocol):
    """A plugin that can do something for a pod which no node passes."""

    def post_filter(self, pod: int, verdicts: Verdicts) -> Preemption:
        """What it can do for a pod that these verdicts leave without a node, on the state as it is."""
        ...


def run_post_filters(plugins: Sequence[PostFilterPlugin], pod: int, verdicts: Verdicts) -> Preemption:
    """The answer of the first plugin that can help, or of all of them."""
    answers: list[Preemption] = []
    for plugin in plugins:
        answer = plugin.post_filter(pod, verdicts)
        if answer.is_final or answer.chosen is not None:
            return answer
        answers.append(answer)
    return Preemption(
        message=", ".join(each.message for each in answers if each.message),
        keeps_nomination=bool(answers) and all(each.keeps_nomination for each in answers),
    )
