"""What nodes can take up to their ceilings, against plain integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from restow.descheduling.node_utilization.thresholds import Fullness, Headroom
from restow.descheduling.node_utilization.usage import Usage

NAMES = ("cpu", "memory")
AMOUNTS = st.one_of(st.integers(0, 3), st.integers(0, 2**33).map(lambda units: units * 10**9), st.integers(0, 2**70))
PAIRS = st.tuples(AMOUNTS, AMOUNTS).map(lambda pair: dict(zip(NAMES, pair, strict=True)))


@given(st.lists(st.tuples(PAIRS, PAIRS), min_size=1, max_size=9), PAIRS, st.data())
def test_a_node_takes_a_pod_that_leaves_it_at_or_below_its_ceilings(nodes, pod, data) -> None:
    usage = Usage(NAMES, {node: dict(used) for node, (used, _) in enumerate(nodes)}, of_pod=None)
    ceilings = {node: ceiling for node, (_, ceiling) in enumerate(nodes)}
    headroom = Headroom(usage, ceilings, len(nodes) + 1)

    def expected(used) -> list[bool]:
        rest = [{name: ceilings[node][name] - usage.by_node[node][name] for name in NAMES} for node in ceilings]
        return [all(used.get(name, 0) <= left[name] for name in NAMES) for left in rest]

    every = np.arange(len(nodes) + 1)
    assert headroom.takes(pod, every).tolist() == [*expected(pod), False]
    changed = data.draw(st.integers(0, len(nodes) - 1))
    usage.by_node[changed]["memory"] += data.draw(st.integers(-5, 5))
    usage.changes.append(changed)
    assert headroom.takes(pod, every[::-1]).tolist() == [False, *expected(pod)[::-1]]
    assert headroom.takes(None, every).tolist() == [*expected({}), False]


@given(st.lists(st.tuples(PAIRS, PAIRS), min_size=1, max_size=9), PAIRS, st.data())
def test_a_node_is_as_full_alone_as_among_all(nodes, pod, data) -> None:
    usage = Usage(NAMES, {node: dict(used) for node, (used, _) in enumerate(nodes)}, of_pod=None)
    capacities = {node: capacity for node, (_, capacity) in enumerate(nodes)}
    fullness, every = Fullness(usage, capacities, NAMES, len(nodes)), np.arange(len(nodes))
    fullness.emptiest_with(pod, every)
    changed = data.draw(st.integers(0, len(nodes) - 1))
    usage.by_node[changed]["cpu"] += data.draw(st.integers(-5, 5))
    usage.changes.append(changed)
    fresh = Fullness(usage, capacities, NAMES, len(nodes)).emptiest_with(pod, every)
    assert fullness.emptiest_with(pod, every).tolist() == fresh.tolist()
