"""How often rules are evaluated for one plan: figures that no busy machine can change.

The functions in which the work is done are wrapped while a cluster is read and a cycle is decided, and each call adds
to a count what it looked at. Two counts are of all calls of restow's own functions: they see the loop that nobody
thought of.

``python -m tests.bench.counting`` prints the counts as ``bounds.toml`` has them.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import numpy as np
import pytest

import restow
from bench.problems import ALL_PROFILES, generate, policy_for
from restow.cluster import pod_parts
from restow.cluster.pod_classes import LabelGroups
from restow.descheduling import node_fit
from restow.descheduling.cycle import run_cycle
from restow.descheduling.evictor import DefaultEvictor
from restow.descheduling.framework import Strategy, Suggestions
from restow.descheduling.node_fit import NodeFit
from restow.descheduling.plugins import node_affinity
from restow.descheduling.registry import plugins, strategies
from restow.kube.labels import Selector
from restow.kube.timestamps import parse_time
from restow.policies.load import load_policy
from restow.sources.documents import load_cluster
from restow.sources.synthetic import NOW, write_list

Counts = Counter[str]

#: What the counts are taken of: small enough for every test run, large enough to show what grows.
NODES, PODS = 40, 1_200

_SOURCES = str(Path(restow.__file__).parent)
#: Calls to Python 3.11, but not to 3.12.
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})


def evaluations(profile: str, nodes: int, pods: int, folder: Path) -> Counts:
    """What one cycle with the policy of a synthetic cluster costs, by kind of evaluation."""
    dump = folder / f"{profile}-{nodes}.json"
    with dump.open("wb") as stream:
        write_list(generate(profile, nodes, pods, seed=1), stream)
    policy = load_policy(policy_for(profile).encode(), "policy.yaml", plugins()).policy
    counts: Counts = Counter()
    counted = {name: _counting_suggestions(each, counts) for name, each in strategies().items()}
    with pytest.MonkeyPatch.context() as patch:
        _wrap_all(patch, counts)
        with _counting_calls(counts, "calls of reading"):
            cluster, _ = load_cluster([str(dump)])
        with _counting_calls(counts, "calls of deciding"):
            run_cycle(cluster, policy, counted, parse_time(NOW))
    return counts


def _wrap_all(patch: pytest.MonkeyPatch, counts: Counts) -> None:
    def wrap(owner: Any, function: str, name: str, amount: Callable[..., int]) -> None:
        original = getattr(owner, function)

        def counting(*args: Any, **kwargs: Any) -> Any:
            counts[name] += amount(*args)
            return original(*args, **kwargs)

        patch.setattr(owner, function, counting)

    wrap(pod_parts, "decode_part", "texts decoded", lambda *_: 1)
    wrap(NodeFit, "_has_room", "nodeFit verdicts", lambda *_: 1)
    wrap(NodeFit, "_has_room", "nodes judged by nodeFit", lambda _fit, _pod_class, nodes: np.size(nodes))
    wrap(DefaultEvictor, "passes_filter", "pods filtered", lambda _evictor, pods: len(pods))
    wrap(DefaultEvictor, "passes_pre_eviction", "pods filtered late", lambda _evictor, pods: len(pods))
    wrap(LabelGroups, "matching", "label look-ups", lambda *_: 1)
    wrap(Selector, "matches", "selector evaluations", lambda *_: 1)
    for module in (node_fit, node_affinity):
        wrap(module, "matches", "nodes matched by a selection", lambda _selection, nodes: len(nodes))


def _counting_suggestions(strategy: Strategy, counts: Counts) -> Strategy:
    def suggest(view: Any, args: Any) -> Suggestions:
        suggestions = strategy.suggest(view, args)
        try:
            suggestion = next(suggestions)
            while True:
                counts["suggestions"] += 1
                suggestion = suggestions.send((yield suggestion))
        except StopIteration:
            return

    return msgspec.structs.replace(strategy, suggest=suggest)


@contextmanager
def _counting_calls(counts: Counts, name: str) -> Iterator[None]:
    """Count the calls of functions that are written in restow's files."""
    ours: dict[Any, bool] = {}

    def on_event(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            code = frame.f_code
            if code not in ours:
                ours[code] = code.co_filename.startswith(_SOURCES) and code.co_name not in _COMPREHENSIONS
            counts[name] += ours[code]

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        yield
    finally:
        sys.setprofile(before)


def as_toml(profile: str, counts: Mapping[str, int]) -> str:
    """The counts as bounds.toml has them."""
    return "\n".join([f"[{profile}]", *(f'"{name}" = {count}' for name, count in sorted(counts.items()) if count), ""])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name in ALL_PROFILES:
            print(as_toml(name, evaluations(name, 2 * NODES, 2 * PODS, Path(folder))))
