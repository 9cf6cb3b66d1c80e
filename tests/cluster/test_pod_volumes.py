"""The volumes of pods that matter to scheduling."""

from __future__ import annotations

import pytest

from builders import EMPTY_DIR, HOST_PATH, a_pod, claim_volume
from descheduling.harness import a_cluster
from restow.cluster.pod_values import PodVolume
from restow.kube.objects import AWSElasticBlockStore, GCEPersistentDisk, ISCSIVolume, RBDVolume

GCE = {"name": "d", "gcePersistentDisk": {"pdName": "g", "readOnly": True, "fsType": "ext4"}}
EBS = {"name": "d", "awsElasticBlockStore": {"volumeID": "v"}}
ISCSI = {"name": "d", "iscsi": {"iqn": "q", "lun": 0}}
RBD = {"name": "d", "rbd": {"monitors": ["a"], "pool": "p", "image": "i"}}


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([claim_volume("a"), claim_volume("b")], (PodVolume("a"), PodVolume("b")), id="claims-in-order"),
        pytest.param(
            [{"name": "e", "ephemeral": {}}], (PodVolume("p-e", ephemeral=True),), id="claim-of-an-ephemeral-volume"
        ),
        pytest.param([GCE], (PodVolume(disk=GCEPersistentDisk("g", read_only=True)),), id="gce"),
        pytest.param([EBS], (PodVolume(disk=AWSElasticBlockStore("v")),), id="ebs"),
        pytest.param([ISCSI], (PodVolume(disk=ISCSIVolume("q")),), id="iscsi"),
        pytest.param([RBD], (PodVolume(disk=RBDVolume(("a",), "p", "i")),), id="rbd"),
        pytest.param([EMPTY_DIR, HOST_PATH, {"name": "t", "projected": {}}], (), id="nothing-that-matters"),
    ],
)
def test_volumes_of_a_pod(volumes, expected):
    pods = a_cluster(a_pod("p", volumes=volumes)).pods
    assert pods.tables.volumes[pods.volumes[0]] == expected


def test_equal_volumes_of_pods_are_one_entry():
    pods = a_cluster(*(a_pod(name, volumes=[claim_volume("a")]) for name in ("p", "q"))).pods
    assert pods.volumes.tolist() == [0, 0]
