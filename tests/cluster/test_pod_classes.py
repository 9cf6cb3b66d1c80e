"""Pod classes: pods that nothing tells apart in some aspects are in one, all others are not."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import (
    EMPTY_DIR,
    ZONE,
    a_node,
    a_pod,
    a_service,
    claim_volume,
    pod_affinity,
    pod_term,
    running,
    selector,
    spread,
)
from cluster.drawn import pods
from cluster.test_mentioned_labels import mention
from descheduling.harness import a_cluster
from restow.cluster.pod_classes import LOOKED_AT_BY, Aspect, ClassKeys, columns_of, pod_classes
from restow.cluster.pods import Pods
from restow.cluster.state import ClusterState

NODE = a_node("n1")
BY_APP = a_service("s", selector={"app": "x"})


def classes(aspects: Aspect, *built: dict[str, Any]) -> list[int]:
    """The class of each pod; pods are given in canonical order."""
    cluster = a_cluster(NODE, BY_APP, *built)
    found = pod_classes(cluster, aspects)
    return [found.values[pod] for pod in range(len(cluster.pods))]


def test_every_column_says_what_looks_at_it() -> None:
    columns = {each.name for each in fields(Pods) if each.init} - {"tables", "unknown_nodes"}
    assert set(LOOKED_AT_BY) == columns, "declare in LOOKED_AT_BY what looks at a column that you add"
    assert all(LOOKED_AT_BY.values())


def test_every_aspect_is_of_a_column() -> None:
    assert {each for each in Aspect if not columns_of(each)} == set()


def test_names_template_hashes_states_and_nodes_make_no_class() -> None:
    one = a_pod(
        "a", labels={"app": "x", "pod-template-hash": "1"}, owner=("ReplicaSet", "r"), node="n1", qos="Burstable"
    )
    two = a_pod("b", labels={"app": "x", "pod-template-hash": "2"}, owner=("ReplicaSet", "r"), phase="Running")
    assert len(set(classes(Aspect.SCHEDULING, one, two))) == 1


@pytest.mark.parametrize(
    ("aspect", "other"),
    [
        pytest.param(Aspect.FILTERS, {"namespace": "other"}, id="namespace"),
        pytest.param(Aspect.FILTERS, {"labels": {"app": "x"}}, id="mentioned-label"),
        pytest.param(Aspect.NODE_FIT, {"cpu": "2"}, id="requests"),
        pytest.param(Aspect.NODE_FIT, {"tolerations": ["gpu"]}, id="tolerations"),
        pytest.param(Aspect.NODE_FIT, {"node_selector": {"zone": "a"}}, id="nodeSelector"),
        pytest.param(Aspect.FILTERS, {"affinity": pod_affinity([pod_term(selector(), topology=ZONE)])}, id="affinity"),
        pytest.param(Aspect.FILTERS, {"spread": [spread()]}, id="spread"),
        pytest.param(Aspect.FILTERS, {"owner": ("ReplicaSet", "r")}, id="owner"),
        pytest.param(Aspect.SCHEDULING, {"images": ["web:1"]}, id="image"),
        pytest.param(Aspect.SCHEDULING, {"volumes": [{"name": "i", "image": {"reference": "i"}}]}, id="mounted-image"),
        pytest.param(Aspect.FILTERS, {"volumes": [claim_volume("data")]}, id="claim"),
        pytest.param(Aspect.SCHEDULING, {"priority": 1}, id="priority"),
        pytest.param(Aspect.SCHEDULING, {"spec": {"schedulerName": "mine"}}, id="scheduler"),
        pytest.param(Aspect.SCHEDULING, {"spec": {"preemptionPolicy": "Never"}}, id="preemption"),
        pytest.param(Aspect.LANDING, {"phase": "Failed"}, id="has-ended"),
        pytest.param(
            Aspect.LANDING,
            {"statuses": [running() | {"name": "", "resources": {"requests": {"cpu": "1"}}}]},
            id="is-resized",
        ),
    ],
)
def test_what_is_looked_at_makes_a_class(aspect: Aspect, other: dict[str, Any]) -> None:
    assert len(set(classes(aspect, a_pod("a"), a_pod("b", **other)))) == 2


def test_local_volumes_make_no_class() -> None:
    assert len(set(classes(Aspect.FILTERS, a_pod("a"), a_pod("b", volumes=[EMPTY_DIR])))) == 1


@given(pods())
@settings(max_examples=40, deadline=None)
def test_pods_of_a_class_are_alike_in_its_columns(drawn: list[dict[str, Any]]) -> None:
    cluster = a_cluster(NODE, BY_APP, *drawn)
    columns, labels = cluster.pods, cluster.pods.tables.labels
    for aspects in (Aspect.NODE_FIT, Aspect.FILTERS, Aspect.SCHEDULING, Aspect.LANDING):
        alike: dict[int, set[object]] = {}
        others = [name for name in columns_of(aspects) if name != "labels"]
        found = pod_classes(cluster, aspects)
        for pod in range(len(columns)):
            app = labels[columns.labels[pod]].get("app") if "labels" in columns_of(aspects) else None
            what = (app, *(int(getattr(columns, name)[pod]) for name in others))
            alike.setdefault(found.values[pod], set()).add(what)
        assert all(len(each) == 1 for each in alike.values())
        assert len(alike) == len({what for each in alike.values() for what in each})


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_pod_that_was_copied_is_in_the_class_that_its_columns_say(data: st.DataObject) -> None:
    """Rows are copied, with and without changes, and written, and somebody asks now and then."""
    labels = ({"app": "x"}, {"app": "y"}, {"c": "r"}, {"c": "b"})
    built = [a_pod(f"p{number}", labels=each) for number, each in enumerate(labels)]
    state = ClusterState(a_cluster(NODE, BY_APP, *built))
    columns = state.cluster.pods
    found = [pod_classes(state.cluster, each) for each in (Aspect.FILTERS, Aspect.PREEMPTION)]
    count = len(columns)
    for _ in range(data.draw(st.integers(1, 8))):
        pod = data.draw(st.integers(0, count - 1))
        changes = [{}, {"phase": 1}, {"priority": 7}, {"labels": data.draw(st.integers(0, 3))}]
        changed = data.draw(st.sampled_from([*changes, {"rules": mention(columns, "c")}]))
        if data.draw(st.booleans()):
            columns.append_like(pod, changed)
            count += 1
        else:
            columns.write(pod, columns.row(pod) | changed)
        for each in found if data.draw(st.booleans()) else ():
            assert len(each.values) >= count
    for aspects, known in zip((Aspect.FILTERS, Aspect.PREEMPTION), found, strict=True):
        fresh = pod_classes(state.cluster, aspects)
        pairs = set(zip(known.values[:count], fresh.values[:count], strict=True))
        assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})
        for group in {one for one, _ in pairs}:
            members = [pod for pod, each in enumerate(known.values) if each == group]
            assert known.members(group).tolist() == members


def test_a_copy_that_is_written_later_is_in_the_class_of_what_it_says_then() -> None:
    state = ClusterState(a_cluster(NODE, a_pod("a")))
    columns, found = state.cluster.pods, pod_classes(state.cluster, Aspect.PREEMPTION)
    copy = columns.append_like(0, {})
    assert found.values[copy] == found.values[0]
    columns.write(copy, {"priority": 7})
    assert found.values[copy] != found.values[0]
    assert found.members(found.values[0]).tolist() == [0]


def test_a_selector_that_comes_tells_pods_apart_that_were_alike() -> None:
    """The others keep the number of their class, so that what is known of it still holds."""
    bare, red, blue = (a_pod(name, labels=each) for name, each in (("a", {}), ("b", {"c": "r"}), ("c", {"c": "b"})))
    state = ClusterState(a_cluster(NODE, BY_APP, bare, red, blue))
    columns, found = state.cluster.pods, pod_classes(state.cluster, Aspect.FILTERS)
    before = [found.values[pod] for pod in range(3)]
    assert len(set(before)) == 1
    came = state.create(columns.row(0) | {"names": "d", "uids": "d", "rules": mention(columns, "c")})
    after = [found.values[pod] for pod in range(4)]
    assert after[0] == before[0]
    assert len(set(after)) == 4
    assert found.members(before[0]).tolist() == [0]
    assert found.members(after[came]).tolist() == [came]


@given(pods())
@settings(max_examples=40, deadline=None)
def test_keys_tell_apart_what_classes_do_and_labels_that_nobody_mentions(drawn: list[dict[str, Any]]) -> None:
    cluster = a_cluster(NODE, BY_APP, *drawn)
    keys, found = ClassKeys(cluster.pods, Aspect.FILTERS), pod_classes(cluster, Aspect.FILTERS)
    pairs = {(keys.of(pod), number) for pod, number in enumerate(found.values)}
    assert len({key for key, _ in pairs}) == len(pairs)
    told = {(number, label) for number, label in zip(found.values, cluster.pods.labels.tolist(), strict=True)}
    assert len(pairs) == len(told)


def test_no_pods_have_no_classes() -> None:
    assert len(pod_classes(a_cluster(NODE), Aspect.SCHEDULING)) == 0
