"""VolumeRestrictions against the rows S of upstream's tests."""

from __future__ import annotations

import pytest

from builders import a_node, a_pod, a_pv
from restow.cluster.pods import PENDING
from restow.scheduling.plugins.volume_restrictions import VolumeRestrictions
from scheduling.plugins.asking import INCOMING, a_context, codes, pod_index, statuses
from scheduling.plugins.volume_world import bound, incoming, with_claims, with_disk

IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
NODES = (a_node("n1"), a_node("n2"))


def gce(name, *, read_only=False):
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name, *, read_only=False):
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(name, *, read_only=False):
    return {"iscsi": {"iqn": name, "readOnly": read_only}}


def rbd(monitors, pool="p", image="i", *, read_only=False):
    return {"rbd": {"monitors": list(monitors), "pool": pool, "image": image, "readOnly": read_only}}


def asked(*objects):
    context = a_context(*objects)
    return context, VolumeRestrictions(context), pod_index(context)


@pytest.mark.parametrize(
    ("held", "wanted", "expected"),
    [
        pytest.param(gce("foo"), gce("foo"), "U", id="gce-same"),
        pytest.param(gce("foo"), gce("bar"), "OK", id="gce-other"),
        pytest.param(gce("foo", read_only=True), gce("foo"), "U", id="gce-one-writes"),
        pytest.param(gce("foo", read_only=True), gce("foo", read_only=True), "OK", id="S03-gce-both-read"),
        pytest.param(ebs("foo"), ebs("foo"), "U", id="S05-ebs-same"),
        pytest.param(ebs("foo"), ebs("bar"), "OK", id="S05-ebs-other"),
        pytest.param(ebs("foo", read_only=True), ebs("foo", read_only=True), "U", id="S06-ebs-both-read"),
        pytest.param(iscsi("foo"), iscsi("foo"), "U", id="S08-iscsi-same"),
        pytest.param(iscsi("foo"), iscsi("bar"), "OK", id="S08-iscsi-other"),
        pytest.param(iscsi("foo", read_only=True), iscsi("foo", read_only=True), "OK", id="S08-iscsi-both-read"),
        pytest.param(rbd("ab"), rbd("bc"), "U", id="rbd-shared-monitor"),
        pytest.param(rbd("ab"), rbd("cd"), "OK", id="rbd-other-monitors"),
        pytest.param(rbd("a"), rbd("a", pool="q"), "OK", id="rbd-other-pool"),
        pytest.param(rbd("a", read_only=True), rbd("a", read_only=True), "OK", id="rbd-both-read"),
        pytest.param(gce("foo"), iscsi("foo"), "OK", id="other-kinds-of-disk"),
    ],
)
def test_disks_conflict_on_a_node(held, wanted, expected):
    assert (
        codes(*asked(*NODES, with_disk("holder", "n1", **held), with_disk(INCOMING, **wanted)))
        == f"n1:{expected} n2:OK"
    )


def test_a_pod_without_volumes_is_skipped_s01():
    _, plugin, pod = asked(*NODES, a_pod(INCOMING))
    assert plugin.prefilter(pod).skip


def test_a_claim_for_one_pod_rejects_every_node_while_a_pod_holds_it_s09():
    claim = bound("c", "v", access_modes=("ReadWriteOncePod",))
    asking = asked(*NODES, a_pv("v"), claim, with_claims("holder", "c", node="n1"), incoming("c"))
    assert statuses(*asking) == {"n1": ("U", IN_USE), "n2": ("U", IN_USE)}
    context, plugin, pod = asking
    context.state.place(pod_index(context, "holder"), PENDING)
    assert plugin.prefilter(pod).skip


def test_an_ordinary_claim_is_shared():
    _, plugin, pod = asked(*NODES, a_pv("v"), bound("c", "v"), with_claims("holder", "c", node="n1"), incoming("c"))
    assert plugin.prefilter(pod).skip


def test_a_finished_pod_holds_nothing():
    held = with_disk("holder", "n1", **gce("foo")) | {"status": {"phase": "Succeeded"}}
    assert codes(*asked(*NODES, held, with_disk(INCOMING, **gce("foo")))) == "n1:OK n2:OK"


def test_a_missing_claim_rejects_the_pod_s12():
    assert statuses(*asked(*NODES, incoming("c"))) == dict.fromkeys(
        ("n1", "n2"), ("UAU", 'persistentvolumeclaim "c" not found')
    )
