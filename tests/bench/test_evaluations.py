"""restow's cost in evaluations: bounded, and growing no faster than the cluster.

A test that fails here has found a loop over pods and nodes where there was one over what they have in common. Where
more evaluations are wanted, ``python -m tests.bench.counting`` prints the new figures for ``bounds.toml``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from bench.counting import NODES, PODS, evaluations
from bench.problems import ALL_PROFILES

BOUNDS = tomllib.loads((Path(__file__).parent / "bounds.toml").read_text())
SLACK = BOUNDS["slack"]
#: Twice the cluster, twice the work; a tenth more for what rounding does to small clusters.
MOST_GROWTH = 2.2
#: Classes of pods times nodes: both may double.
PRODUCT = "nodes judged by nodeFit"
#: Counts this small depend more on the draw than on the size.
FEW = 100


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Counts of a profile, of the cluster and of one twice as large; taken once."""
    folder, known = tmp_path_factory.mktemp("clusters"), {}

    def counts(profile):
        if profile not in known:
            known[profile] = tuple(evaluations(profile, times * NODES, times * PODS, folder) for times in (1, 2))
        return known[profile]

    return counts


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_no_more_evaluations_than_measured(counted, profile):
    _, counts = counted(profile)
    bounds = BOUNDS[profile]
    too_many = {
        name: f"{count}, measured {bounds.get(name, 0)}"
        for name, count in counts.items()
        if count > bounds.get(name, 0) * (1 + SLACK.get(name, SLACK["other"]))
    }
    assert not too_many


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_twice_the_cluster_costs_about_twice_the_evaluations(counted, profile):
    small, large = counted(profile)
    too_fast = {
        name: f"{small[name]} -> {count}"
        for name, count in large.items()
        if count > max(small[name], FEW) * MOST_GROWTH * (2 if name == PRODUCT else 1)
    }
    assert not too_fast


def test_every_bound_is_of_a_profile():
    assert set(BOUNDS) == {"slack", *ALL_PROFILES}
