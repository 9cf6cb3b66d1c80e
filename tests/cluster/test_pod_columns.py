"""Columns of pods find what they are asked for, and no more; uids find the pods that have them now."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node, a_pod
from cluster.test_state import rows_of
from descheduling.harness import a_cluster
from restow.cluster.pod_columns import PodColumn, PodUids, by_value
from restow.cluster.state import ClusterState

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
UIDS = st.sampled_from([f"uid-{number}" for number in range(7)])


def state_of(count: int, **features: str) -> ClusterState:
    return ClusterState(
        a_cluster(a_node("n1"), *(a_pod(f"p{at:02}", uid=f"uid-{at}", **features) for at in range(count)))
    )


class TestUids:
    @given(st.lists(st.tuples(NAMES, st.none() | UIDS), max_size=20))
    @settings(max_examples=100, deadline=None)
    def test_they_find_the_pods_that_are_there_whatever_has_come_and_gone(self, events) -> None:
        """No two pods of an API server have one uid at a time."""
        state = ClusterState(a_cluster(a_node("n1"), a_pod("x", uid="uid-x")))
        pods, uids = state.cluster.pods, PodUids(state.cluster.pods)
        for name, uid in events:
            pod = state.order.find("default", name)
            if pod >= 0:
                state.delete(pod)
            if uid is not None and uid not in self.living(state):
                state.create(rows_of(state, [a_pod(name, uid=uid)])[0])
            asked = {"uid-x", "uid-1", "uid-3", "uid-4", "none"}
            found = {pods.uids[row]: row for row in uids.rows(asked) if state.exists[row]}
            assert found == {uid: row for uid, row in self.living(state).items() if uid in asked}

    def living(self, state: ClusterState) -> dict[str, int]:
        return {state.cluster.pods.uids[row]: row for row in np.flatnonzero(state.exists).tolist()}

    def test_of_several_pods_with_one_uid_all_are_found(self) -> None:
        pods = a_cluster(a_node("n1"), *(a_pod(name, uid="same") for name in "abc"), a_pod("d", uid="other")).pods
        assert PodUids(pods).rows({"same"}) == [0, 1, 2]
        assert PodUids(pods).rows(()) == []


class TestColumns:
    def test_of_few_pods_only_their_values_are_found(self) -> None:
        asked: list[int] = []
        column = PodColumn(state_of(2_500).cluster.pods, lambda rows: asked.extend(rows.tolist()) or rows * 2)
        assert column.at(np.array([3, 7])).tolist() == [6, 14]
        assert asked == [3, 7]

    def test_of_many_pods_or_often_all_values_are_found_once(self) -> None:
        asked: list[int] = []
        column = PodColumn(state_of(40).cluster.pods, lambda rows: asked.append(len(rows)) or rows * 2)
        assert column.at(np.arange(20)).tolist() == list(range(0, 40, 2))
        assert column.at(np.array([1])).tolist() == [2]
        assert asked == [40]
        often = PodColumn(state_of(2_500).cluster.pods, lambda rows: asked.append(len(rows)) or rows * 2)
        for _ in range(100):
            assert often.at(np.array([5])).tolist() == [10]
        assert asked[1:] == [1, 1, 2_500]

    def test_a_value_of_a_table_is_asked_for_once_and_only_where_a_pod_has_it(self) -> None:
        pods = [a_pod(f"p{at}", labels={"app": "abc"[at % 3]}) for at in range(6)]
        state, asked = ClusterState(a_cluster(a_node("n1"), *pods)), []

        def holds(many):
            asked.extend(each["app"] for each in many)
            return [each["app"] == "b" for each in many]

        column = by_value(state.cluster.pods, "labels", "labels", holds)
        assert column.of(np.array([1, 4])).tolist() == [True, True]
        assert asked == ["b"]
        assert column.values.tolist()[:6] == [False, True, False, False, True, False]
        assert sorted(asked) == ["a", "b", "c"]
        state.create(rows_of(state, [a_pod("new", labels={"app": "b", "more": "x"})])[0])
        assert column.values[6]
        assert sorted(asked) == ["a", "b", "b", "c"]
