"""Rebalance for several goals: one after the other, or at once by weights."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node
from proving.joint import a_random_cluster, planned, pods_on, result
from proving.proven import landings, moved


class TestSeveralGoals:
    def test_a_later_goal_does_not_undo_an_earlier_one(self) -> None:
        """One node becomes empty; the other two could be even, but for the move that would use the empty one again."""
        nodes = [a_node(name, cpu="10") for name in "abc"]
        sizes = {"a": (3, 2, 1), "b": (1, 1), "c": (1,)}
        pods = [
            pod
            for name, of_node in sizes.items()
            for number, size in enumerate(of_node)
            for pod in pods_on(name, f"{name}{number}", cpu=str(size), owner=f"{name}{number}")
        ]

        packed = planned({"goal": "pack", "resources": ["cpu"]}, *nodes, *pods, most=1)[0]
        both, *others = planned({"goal": "pack,balance", "resources": ["cpu"]}, *nodes, *pods)

        pack, balance = both.record.goals.values()
        assert (pack.goal, pack.after) == ("pack", result(packed).after)
        assert balance.goal == "balance"
        assert not any(moved(other) for other in others)

    def test_both_goals_are_told_as_they_were_and_will_be(self) -> None:
        """Four equal pods on four nodes fit on one, where there is nothing to even out."""
        nodes = [a_node(name, cpu="4") for name in "abcd"]
        pods = [pod for name in "abcd" for pod in pods_on(name, f"{name}1", cpu="1")]

        both = planned({"goal": "pack,balance", "resources": ["cpu"]}, *nodes, *pods, most=1)[0]

        pack, balance = both.record.goals.values()
        assert (pack.before, pack.after) == (4, 1)
        assert (balance.before, balance.after) == (0, pytest.approx(43.3, abs=0.1))

    @pytest.mark.parametrize(
        ("names", "sentence"),
        [
            ("balance,pack", "goal: these goals cannot be combined, because they count the same thing in two ways"),
            ("pack,room", "goal: room cannot be combined with others; plan for it by itself"),
            ("spread,balance", "goal: spread cannot be combined with others; plan for it by itself"),
            ("room+balance", "goal: room cannot be combined with others; plan for it by itself"),
        ],
    )
    def test_goals_that_cannot_be_combined_move_nothing(self, names: str, sentence: str) -> None:
        nodes = [a_node(name, cpu="4") for name in "ab"]
        pods = [pod for name in "ab" for pod in pods_on(name, f"{name}1", cpu="1")]

        found = planned({"goal": names}, *nodes, *pods, most=1)[0]

        assert moved(found) == []
        assert [text for _, text in found.record.problems] == [sentence]

    @settings(max_examples=15, deadline=None)
    @given(st.integers(0, 100_000))
    def test_the_first_goal_is_as_good_as_alone(self, seed: int) -> None:
        """In random clusters; balance may use no node that pack has emptied."""
        cluster = a_random_cluster(seed, spreads=False)
        alone = result(planned({"goal": "pack"}, *cluster, most=1)[0])
        pack, _ = planned({"goal": "pack,balance"}, *cluster, most=1)[0].record.goals.values()
        assert pack.after <= alone.after


class TestWeighedGoals:
    @pytest.mark.parametrize(("goal", "in_use"), [("pack:0.1+balance", 4), ("pack:10+balance:0.1", 1)])
    def test_weights_decide_between_goals(self, goal: str, in_use: int) -> None:
        """Four equal pods on four nodes are even, and fit on one."""
        nodes = [a_node(name, cpu="4") for name in "abcd"]
        pods = [pod for name in "abcd" for pod in pods_on(name, f"{name}1", cpu="1")]

        first, *others = planned({"goal": goal, "resources": ["cpu"]}, *nodes, *pods)

        pack, balance = first.record.goals.values()
        assert (pack.goal, pack.after, len(pack.emptied)) == ("pack", in_use, 4 - in_use)
        assert (balance.goal, balance.before) == ("balance", 0)
        assert not any(moved(other) for other in others)

    def test_moves_that_empty_no_node_are_made_too(self) -> None:
        """One node is emptied, and of the two that stay in use the fuller one gives a pod to the other."""
        nodes = [a_node(name, cpu="10") for name in "abc"]
        numbers = {"a": 6, "b": 2, "c": 1}
        pods = [
            pod
            for name, number in numbers.items()
            for pod in pods_on(name, *map(f"{name}{{}}".format, range(number)), cpu="1")
        ]

        first = planned({"goal": "pack:4+balance", "resources": ["cpu"]}, *nodes, *pods, most=1)[0]

        pack, _ = first.record.goals.values()
        assert (pack.before, pack.after, pack.emptied) == (3, 2, ("c",))
        assert len(moved(first)) == 2
        assert set(landings(first).values()) == {"b"}

    @settings(max_examples=15, deadline=None)
    @given(st.integers(0, 100_000), st.sampled_from(["pack+balance", "pack:0.1+balance", "balance:5+pack:0.3"]))
    def test_a_plan_made_again_is_empty(self, seed: int, goal: str) -> None:
        """In random clusters without budgets, whatever the weights are."""
        without_budgets = [
            each for each in a_random_cluster(seed, spreads=False) if each["kind"] != "PodDisruptionBudget"
        ]
        _, *others = planned({"goal": goal}, *without_budgets)
        assert not any(moved(other) for other in others)
