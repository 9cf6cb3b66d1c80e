"""What is written: one patch a change, by uid, and nothing of others."""

from __future__ import annotations

from typing import Any

import pytest

from client.double import Double, a_status, an_answer
from descheduler.hearing import Heard
from pressure.marked_nodes import MANAGER, a_marked_node, owner, read
from restow.client.transport import Api, always
from restow.pressure.marking import Mark
from restow.pressure.monitoring import PressureMetrics
from restow.pressure.nodes import MarkedNode
from restow.pressure.writing import MarkChange, Writer, differences

pytestmark = pytest.mark.asyncio

NODE = "/api/v1/nodes/a"
OURS = {"labels": {"status": "presure"}, "managedFields": [owner(MANAGER, "status")]}
THEIRS = {"key": "team", "value": "x", "effect": "NoSchedule"}
TAINT = {"key": "status", "value": "presure", "effect": "PreferNoSchedule"}


def a_node(version: int = 7, taints: Any = None, **metadata: Any) -> MarkedNode:
    made = a_marked_node("a", uid="u", resourceVersion=str(version), **metadata)
    return read(made | {"spec": {"taints": taints}})


def due(node: MarkedNode, *, label: bool = False, taint: bool = False) -> list[MarkChange]:
    chosen = frozenset(("a",))
    return list(differences([node], Mark(), chosen if label else frozenset(), chosen if taint else frozenset()))


async def write(api: Api, found: list[MarkChange], heard: Heard | None = None, *, dry_run: bool = False) -> Any:
    writer = Writer(api, Mark(), (heard or Heard()).log, PressureMetrics(), dry_run)
    return writer, await writer.write(found, always, lambda _: "cpu 0.9 > 0.8")


def written(version: int) -> Any:
    return an_answer({"metadata": {"name": "a", "resourceVersion": str(version)}})


@pytest.mark.parametrize(
    ("node", "label", "changes"),
    [
        pytest.param({}, True, ["set"], id="new"),
        pytest.param({}, False, [], id="nothing"),
        pytest.param(OURS, True, [], id="there"),
        pytest.param(OURS, False, ["clear"], id="to go"),
        pytest.param({"labels": {"status": "presure"}}, True, [], id="by hand"),
        pytest.param({"labels": {"status": "fine"}}, True, [], id="by hand, another value"),
        pytest.param({"labels": {"status": "presure"}}, False, [], id="by hand, no pressure"),
        pytest.param(OURS | {"labels": {"status": "hot"}}, True, ["set"], id="ours, of a value before"),
        pytest.param(
            {"labels": {"load": "hot"}, "managedFields": [owner(MANAGER, "load")]},
            False,
            ["clear"],
            id="of a key before",
        ),
    ],
)
async def test_what_is_to_be_written_of_labels(node: Any, label: bool, changes: list[str]) -> None:
    assert [each.change for each in due(a_node(**node), label=label)] == changes


async def test_a_label_is_applied_by_uid_under_restows_name(double: Double, api: Api) -> None:
    double.answers("PATCH", NODE, written(8))
    heard = Heard()
    await write(api, due(a_node(), label=True), heard)

    (asked,) = double.asked
    assert asked.params == {"fieldManager": "restow-pressure", "force": "false"}
    assert asked.headers["Content-Type"] == "application/apply-patch+yaml"
    assert asked.json == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a", "uid": "u", "labels": {"status": "presure"}},
    }
    assert heard.of("Marked node") == [{"v": 0, "node": {"name": "a"}, "mark": "label", "reason": "cpu 0.9 > 0.8"}]


async def test_nothing_is_written_again_until_the_watch_has_shown_it(double: Double, api: Api) -> None:
    double.answers("PATCH", NODE, written(9))
    writer, _ = await write(api, due(a_node(7), label=True))
    for version in (7, 8):
        await writer.write(due(a_node(version), label=True), always, str)
    assert len(double.asked) == 1
    await writer.write(due(a_node(10), label=True), always, str)
    assert len(double.asked) == 2


@pytest.mark.parametrize(
    ("taints", "wanted", "operations"),
    [
        pytest.param(
            None,
            True,
            [
                {"op": "test", "path": "/spec/taints", "value": None},
                {"op": "add", "path": "/spec/taints", "value": [TAINT]},
            ],
            id="first",
        ),
        pytest.param([THEIRS], True, [{"op": "add", "path": "/spec/taints/-", "value": TAINT}], id="one more"),
        pytest.param(
            [THEIRS, TAINT],
            False,
            [
                *({"op": "test", "path": f"/spec/taints/1/{field}", "value": TAINT[field]} for field in TAINT),
                {"op": "remove", "path": "/spec/taints/1"},
            ],
            id="away",
        ),
    ],
)
async def test_a_taint_is_patched_beside_those_of_others(
    double: Double, api: Api, taints: Any, wanted: bool, operations: list[Any]
) -> None:
    double.answers("PATCH", NODE, written(8))
    await write(api, due(a_node(taints=taints), taint=wanted))
    assert double.asked[0].json == [{"op": "test", "path": "/metadata/uid", "value": "u"}, *operations]


@pytest.mark.parametrize("status", [404, 409])
async def test_a_node_that_is_gone_or_another_is_no_trouble(double: Double, api: Api, status: int) -> None:
    double.answers("PATCH", NODE, a_status(status))
    _, problems = await write(api, due(a_node(), label=True))
    assert problems == {}


async def test_a_right_that_is_missing_is_told_with_the_rule(double: Double, api: Api) -> None:
    double.answers("PATCH", NODE, a_status(403, "Forbidden", 'nodes "a" is forbidden: User "me" cannot patch resource'))
    _, problems = await write(api, due(a_node(), label=True))
    assert problems == {
        "a": 'me may not patch nodes; add the rule {apiGroups: [""], resources: ["nodes"], verbs: [patch]} to its ClusterRole'
    }


async def test_a_dry_run_tells_each_change_once(double: Double, api: Api) -> None:
    heard = Heard()
    writer, _ = await write(api, due(a_node(), label=True), heard, dry_run=True)
    await writer.write(due(a_node(), label=True), always, str)
    assert (double.asked, heard.messages) == ([], ["Marked node in dry run mode"])
    await writer.write([], always, str)
    await writer.write(due(a_node(), label=True), always, str)
    assert len(heard.messages) == 2
