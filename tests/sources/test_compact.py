"""A snapshot holds what is read of a cluster, and nothing else."""

from __future__ import annotations

import gzip
import io
import json

import pytest

from bench.problems import ALL_PROFILES, generate
from builders import a_container, a_list, a_node, a_pod, a_service
from live.contents import contents_of
from restow.sources.compact import CompactCluster
from restow.sources.documents import load_cluster, read_objects
from restow.sources.synthetic import write_list

SECRET = "hunter2"


def compacted(*paths):
    cluster, stream = CompactCluster(), io.BytesIO()
    read_objects([str(path) for path in paths], cluster)
    cluster.write(stream)
    return stream.getvalue()


@pytest.fixture
def dumped(tmp_path):
    def write(content, name="dump.json"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


def loaded(path):
    return contents_of(load_cluster([str(path)])[0])


def synthetic(profile):
    stream = io.BytesIO()
    write_list(generate(profile, 20, 300, 3), stream)
    return stream.getvalue()


@pytest.mark.parametrize("profile", sorted(ALL_PROFILES))
def test_the_cluster_of_a_snapshot_is_that_of_the_dump(dumped, profile):
    dump = dumped(synthetic(profile))
    snapshot = dumped(compacted(dump), "snapshot.json")

    assert loaded(snapshot) == loaded(dump)
    assert snapshot.stat().st_size < dump.stat().st_size


def test_a_snapshot_of_a_snapshot_is_the_same(dumped):
    once = compacted(dumped(synthetic("mixed")))
    assert compacted(dumped(once)) == once


def test_order_and_division_of_the_input_leave_no_trace(dumped):
    items = json.loads(synthetic("mixed"))["items"]
    parts = [dumped(a_list(*part), f"{at}.json") for at, part in enumerate((items[1::2][::-1], items[::2]))]
    assert compacted(*parts) == compacted(dumped(a_list(*items)))


def test_of_two_objects_of_one_name_the_last_counts(dumped):
    first, second = (dumped(a_list(a_node("n", labels={"at": each})), f"{each}.json") for each in "ab")
    assert [each["metadata"]["labels"] for each in json.loads(compacted(first, second))["items"]] == [{"at": "b"}]


def test_a_kind_without_objects_is_told_of_and_one_that_was_not_told_of_is_not(dumped):
    empty = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": []}
    dump = dumped(a_list(a_node("n"), a_pod("p", node="n"), empty))
    cluster, _ = load_cluster([str(dumped(compacted(dump), "snapshot.json"))])
    assert cluster.has_list("PodDisruptionBudget")
    assert not cluster.has_list("Service")


def test_environment_commands_secrets_and_foreign_annotations_are_not_in_it(dumped):
    container = a_container("c") | {
        "env": [{"name": "PASSWORD", "value": SECRET}],
        "command": ["login", SECRET],
        "args": [SECRET],
        "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": SECRET}]}},
    }
    applied = {"kubectl.kubernetes.io/last-applied-configuration": SECRET}
    pod = a_pod("p", node="n", containers=[container], annotations=applied)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": SECRET}}
    service = a_service("s")
    service["metadata"]["annotations"] = applied
    node = a_node("n", annotations=applied)

    assert SECRET.encode() not in compacted(dumped(a_list(node, pod, service, secret)))


def test_annotations_that_decisions_read_are_in_it(dumped):
    kept = {"descheduler.alpha.kubernetes.io/evict": "true"}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
    }
    dump = dumped(a_list(a_node("n"), a_pod("p", node="n", annotations=kept), claim))
    assert loaded(dumped(compacted(dump), "snapshot.json")) == loaded(dump)


def test_packed_it_is_the_same_bytes_each_time(dumped):
    cluster = CompactCluster()
    read_objects([str(dumped(synthetic("mixed")))], cluster)
    packed = [io.BytesIO(), io.BytesIO()]
    for stream in packed:
        cluster.write_gzip(stream)
    plain = io.BytesIO()
    cluster.write(plain)
    assert packed[0].getvalue() == packed[1].getvalue()
    assert gzip.decompress(packed[0].getvalue()) == plain.getvalue()
