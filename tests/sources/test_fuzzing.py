"""Whatever the bytes: a cluster or an InputError, never another exception."""

from __future__ import annotations

import gzip
import json

import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from builders import (
    a_deployment,
    a_list,
    a_node,
    a_pdb,
    a_pod,
    a_priority_class,
    a_pvc,
    node_metrics,
    pod_anti_affinity,
    pod_term,
    spread,
    terminated,
)
from restow.cluster.state import ClusterState
from restow.errors import InputError
from restow.sources.documents import load_cluster

FULL_POD = a_pod(
    "p1",
    node="n1",
    owner=("ReplicaSet", "rs"),
    labels={"app": "a"},
    annotations={"descheduler.alpha.kubernetes.io/evict": "true"},
    priority=3,
    tolerations=["gpu=yes:NoSchedule"],
    node_selector={"zone": "a"},
    affinity=pod_anti_affinity([pod_term({"matchLabels": {"app": "a"}})]),
    spread=[spread()],
    volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
    created="2026-01-01T00:00:00Z",
    phase="Running",
    started="2026-01-01T00:00:00Z",
    statuses=[terminated("Error", exit_code=1, restarts=3)],
)
DUMP = a_list(
    a_node("n1", labels={"zone": "a"}, taints=["gpu=yes:NoSchedule"], images={"web": 5}),
    FULL_POD,
    a_pod("p2"),
    a_deployment("d", selector={}),
    a_pdb("b", selector={}),
    a_priority_class("low", 1),
    a_pvc("c", storage_class="gold"),
    node_metrics("n1", cpu="1"),
)
FORMS = {
    "json": json.dumps(DUMP).encode(),
    "yaml": yaml.dump(DUMP, Dumper=yaml.CSafeDumper).encode(),
    "gzip": gzip.compress(json.dumps(DUMP).encode(), mtime=0),
}

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(["", "1", "-1", "1e400", "2026-01-01T00:00:00Z", "In", "a=b", "99999999999999999999Gi"])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def survives(folder, data):
    path = folder / "dump"
    path.write_bytes(data)
    try:
        cluster, _ = load_cluster([str(path)])
    except InputError as error:
        told = str(error)
    else:
        ClusterState(cluster).validate()
        return
    assert told.startswith(str(folder))


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(data=st.binary(max_size=60))
@example(data=b"{" * 20_000)
@example(data=b"[" * 20_000)
@example(data=b"\xfe\xff")
@FUZZ
def test_any_bytes(tmp_path, data):
    survives(tmp_path, data)


@given(text=st.text(alphabet="{}[]:,-&*!|>'\"%@`#?<\n \tab01.~", max_size=40))
@FUZZ
def test_any_punctuation(tmp_path, text):
    survives(tmp_path, text.encode())


@given(form=st.sampled_from(sorted(FORMS)), cut=st.floats(0, 1), tail=st.binary(max_size=4))
@FUZZ
def test_dumps_that_are_cut(tmp_path, form, cut, tail):
    data = FORMS[form]
    survives(tmp_path, data[: int(len(data) * cut)] + tail)


@given(
    form=st.sampled_from(sorted(FORMS)),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=5),
)
@FUZZ
def test_dumps_with_flipped_bytes(tmp_path, form, flips):
    data = bytearray(FORMS[form])
    for where, value in flips:
        data[int(where * len(data))] = value
    survives(tmp_path, bytes(data))


def places(value):
    """Every container and key of a document, to be replaced."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield value, key
        yield from places(member)


COUNT = len(list(places(DUMP)))


@given(changes=st.lists(st.tuples(st.integers(0, COUNT - 1), JSON_VALUES), min_size=1, max_size=3))
@settings(FUZZ, max_examples=400)
def test_dumps_with_replaced_values(tmp_path, changes):
    dump = json.loads(json.dumps(DUMP))
    where = list(places(dump))
    for position, value in changes:
        container, key = where[position]
        container[key] = value
    survives(tmp_path, json.dumps(dump).encode())
