"""What nodes and pods are called decides nothing about a joint plan but between equals."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from proving.joint import a_random_cluster, permuted, planned, result


@settings(max_examples=15)
@given(st.integers(0, 100_000), st.sampled_from(["balance", "pack"]))
def test_names_decide_nothing_but_between_equals(seed: int, goal: str) -> None:
    """The search may end at another plan among many, but never at another one that is the best."""
    cluster = a_random_cluster(seed)
    one, other = (result(planned({"goal": goal}, *each, most=1)[0]) for each in (cluster, permuted(cluster, seed)))
    assert (one.before, one.bound) == (other.before, other.bound)
    assert not one.optimal or one.after <= other.after
    assert not other.optimal or other.after <= one.after
