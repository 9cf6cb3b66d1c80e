"""Which changes help pods that plugins of volumes rejected, after the tables of upstream's own tests of their hints."""

from __future__ import annotations

from functools import partial

import pytest

from builders import a_node, a_pod, a_pv, a_pvc, a_storage_class, claim_volume
from restow.scheduling.plugins import node_volume_limits, volume_binding, volume_restrictions, volume_zone
from scheduling.plugins.hinting import helped, nominated
from scheduling.plugins.volume_world import attachment, csi_driver, csi_node, labelled

BETA, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
EBS, GCE = "ebs.csi.aws.com", "pd.csi.storage.gke.io"

pod = partial(a_pod, "pod-a")
other = partial(a_pod, "other")


def ephemeral(*names):
    return [{"name": name, "ephemeral": {}} for name in names]


def claims(*names):
    return [claim_volume(name) for name in names]


def disk(field, **source):
    return [{"name": "disk", field: source}]


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        ("foo", "foo", True),
        ("foo", "bar", False),
    ],
)
@pytest.mark.parametrize(
    "volume",
    [
        pytest.param(lambda name: disk("gcePersistentDisk", pdName=name), id="gce"),
        pytest.param(lambda name: disk("awsElasticBlockStore", volumeID=name), id="aws"),
        pytest.param(lambda name: disk("iscsi", iqn=name), id="iscsi"),
        pytest.param(lambda name: disk("rbd", monitors=[name, "x" + name], pool="foo", image="bar"), id="rbd"),
        pytest.param(claims, id="claim"),
    ],
)
def test_volume_restrictions_when_a_pod_goes(volume, mine, theirs, expected):
    waiting, gone = pod(volumes=volume(mine)), other(volumes=volume(theirs), node="fake-node")
    assert helped(volume_restrictions.PLUGIN, waiting, gone) is expected


TWO_CLAIMS = pod(volumes=claims("pvc-a", "pvc-b"))
TWO_EPHEMERAL = pod(volumes=ephemeral("ephemeral-a", "ephemeral-b"))


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(TWO_CLAIMS, None, a_pvc("pvc-a"), True, id="claim-of-the-pod"),
        pytest.param(TWO_CLAIMS, None, a_pvc("pvc-c"), False, id="claim-of-others"),
        pytest.param(TWO_CLAIMS, None, a_pvc("pvc-a", namespace="kube-system"), False, id="another-namespace"),
        pytest.param(TWO_EPHEMERAL, None, a_pvc("pod-a-ephemeral-a"), False, id="ephemeral"),
        pytest.param(TWO_CLAIMS, a_pvc("pvc-a"), a_pvc("pvc-a", volume="v"), False, id="update"),
        pytest.param(TWO_CLAIMS, None, a_node("n"), True, id="node-added"),
        pytest.param(
            pod(volumes=claims("c")),
            other(volumes=claims("c"), namespace="elsewhere", node="fake-node"),
            None,
            False,
            id="the-same-name-elsewhere",
        ),
    ],
)
def test_volume_restrictions(waiting, old, new, expected):
    assert helped(volume_restrictions.PLUGIN, waiting, old, new) is expected


AWS_DISK = disk("awsElasticBlockStore", volumeID="test")
GCE_DISK = disk("gcePersistentDisk", pdName="test")


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        pytest.param(other(volumes=claims("placeholder"), node="fake-node"), True, id="claim"),
        pytest.param(other(volumes=AWS_DISK, node="fake-node"), True, id="inline-migratable"),
        pytest.param(other(volumes=disk("iscsi", iqn="i"), node="fake-node"), False, id="inline-not-migratable"),
        pytest.param(other(node="fake-node"), False, id="no-volume"),
        pytest.param(other(volumes=claims("c")), False, id="not-scheduled"),
        pytest.param(nominated(other(volumes=ephemeral("e"))), True, id="nominated-ephemeral"),
    ],
)
def test_node_volume_limits_when_a_pod_goes(gone, expected):
    assert helped(node_volume_limits.PLUGIN, pod(volumes=claims("csi-2")), gone) is expected


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(pod(namespace="ns1"), None, a_pvc("c", namespace="ns2"), False, id="another-namespace"),
        pytest.param(
            pod(namespace="ns1", volumes=claims("c")), None, a_pvc("c", namespace="ns1"), True, id="claim-of-the-pod"
        ),
        pytest.param(TWO_EPHEMERAL, None, a_pvc("pod-a-ephemeral-a"), True, id="ephemeral"),
        pytest.param(pod(volumes=claims("c")), None, a_pvc("d"), False, id="another-claim"),
        pytest.param(pod(), None, a_pvc("d"), False, id="no-claim"),
        pytest.param(pod(volumes=claims("c")), attachment("a", "n", "pv1", "test"), None, True, id="detached-claim"),
        pytest.param(pod(volumes=AWS_DISK), attachment("a", "n", "v", EBS), None, True, id="detached-of-its-driver"),
        pytest.param(pod(volumes=GCE_DISK), attachment("a", "n", "v", EBS), None, False, id="detached-of-another"),
        pytest.param(
            pod(volumes=[*AWS_DISK, *claims("c")]), attachment("a", "n", "v", EBS), None, True, id="disk-and-claim"
        ),
        pytest.param(pod(), attachment("a", "n", "v", EBS), None, False, id="detached-no-claim"),
        pytest.param(pod(), None, csi_node("n", EBS, 1), True, id="csinode-added"),
        pytest.param(pod(), csi_node("n", EBS, 1), csi_node("n", EBS, 2), True, id="limit-raised"),
        pytest.param(pod(), csi_node("n", EBS, 2), csi_node("n", EBS, 1), False, id="limit-decreased"),
        pytest.param(pod(), csi_node("n", EBS, 1), csi_node("n", EBS, 1), False, id="limit-unchanged"),
        pytest.param(pod(), csi_node("n", EBS, 1), csi_node("n", GCE, 1), True, id="another-driver"),
    ],
)
def test_node_volume_limits(waiting, old, new, expected):
    assert helped(node_volume_limits.PLUGIN, waiting, old, new) is expected


def migrated(plugins):
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": plugins}
    return {"kind": "CSINode", "metadata": {"name": "n", "annotations": annotations}}


def capacity(size=None, largest=None):
    amounts = {name: text for name, text in (("capacity", size), ("maximumVolumeSize", largest)) if text}
    return {"kind": "CSIStorageCapacity", "metadata": {"name": "cap-a"}} | amounts


def reaching(*nodes):
    terms = [{"matchLabelExpressions": [{"key": "kubernetes.io/hostname", "values": list(nodes)}]}] if nodes else None
    return a_storage_class("sc-a") | ({"allowedTopologies": terms} if terms else {})


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(pod(), None, migrated("test1"), True, id="csinode-added"),
        pytest.param(pod(), migrated("test1"), migrated("test1, test2"), True, id="migrated-plugin-added"),
        pytest.param(pod(), migrated("test1"), migrated("test2"), True, id="migrated-plugin-changed"),
        pytest.param(pod(), migrated("test1"), migrated("test1"), False, id="migrated-plugins-unchanged"),
        pytest.param(pod(), a_pvc("pvc-b"), a_pvc("pvc-b"), False, id="no-claim"),
        pytest.param(TWO_CLAIMS, None, a_pvc("pvc-b", namespace="ns-a"), False, id="claim-in-another-namespace"),
        pytest.param(TWO_CLAIMS, a_pvc("pvc-c"), a_pvc("pvc-c"), False, id="claim-of-others"),
        pytest.param(
            TWO_EPHEMERAL, a_pvc("pod-a-ephemeral-c"), a_pvc("pod-a-ephemeral-c"), False, id="ephemeral-of-others"
        ),
        pytest.param(TWO_CLAIMS, a_pvc("pvc-b"), a_pvc("pvc-b"), True, id="claim-of-the-pod"),
        pytest.param(
            TWO_EPHEMERAL, a_pvc("pod-a-ephemeral-b"), a_pvc("pod-a-ephemeral-b"), True, id="ephemeral-of-the-pod"
        ),
        pytest.param(pod(), None, reaching(), True, id="class-added"),
        pytest.param(pod(), reaching(), reaching("node-a"), True, id="class-reaches-elsewhere"),
        pytest.param(pod(), reaching(), reaching(), False, id="class-unchanged"),
        pytest.param(pod(), None, capacity(), True, id="capacity-added"),
        pytest.param(pod(), capacity(), capacity("100"), True, id="capacity-set"),
        pytest.param(pod(), capacity(), capacity(largest="100"), True, id="largest-set"),
        pytest.param(pod(), capacity("50"), capacity("100"), True, id="capacity-grows"),
        pytest.param(pod(), capacity("100", "50"), capacity("100"), True, id="largest-unset"),
        pytest.param(pod(), capacity("100", "50"), capacity("100", "60"), True, id="largest-grows"),
        pytest.param(pod(), capacity("100", "50"), capacity("100", "50"), False, id="capacity-unchanged"),
        pytest.param(pod(), capacity("100"), capacity("100"), False, id="capacity-equal"),
        pytest.param(pod(), capacity("100", "50"), capacity("50"), False, id="limit-equal"),
        pytest.param(pod(), capacity("100"), capacity("90"), False, id="capacity-shrinks"),
        pytest.param(pod(), capacity(largest="100"), capacity(largest="90"), False, id="largest-shrinks"),
        pytest.param(
            pod(), csi_driver("d", tells_capacity=None), csi_driver("d", tells_capacity=True), False, id="driver-begins"
        ),
        pytest.param(
            pod(), csi_driver("d", tells_capacity=False), csi_driver("d", tells_capacity=None), False, id="driver-never"
        ),
        pytest.param(
            pod(), csi_driver("d", tells_capacity=True), csi_driver("d", tells_capacity=None), True, id="driver-ends"
        ),
        pytest.param(pod(), None, a_pv("v"), True, id="volume-added"),
        pytest.param(pod(), a_pv("v"), a_pv("v", zone="a"), True, id="volume-changes"),
        pytest.param(pod(), a_pv("v"), None, False, id="volume-deleted"),
        pytest.param(pod(), None, a_node("n"), True, id="node-added"),
        pytest.param(pod(), a_node("n"), a_node("n", labels={"a": "b"}), True, id="node-label"),
        pytest.param(pod(), a_node("n"), a_node("n", cpu="8"), False, id="node-allocatable"),
    ],
)
def test_volume_binding(waiting, old, new, expected):
    assert helped(volume_binding.PLUGIN, waiting, old, new) is expected


CLAIMS = pod(volumes=claims("PVC_1"))


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(pod(), None, a_pvc("PVC_1"), False, id="pod-refers-no-pvc"),
        pytest.param(pod(volumes=claims("PVC_2")), None, a_pvc("PVC_1"), False, id="different-pvc"),
        pytest.param(CLAIMS, None, a_pvc("PVC_1", namespace="ns1"), False, id="different-namespace"),
        pytest.param(CLAIMS, None, a_pvc("PVC_1", volume="v"), True, id="pvc-added"),
        pytest.param(CLAIMS, a_pvc("PVC_1"), a_pvc("PVC_1", volume="v"), True, id="pvc-updated"),
        pytest.param(pod(), a_pvc("PVC_1"), a_pvc("PVC_1", volume="v"), False, id="pvc-updated-of-others"),
        pytest.param(TWO_EPHEMERAL, None, a_pvc("pod-a-ephemeral-a"), False, id="ephemeral"),
        pytest.param(CLAIMS, None, a_storage_class("sc"), False, id="class-that-binds-at-once"),
        pytest.param(CLAIMS, None, a_storage_class("sc", binding="WaitForFirstConsumer"), True, id="class-that-waits"),
        pytest.param(CLAIMS, None, labelled("Vol_1", {BETA: "us-west1-b"}), True, id="new-pv"),
        pytest.param(CLAIMS, labelled("v", {BETA: "a"}), labelled("v", {BETA: "b"}), True, id="pv-topology-changed"),
        pytest.param(
            CLAIMS, labelled("v", {BETA: "a"}), labelled("v", {BETA: "a", ZONE: "z"}), True, id="pv-topology-added"
        ),
        pytest.param(
            CLAIMS,
            labelled("v", {BETA: "a", ZONE: "z"}),
            labelled("v", {BETA: "a", ZONE: "z", "other": "label"}),
            False,
            id="pv-topology-unchanged",
        ),
        pytest.param(CLAIMS, None, a_node("n"), True, id="node-added"),
    ],
)
def test_volume_zone(waiting, old, new, expected):
    assert helped(volume_zone.PLUGIN, waiting, old, new) is expected
