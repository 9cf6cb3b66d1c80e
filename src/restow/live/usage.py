"""Usage from the sources that a policy names: its queries, asked once for each cycle.

The results are stored in ``Cluster.usage``, so that deciding needs no network; a dump may contain results as well. Any
failure becomes the ``problem`` of a result: a strategy that needs it cannot work then, and all others can.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from numbers import Real
from typing import Any, Final

from restow.client.transport import Api
from restow.cluster.usage_samples import NO_USAGE, QueryResult, UsageQuery, no_client, query_result
from restow.descheduling.usage_sources import Sample, Times, UsageSource, usage_sources
from restow.errors import InputError
from restow.in_thread import EndlessError, in_thread
from restow.installed_packages import FAULTS
from restow.kube.duration import SECOND
from restow.kube.excerpts import described, excerpt
from restow.live.prometheus import PrometheusUsage
from restow.policies.policy import PROMETHEUS, Policy, provider_of
from restow.policies.usage_section import queries_of

#: Seconds for a query of a source of an installed package, and the samples that count of its answer.
_PATIENCE: Final = 60.0
_MOST: Final = 10_000_000

#: What each query of a policy comes to at the moment; it never fails, a result says what is wrong.
AskForUsage = Callable[[Policy], Coroutine[Any, Any, Mapping[UsageQuery, QueryResult]]]


async def no_usage(_: Policy) -> Mapping[UsageQuery, QueryResult]:
    """No results."""
    return {}


@dataclass(slots=True)
class QueriedUsage:
    """Runs the queries of policies, and remembers the results of earlier cycles."""

    #: Of the cluster, for secrets and the time.
    api: Api
    environ: Mapping[str, str]
    _before: dict[UsageQuery, QueryResult] = field(default_factory=dict)
    #: Queries whose thread has not come to its end.
    _running: set[UsageQuery] = field(default_factory=set)

    async def results(self, policy: Policy) -> Mapping[UsageQuery, QueryResult]:
        """What each query of a policy comes to now; empty where it asks none."""
        asked = [each for each in queries_of(policy) if each.source != PROMETHEUS]
        of_prometheus, others = await asyncio.gather(
            PrometheusUsage(self.api, self.environ).results(policy),
            asyncio.gather(*(self._result(each, policy) for each in asked)),
        )
        found = {**of_prometheus, **dict(zip(asked, others, strict=True))}
        cycles = policy.restow.usage.cycles_in_all if policy.restow.usage is not None else 1
        self._before = {each: result.after(self._before.get(each), cycles) for each, result in found.items()}
        return self._before

    async def _result(self, query: UsageQuery, policy: Policy) -> QueryResult:
        """What a query of a package's source comes to."""
        provider, now = provider_of(policy, query.source), self.api.server_time.now()
        try:
            source = usage_sources().get(query.source)
        except InputError as error:
            return QueryResult(now, problem=f"{no_client(query.source)}: {error}")
        if source is None or provider is None:
            return QueryResult(now, problem=no_client(query.source))
        answer = await self._answer(query, source, provider.args, _times(policy, now))
        if isinstance(answer, str):
            return QueryResult(now, problem=f"{NO_USAGE}: {query.source} {answer}")
        return query_result(answer, now)

    async def _answer(self, query: UsageQuery, source: UsageSource, args: Any, times: Times) -> list[Sample] | str:
        """The samples of a query; why there are none, in words."""
        if query in self._running:
            return "is still busy with the query of a cycle before"

        def ask() -> list[Sample] | str:
            try:
                return _sound(source.samples(args, query.text, times))
            except FAULTS as error:
                return f"raised {described(error)}"
            finally:
                self._running.discard(query)

        self._running.add(query)
        try:
            return await in_thread(ask, _PATIENCE)
        except EndlessError:
            return f"has not answered within {_PATIENCE:.0f} s"


def _times(policy: Policy, now: float) -> Times:
    settings = policy.restow.usage
    if settings is None or not settings.reach:
        return Times(now, 0, 0)
    return Times(now, settings.reach // SECOND, settings.spacing // SECOND)


def _sound(samples: Iterable[Any]) -> list[Sample] | str:
    """The samples as plain values; what is wrong with one that is none, or with their number."""
    found: list[Sample] = []
    for each in islice(samples, _MOST + 1):
        sample = _sample(each)
        if sample is None:
            return f"gave {excerpt(repr(each))} instead of a node, a time and a value"
        found.append(sample)
    return found if len(found) <= _MOST else f"gave more than {_MOST:,} samples"


def _sample(given: Any) -> Sample | None:
    if not isinstance(given, tuple | list) or len(given) != 3:
        return None
    node, time, value = given
    if not isinstance(node, str) or not _is_number(time) or not _is_number(value) or not math.isfinite(time):
        return None
    return node, float(time), float(value)


def _is_number(given: Any) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool)
