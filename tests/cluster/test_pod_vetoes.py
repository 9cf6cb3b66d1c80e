"""What pods and nodes forbid is read, kept by snapshots, and follows every change."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest

from builders import a_node, a_pod
from descheduling.harness import Object
from restow.cluster.pod_values import ALWAYS, NO_VETOES, PodVetoes
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.kube.duration import MINUTE
from restow.kube.objects import KINDS
from restow.sources.compact import CompactCluster
from restow.sources.documents import load_cluster

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
VOLUMES = f"{SAFE}-local-volumes"
ALL = {
    DO_NOT_DISRUPT: "30m",
    SAFE: "false",
    VOLUMES: "tmp",
    "descheduler.alpha.kubernetes.io/eviction-in-progress": "x",
}
DATA = [{"name": "data", "emptyDir": {}}]
READ = PodVetoes(30 * MINUTE, unsafe_to_evict=True, unsafe_volumes=True, eviction_in_progress=True)


def wire(each: Object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(each), type=KINDS[each["kind"]])


def of_pods(cluster: ClusterSnapshot) -> dict[str, PodVetoes]:
    pods = cluster.pods
    return {name: pods.tables.vetoes[veto] for name, veto in zip(pods.names, pods.vetoes.tolist(), strict=True)}


@pytest.mark.parametrize(
    ("annotations", "volumes", "read"),
    [
        pytest.param(ALL, DATA, READ, id="all"),
        pytest.param({DO_NOT_DISRUPT: "true"}, None, PodVetoes(ALWAYS), id="for-ever"),
        pytest.param({DO_NOT_DISRUPT: "True"}, None, NO_VETOES, id="as-karpenter-reads-it"),
        pytest.param({DO_NOT_DISRUPT: "0s"}, None, NO_VETOES, id="no-time"),
        pytest.param({DO_NOT_DISRUPT: "9" * 100_000}, None, NO_VETOES, id="long"),
        pytest.param({SAFE: "FALSE"}, None, NO_VETOES, id="as-the-autoscaler-reads-it"),
        pytest.param({VOLUMES: "tmp, data"}, DATA, PodVetoes(unsafe_volumes=True), id="blanks-count"),
        pytest.param(
            {VOLUMES: "tmp"},
            [{"name": "claim", "persistentVolumeClaim": {"claimName": "c"}}],
            NO_VETOES,
            id="not-local",
        ),
        pytest.param({}, DATA, NO_VETOES, id="none"),
    ],
)
def test_annotations_are_read_as_their_programs_read_them(annotations: Object, volumes: Any, read: PodVetoes) -> None:
    store = ClusterStore()
    store.add("Pod", [wire(a_pod("p", node="n1", annotations=annotations, volumes=volumes))])
    assert of_pods(store.snapshot()) == {"p": read}
    found = store.pod("default", "p")
    assert found is not None
    assert found.vetoes == read


def test_a_change_of_an_annotation_counts_from_then_on() -> None:
    store = ClusterStore()
    store.add("Pod", [wire(a_pod("p", node="n1")), wire(a_pod("q", node="n1"))])
    store.add("Node", [wire(a_node("n1"))])
    before = store.snapshot()
    store.add("Pod", [wire(a_pod("p", node="n1", annotations=ALL, volumes=DATA))])
    store.add("Node", [wire(a_node("n1", annotations={DO_NOT_DISRUPT: "true"}))])
    after = store.snapshot()
    assert (of_pods(before), before.nodes.do_not_disrupt.tolist()) == ({"p": NO_VETOES, "q": NO_VETOES}, [False])
    assert (of_pods(after), after.nodes.do_not_disrupt.tolist()) == ({"p": READ, "q": NO_VETOES}, [True])


def test_pods_without_vetoes_share_one_value() -> None:
    store = ClusterStore()
    store.add("Pod", [wire(a_pod(f"p{at}", annotations={"a": str(at)})) for at in range(100)])
    assert store.snapshot().pods.tables.vetoes == [NO_VETOES]


def test_a_snapshot_file_keeps_them(tmp_path: Any) -> None:
    kept, stream = CompactCluster(), io.BytesIO()
    migration = {
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "m", "namespace": "default"},
        "spec": {"vmiName": "vm"},
        "status": {"phase": "Succeeded", "migrationState": {"endTimestamp": "2026-01-01T00:00:00Z"}},
    }
    kept.add("Pod", [wire(a_pod("p", node="n1", annotations=ALL | {"secret": "hunter2"}, volumes=DATA))])
    kept.add(
        "Node", [wire(a_node("n1", annotations={DO_NOT_DISRUPT: "true"}, taints=["karpenter.sh/disrupted:NoSchedule"]))]
    )
    kept.add("VirtualMachineInstanceMigration", [wire(migration)])
    kept.write(stream)
    assert b"hunter2" not in stream.getvalue()
    path = tmp_path / "snapshot.json"
    path.write_bytes(stream.getvalue())
    cluster = load_cluster([str(path)])[0]
    assert (of_pods(cluster), cluster.nodes.do_not_disrupt.tolist()) == ({"p": READ}, [True])
    (found,) = cluster.kind("VirtualMachineInstanceMigration").values()
    assert (found.spec.vmi_name, found.status.migration_state.end_timestamp) == ("vm", "2026-01-01T00:00:00Z")
