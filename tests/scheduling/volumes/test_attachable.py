"""How volumes of built-in drivers look on nodes where CSI drivers replaced these."""

from __future__ import annotations

import msgspec
import pytest

from builders import ZONE, a_node, a_pv, node_term
from cluster.test_state import node_row
from restow.kube.objects import KINDS
from restow.scheduling.plugins.volume_binding import VolumeBinding
from restow.scheduling.volumes.attachable import translated
from scheduling.plugins.asking import a_context, codes, pod_index
from scheduling.plugins.volume_world import bound, incoming

BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
REGION, GKE = "topology.kubernetes.io/region", "topology.gke.io/zone"


def a_disk(*requirements, labels=None, terms=1):
    """A built-in disk with a node affinity of this many equal terms."""
    volume = a_pv("v")
    del volume["spec"]["csi"]
    volume["metadata"]["labels"] = labels or {}
    volume["spec"]["gcePersistentDisk"] = {"pdName": "d"}
    if requirements:
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [node_term(*requirements)] * terms}}
    return volume


def seen(volume):
    """The requirements of each term."""
    decoded = msgspec.json.decode(msgspec.json.encode(volume), type=KINDS["PersistentVolume"])
    selector = translated(decoded, GKE)
    terms = selector.node_selector_terms if selector else ()
    return [[(each.key, *each.values) for each in term.match_expressions] for term in terms]


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param(a_disk((ZONE, "In", "a")), [[(GKE, "a")]], id="zone"),
        pytest.param(a_disk((BETA_ZONE, "In", "a")), [[(GKE, "a")]], id="beta-zone"),
        pytest.param(a_disk((ZONE, "In", "a"), terms=2), [[(GKE, "a")]] * 2, id="every-term"),
        pytest.param(
            a_disk((BETA_ZONE, "In", "a"), (BETA_REGION, "In", "r")), [[(GKE, "a"), (REGION, "r")]], id="beta-region"
        ),
        pytest.param(
            a_disk((ZONE, "In", "a"), (BETA_REGION, "In", "r")), [[(GKE, "a"), (BETA_REGION, "r")]], id="mixed"
        ),
        pytest.param(a_disk(labels={ZONE: "b__a"}), [[(GKE, "a", "b")]], id="labels"),
        pytest.param(a_disk(("disk", "In", "ssd"), labels={ZONE: "a"}), [[("disk", "ssd"), (GKE, "a")]], id="both"),
        pytest.param(a_disk((ZONE, "In", "a"), labels={ZONE: "b"}), [[(GKE, "a")]], id="affinity-first"),
        pytest.param(a_disk(), [], id="nowhere"),
    ],
)
def test_the_zone_is_told_by_the_label_of_the_successor(volume, expected) -> None:
    assert seen(volume) == expected


def csi_node(name, *replaced):
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(replaced)}
    return {"kind": "CSINode", "metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": []}}


def test_only_nodes_where_the_driver_was_replaced_go_by_its_label() -> None:
    nodes = [a_node("n1", labels={ZONE: "a"}), a_node("n2", labels={ZONE: "a"}), a_node("n3", labels={GKE: "a"})]
    replaced = [csi_node("n2", "kubernetes.io/aws-ebs"), csi_node("n3", "kubernetes.io/gce-pd")]
    context = a_context(*nodes, *replaced, a_disk((ZONE, "In", "a")), bound("c", "v"), incoming("c"))
    assert codes(context, VolumeBinding(context), pod_index(context)) == "n1:OK n2:OK n3:OK"
    context = a_context(
        *nodes, csi_node("n1", "kubernetes.io/gce-pd"), a_disk((ZONE, "In", "a")), bound("c", "v"), incoming("c")
    )
    assert codes(context, VolumeBinding(context), pod_index(context)) == "n1:UAU n2:OK n3:UAU"


def test_where_drivers_were_replaced_is_known_of_nodes_that_come() -> None:
    """A node that comes first moves the others; its own CSINode counts once it is there."""
    nodes = [a_node(name, labels={ZONE: "a"}) for name in ("n1", "n2")]
    replaced = [csi_node(name, "kubernetes.io/gce-pd") for name in ("n0", "n2")]
    context = a_context(*nodes, *replaced, a_disk((ZONE, "In", "a")), bound("c", "v"), incoming("c"))
    plugin, pod = VolumeBinding(context), pod_index(context)
    assert codes(context, plugin, pod) == "n1:OK n2:UAU"
    context.state.create_node(node_row(a_node("n0", labels={ZONE: "a"})))
    assert codes(context, plugin, pod) == "n0:UAU n1:OK n2:UAU"
