"""What the page of ``restow pressure`` shows, for tests: so many nodes with two rules, a few of them under pressure."""

from __future__ import annotations

import numpy as np

from restow.client.prometheus import InstantVector, VectorSample
from restow.kube.duration import MINUTE
from restow.pressure.evaluation import MissingDataPolicy
from restow.pressure.marking import Mark
from restow.pressure.monitoring import PressureView
from restow.pressure.nodes import MarkedNode, NodeMetadata
from restow.pressure.rules import Rule
from restow.pressure.situation import Criteria, History, assess, positions_among

RULES = (
    Rule("cpu", '1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[2m]))', 0.8, clear=0.6),
    Rule("memory", "k8_node_cgroups_mem_available", 2e9, "below", clear=2e9),
)


def a_view(nodes: int = 12, *, minutes: int = 60, pressed: int = 2, silent: int = 1, **changes: object) -> PressureView:
    """After so many minutes; the first nodes are over the first rule, the last ones have no sample of the second."""
    known = [MarkedNode(NodeMetadata(name=f"node-{number:04}", uid=str(number))) for number in range(nodes)]
    criteria = Criteria(RULES, Mark(), 0.5, MissingDataPolicy(5 * MINUTE))
    history, situation = History.empty(len(RULES)), None
    for minute in range(minutes):
        before = situation
        situation = assess(criteria, before, known, _answers(nodes, pressed, silent, minute), minute * MINUTE)
        positions = positions_among(before.nodes if before else (), situation.nodes)
        history = history.followed_by(situation.values, positions, minute * MINUTE)
    shown: dict[str, object] = {
        "criteria": criteria,
        "situation": situation,
        "history": history,
        "labelled": tuple(f"node-{number:04}" for number in range(pressed)),
        "trouble": "",
        "leads": True,
        "dry_run": False,
        "now": (minutes - 1) * MINUTE + 4_000_000_000,
        "interval": 10.0,
    }
    return PressureView(**(shown | changes))  # type: ignore[arg-type]


def _answers(nodes: int, pressed: int, silent: int, minute: int) -> list[InstantVector]:
    waves = 0.15 * np.sin((np.arange(nodes) + minute) / 5)
    cpu = np.where(np.arange(nodes) < pressed, 0.7 + minute / 300, 0.4) + waves / 3
    memory = 6e9 * (1 - 0.5 * np.abs(waves) / 0.15)
    first = tuple(VectorSample(f"node-{number:04}", float(value), 0.0) for number, value in enumerate(cpu))
    second = tuple(
        VectorSample(f"node-{number:04}", float(value), 0.0) for number, value in enumerate(memory[: nodes - silent])
    )
    return [InstantVector(first, 0.0), InstantVector(second, 0.0)]
