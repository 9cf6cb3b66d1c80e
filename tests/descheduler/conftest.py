"""Cycles without threads, and the decisions that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from descheduler.cycling import Decided
from restow.descheduler import applying, publishing, shadowing
from restow.descheduler import cycles as module
from restow.executing.deciding import CycleDecision, CycleRules, decide
from restow.policies.codes import SteeringMode


@pytest.fixture
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time does not wait for threads: a deadline would pass before the answer."""

    async def at_once(compute: Callable[[], Any], _: float) -> Any:
        return compute()

    for each in (module, publishing, applying, shadowing):
        monkeypatch.setattr(each, "in_thread", at_once)


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Decided:
    """All decisions; each takes no time, so that the rest of a plan that went astray is left at once."""
    seen = Decided()

    def watched(
        cluster: Any, by: CycleRules, before: Any, now: int, *, steering: SteeringMode, cache: Any
    ) -> CycleDecision:
        decision = decide(cluster, by, before, now, steering=steering, cache=cache)
        seen.prior_evictions.append(before.prior_evictions)
        seen.given_up.append(before.given_up)
        seen.may_move.append(before.may_move)
        seen.steering.append(steering)
        seen.minors.append(cluster.server_minor)
        seen.plans.append({ref.plugin: each.plans for ref, each in before.searches.items()})
        seen.moves.append(len(decision.tasks))
        return structs.replace(decision, seconds=0.0)

    monkeypatch.setattr(module, "decide", watched)
    return seen
