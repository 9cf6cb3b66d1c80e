"""Soft taints: the patch loses nothing of anybody else's, and nodes that somebody changes meanwhile are read again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.json_patches import patched_taints
from client.double import Double, a_status, an_answer
from restow.client.errors import BadRequest
from restow.errors import ClientError
from restow.operator.soft_taints import (
    APPROPRIATE,
    EFFECT,
    KEYS,
    OVERUTILIZED,
    has_soft_taints,
    is_soft_taint,
    read_nodes,
    remove_taints,
    taint_patch,
    write_taints,
)

Taint = dict[str, Any]
NODES = "/api/v1/nodes"
OURS = {"key": OVERUTILIZED, "value": "true", "effect": EFFECT}
FAIR = {"key": APPROPRIATE, "value": "true", "effect": EFFECT}
FOREIGN = {"key": "a", "effect": "NoExecute", "timeAdded": "2026-11-22T00:00:00Z"}
UNFIT = a_status(422, "Invalid", "the server rejected our request due to an error in our request")


def a_node(name: str, *taints: Taint, version: str = "1") -> dict[str, Any]:
    spec: dict[str, Any] = {"taints": [*taints]} if taints else {}
    return {"metadata": {"name": name, "resourceVersion": version}, "spec": spec}


def a_list(*nodes: dict[str, Any]) -> Any:
    return an_answer({"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": [*nodes]})


_TAINTS = st.lists(
    st.builds(
        lambda key, value, effect: {"key": key, "value": value, "effect": effect},
        st.sampled_from((*KEYS, "a", "node.kubernetes.io/unschedulable")),
        st.sampled_from(("true", "", "other")),
        st.sampled_from((EFFECT, "NoSchedule", "NoExecute")),
    ),
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)


class TestPatch:
    @given(taints=_TAINTS, keys=st.sets(st.sampled_from(KEYS)))
    def test_a_node_bears_what_it_is_to_bear_and_keeps_all_else_in_its_order(self, taints, keys):
        after = patched_taints(taints, taint_patch(taints, keys))
        assert [each for each in after if not is_soft_taint(each)] == [
            each for each in taints if not is_soft_taint(each)
        ]
        assert {each["key"] for each in after if is_soft_taint(each)} == keys
        assert taint_patch(after, keys) == []

    @given(before=_TAINTS, now=_TAINTS, keys=st.sets(st.sampled_from(KEYS)))
    def test_after_a_change_it_does_not_fit_or_nobody_elses_taint_is_lost(self, before, now, keys):
        try:
            after = patched_taints(now, taint_patch(before, keys))
        except BadRequest:
            return
        theirs = [each for each in now if not is_soft_taint(each)]
        assert [each for each in after if not is_soft_taint(each)] == theirs

    def test_of_a_node_without_taints_it_tests_that_there_are_none(self):
        test, _ = taint_patch([], {OVERUTILIZED})
        assert test == {"op": "test", "path": "/spec/taints", "value": None}

    def test_both_may_be_added_to_a_node_without_taints(self):
        assert patched_taints([], taint_patch([], KEYS)) == [FAIR, OURS]

    def test_one_with_another_value_counts(self):
        assert taint_patch([OURS | {"value": "wrong"}], {OVERUTILIZED}) == []

    def test_one_with_another_effect_is_somebody_elses(self):
        theirs = OURS | {"effect": "NoSchedule"}
        assert patched_taints([theirs, OURS], taint_patch([theirs, OURS], ())) == [theirs]


def patches(double: Double) -> list[tuple[str, list[str]]]:
    """What the patches do beside their tests."""
    return [
        (asked.path, [f"{each['op']} {each['path']}" for each in asked.json if each["op"] != "test"])
        for asked in double.asked
        if asked.method == "PATCH"
    ]


@pytest.mark.asyncio
@pytest.mark.looptime
class TestNodes:
    async def test_only_nodes_that_differ_are_written_each_with_one_patch(self, api, double):
        double.answers("GET", NODES, a_list(a_node("a", OURS, FAIR), a_node("b"), a_node("c", FAIR), a_node("d")))
        for name in "abcd":
            double.answers("PATCH", f"{NODES}/{name}", an_answer({}))
        both = frozenset(KEYS)
        written = await write_taints(api, await read_nodes(api), {"a": both, "b": both})
        assert written.changed == ("b", "c")
        assert written.problems == ()
        assert sorted(patches(double), key=str) == [
            (f"{NODES}/b", ["add /spec/taints", "add /spec/taints/-"]),
            (f"{NODES}/c", ["remove /spec/taints/0"]),
        ]

    async def test_all_are_removed_and_counted(self, api, double):
        double.answers("GET", NODES, a_list(a_node("a", OURS, FOREIGN), a_node("b", FOREIGN), a_node("c", FAIR)))
        for name in "ac":
            double.answers("PATCH", f"{NODES}/{name}", an_answer({}))
        assert await remove_taints(api) == 2
        assert patches(double) == [(f"{NODES}/{name}", ["remove /spec/taints/0"]) for name in "ac"]

    async def test_a_node_that_has_changed_meanwhile_is_read_again(self, api, double):
        double.answers("GET", NODES, a_list(a_node("a", OURS)))
        double.answers("PATCH", f"{NODES}/a", UNFIT, an_answer({}))
        double.answers("GET", f"{NODES}/a", an_answer(a_node("a", FOREIGN, OURS)))
        assert await remove_taints(api) == 1
        assert patches(double)[-1] == (f"{NODES}/a", ["remove /spec/taints/1"])

    async def test_a_node_that_is_gone_bears_nothing(self, api, double):
        double.answers("GET", NODES, a_list(a_node("a", OURS)))
        assert await remove_taints(api) == 0

    async def test_what_fails_on_one_node_is_told_and_the_others_are_done(self, api, double):
        double.answers("GET", NODES, a_list(a_node("a", OURS), a_node("b", OURS)))
        double.answers("PATCH", f"{NODES}/a", a_status(403, "Forbidden", "no"))
        double.answers("PATCH", f"{NODES}/b", an_answer({}))
        with pytest.raises(ClientError, match=r"the soft taints of a cannot be changed: .*403 Forbidden: no"):
            await remove_taints(api)
        assert [path for path, _ in patches(double)] == [f"{NODES}/a", f"{NODES}/b"]

    async def test_a_node_that_cannot_be_read_may_still_bear_one(self, api, double):
        double.answers("GET", NODES, a_list(a_node("a"), {"metadata": {"name": "odd"}, "spec": 1}))
        with pytest.raises(ClientError, match="Node odd cannot be read"):
            await remove_taints(api)

    async def test_whether_any_node_bears_one(self, api, double):
        double.answers("GET", NODES, a_list(a_node("a", FOREIGN), a_node("b", OURS | {"value": "wrong"})))
        nodes = await read_nodes(api)
        assert has_soft_taints(nodes)
        assert not has_soft_taints(nodes[:1])
