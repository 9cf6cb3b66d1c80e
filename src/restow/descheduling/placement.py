"""What a placement is, and ``upstream``, the one that does not predict where pods land.

A placement makes one move after the other, each on the state that the moves before left, and returns the landing, or the
reason why the pod has to stay. Moves that belong together are made or refused as one. ``upstream`` placement is the
Descheduler's: it evicts, and the replacement lands somewhere. Like the Descheduler's own dry run, it checks no budget, and
nodeFit only if the policy says so, through the evictor. ``descheduling.proof`` is the other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.descheduling.evictor import Reason
from restow.descheduling.framework import Suggestion
from restow.policies.codes import Certainty, RefusalCode, Stage, SteeringMode

#: Why a pod stays that an earlier plan of the same cycle could not evict.
GIVEN_UP: Final[Reason] = (Stage.PLACEMENT, RefusalCode.GIVEN_UP, "the cycle has already tried to evict it")


class PluginRef(NamedTuple):
    """A strategy in a profile."""

    profile: str
    plugin: str


class Landing(NamedTuple):
    """Where a replacement lands, by index."""

    #: PENDING if it is not known, or if nothing lands.
    target: int = PENDING
    #: None if the placement does not predict it.
    certainty: Certainty | None = None
    #: The nodes that could win, in order of their names; of very many only the first, and the target.
    candidates: tuple[int, ...] = ()
    #: How many nodes could win.
    candidate_count: int = 0
    #: How probable it is that the replacement lands where the strategy gains by it.
    probability: float | None = None
    #: How probable each of the candidates is; empty where that is not known.
    probabilities: tuple[float, ...] = ()
    #: How probable the target is; None where that is not known, and where nothing lands.
    target_probability: float | None = None
    #: Those of the candidates where the strategy gains nothing.
    in_vain: tuple[int, ...] = ()
    #: How the replacement is brought to its target; None where the scheduler is left alone.
    steering: SteeringMode | None = None
    #: Whether it has a place only once later moves of its proposal have been made.
    waits: bool = False
    #: Why the replacement may be another pod than the one that was placed; empty where it is known.
    caveat: str = ""


class Obstacle(NamedTuple):
    """Why some moves cannot be made together: the position of the first that cannot, and its reason."""

    position: int
    reason: Reason


def excluded_pods(cluster: ClusterSnapshot, excluded: Mapping[str, Reason]) -> dict[int, Reason]:
    """The pods that must stay, by index instead of uid."""
    return {pod: excluded[uid] for pod, uid in enumerate(cluster.pods.uids) if uid in excluded} if excluded else {}


class Placing(Protocol):
    """Makes moves on a state."""

    def move(self, ref: PluginRef, suggestions: Sequence[Suggestion]) -> tuple[Landing, ...] | Obstacle:
        """Make all suggested moves, or return why not and change nothing; the pods exist and have nodes."""
        ...


class EvictOnly:
    """``upstream`` placement. ``excluded`` are pods that could not be evicted; strategies get a refusal for them."""

    def __init__(self, state: ClusterState, excluded: Mapping[int, Reason] = MappingProxyType({})) -> None:
        self._state = state
        self._excluded = excluded

    def move(self, _ref: PluginRef, suggestions: Sequence[Suggestion]) -> tuple[Landing, ...] | Obstacle:
        """Evict the pods; where their replacements land is not known."""
        for position, each in enumerate(suggestions):
            if each.pod in self._excluded:
                return Obstacle(position, self._excluded[each.pod])
        for each in suggestions:
            self._state.remove(each.pod)
        return (Landing(),) * len(suggestions)
