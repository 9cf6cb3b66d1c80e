"""What a shadow has seen in one day: the document of ``restow run --shadow``. Times are RFC 3339, lengths are seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from restow.descheduling.plan import API_VERSION
from restow.kube.duration import SECOND
from restow.kube.timestamps import format_time
from restow.policies.codes import Certainty
from restow.shadowing.day import EvictionCounts, ShadowDay, count
from restow.shadowing.outcomes import EvictionOutcome, ForeignEviction
from restow.shadowing.scoring import SURE, ForecastScore, score
from restow.version import __version__

#: Evictions that the document lists.
LISTED = 5_000


class ShadowMetadata(Struct, frozen=True, rename="camel"):
    """Which cluster was watched, and when."""

    #: The API server.
    cluster: str
    #: The file of restow's policy; empty if it has none.
    policy: str
    since: str
    until: str
    restow_version: str


class OwnMoves(Struct, frozen=True, rename="camel"):
    """The moves that restow would have made: each pod once, as it was first planned."""

    total: int = 0
    certain: int = 0
    likely: int = 0
    possible: int = 0
    #: How many of these pods others have evicted.
    evicted_by_others: int = 0


class Score(Struct, frozen=True, rename="camel"):
    """How good the forecasts of a certainty were; ``all`` are all."""

    certainty: str
    forecasts: int
    right: int
    #: The mean squared error, 0 to 1; null without forecasts.
    brier: float | None
    expected_on_node: float
    landed_on_node: int


class ShadowedWorkload(Struct, frozen=True, rename="camel"):
    """One workload whose pods were evicted."""

    namespace: str
    #: Kind/name; empty for pods of no workload.
    name: str
    evictions: EvictionCounts
    brier: float | None


class ShadowedEviction(Struct, frozen=True, rename="camel"):
    """One eviction, what was foretold of it and what it came to."""

    at: str
    namespace: str
    pod: str
    workload: str
    #: The reason of the pod's condition DisruptionTarget.
    reason: str
    node: str
    outcome: EvictionOutcome
    repeated: bool
    replacement: str
    replacement_node: str
    #: From the eviction to the node; null without one.
    seconds_to_node: float | None
    seconds_to_ready: float | None
    seconds_down: float
    foretold_node: str
    foretold_node_probability: float | None
    #: How many nodes it could have landed on.
    candidates: int
    foretold_moved: float
    foretold_in_vain: float
    foretold_pending: float
    certainty: Certainty | None
    #: Why nothing, or no node, was foretold.
    message: str


class ShadowReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """One day of a shadow."""

    api_version: str = API_VERSION
    kind: str = "ShadowReport"
    metadata: ShadowMetadata
    evictions: EvictionCounts
    own_moves: OwnMoves
    scores: tuple[Score, ...]
    #: Those with the most evictions in vain, left pending or repeated first.
    workloads: tuple[ShadowedWorkload, ...]
    #: The latest first, at most ``LISTED``.
    listed: tuple[ShadowedEviction, ...]


def shadow_report(day: ShadowDay, cluster: str, policy: str) -> ShadowReport:
    """Return the document of a day; ``cluster`` is the API server, ``policy`` the file of restow's policy."""
    evictions, now = day.evictions, day.until
    certainties = Counter(each.certainty for each in day.moves.values())
    return ShadowReport(
        metadata=ShadowMetadata(
            cluster=cluster,
            policy=policy,
            since=format_time(int(day.since * SECOND)),
            until=format_time(int(now * SECOND)),
            restow_version=__version__,
        ),
        evictions=count(evictions, now),
        own_moves=OwnMoves(
            total=len(day.moves),
            certain=certainties[Certainty.CERTAIN],
            likely=certainties[Certainty.LIKELY],
            possible=certainties[Certainty.POSSIBLE],
            evicted_by_others=len({each.uid for each in evictions} & day.moves.keys()),
        ),
        scores=tuple(_scores(evictions, now)),
        workloads=tuple(_workloads(evictions, now)),
        listed=tuple(_listed(each, now) for each in reversed(evictions[-LISTED:])),
    )


def _scores(evictions: Sequence[ForeignEviction], now: float) -> Iterator[Score]:
    yield _score("all", score(evictions, now))
    yield _score("certain or likely", score(evictions, now, SURE))
    for certainty in Certainty:
        yield _score(certainty, score(evictions, now, (certainty,)))


def _score(name: str, found: ForecastScore) -> Score:
    brier = None if found.brier is None else round(found.brier, 4)
    return Score(name, found.forecasts, found.right, brier, round(found.expected_on_node, 1), found.landed_on_node)


def _workloads(evictions: Sequence[ForeignEviction], now: float) -> list[ShadowedWorkload]:
    ordered = sorted(evictions, key=_workload_of)
    found = [
        ShadowedWorkload(namespace, name, count(own, now), score(own, now).brier)
        for (namespace, name), group in groupby(ordered, _workload_of)
        for own in [list(group)]
    ]
    return sorted(found, key=lambda each: (-_harm(each.evictions), -each.evictions.total))


def _workload_of(eviction: ForeignEviction) -> tuple[str, str]:
    return eviction.namespace, eviction.workload


def _harm(counts: EvictionCounts) -> int:
    return counts.in_vain + counts.pending + counts.repeated + counts.downtimes


def _listed(eviction: ForeignEviction, now: float) -> ShadowedEviction:
    forecast = eviction.forecast
    return ShadowedEviction(
        at=format_time(int(eviction.at * SECOND)),
        namespace=eviction.namespace,
        pod=eviction.pod,
        workload=eviction.workload,
        reason=eviction.reason,
        node=eviction.source,
        outcome=eviction.outcome(now),
        repeated=eviction.is_repeated,
        replacement=eviction.replacement,
        replacement_node=eviction.node,
        seconds_to_node=_since(eviction.at, eviction.landed),
        seconds_to_ready=_since(eviction.at, eviction.ready),
        seconds_down=round(eviction.downtime(now), 3),
        foretold_node=forecast.node,
        foretold_node_probability=None if forecast.node_probability is None else round(forecast.node_probability, 4),
        candidates=forecast.candidates,
        foretold_moved=round(forecast.moved, 4),
        foretold_in_vain=round(forecast.in_vain, 4),
        foretold_pending=round(forecast.pending, 4),
        certainty=forecast.certainty,
        message=forecast.message,
    )


def _since(begin: float, end: float | None) -> float | None:
    return None if end is None else round(end - begin, 3)
