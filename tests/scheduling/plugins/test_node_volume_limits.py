"""NodeVolumeLimits: the rows T02 and T07, and what counts as a volume."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node, a_pod, a_pv, a_pvc, a_storage_class
from restow.scheduling.plugins.node_volume_limits import NodeVolumeLimits
from scheduling.plugins.asking import INCOMING, a_context, codes, pod_index, statuses
from scheduling.plugins.volume_world import attachment, bound, csi_node, incoming, with_claims, with_disk
from scheduling.random_scenes import Changes, Scene

DRIVER = "csi.example.com"
EBS = "ebs.csi.aws.com"


def volumes(*names):
    """A bound claim for each volume, of the same name."""
    return [made for name in names for made in (a_pv(name), bound(name, name))]


def asked(*objects):
    context = a_context(a_node("n1"), a_node("n2"), *objects)
    return context, NodeVolumeLimits(context), pod_index(context)


def test_a_node_attaches_no_more_than_its_limit_t02():
    cluster = [csi_node("n1", DRIVER, 2), *volumes("h1", "h2", "h3"), with_claims("u", "h1", "h2", node="n1")]
    assert statuses(*asked(*cluster, incoming("h3"))) == {
        "n1": ("U", "node(s) exceed max volume count"),
        "n2": ("OK",),
    }


def test_a_volume_counts_once_however_many_pods_use_it_t07():
    users = [with_claims("a", "h1", node="n1"), with_claims("b", "h1", node="n1")]
    cluster = [csi_node("n1", DRIVER, 2), *volumes("h1", "h2"), *users]
    assert codes(*asked(*cluster, incoming("h2"))) == "n1:OK n2:OK"


@pytest.mark.parametrize(
    ("extra", "pod", "expected"),
    [
        pytest.param([with_claims("u", "h1", node="n1")], incoming("h1"), "OK", id="attached-by-a-pod-already"),
        pytest.param([attachment("a", "n1", "h2", DRIVER)], incoming("h1"), "U", id="attachment-of-another-volume"),
        pytest.param([attachment("a", "n1", "h1", DRIVER)], incoming("h1"), "U", id="own-attachment-counts-twice"),
        pytest.param([attachment("a", "n2", "h2", DRIVER)], incoming("h1"), "OK", id="attachment-elsewhere"),
        pytest.param([attachment("a", "n1", "gone", DRIVER)], incoming("h1"), "OK", id="attachment-of-no-volume"),
        pytest.param([with_claims("u", "gone", node="n1")], incoming("h1"), "OK", id="missing-claim-of-a-pod"),
        pytest.param([], incoming("h1", "h2"), "U", id="two-new-volumes"),
        pytest.param(
            [a_storage_class("s"), a_pvc("c1", storage_class="s"), a_pvc("c2", storage_class="s")],
            incoming("c1", "c2"),
            "U",
            id="volumes-still-to-be-made",
        ),
        pytest.param([a_pvc("c1"), a_pvc("c2")], incoming("c1", "c2"), "OK", id="claims-without-class"),
    ],
)
def test_new_and_attached_volumes_are_added_up(extra, pod, expected):
    cluster = [csi_node("n1", DRIVER, 1), *volumes("h1", "h2"), *extra]
    assert codes(*asked(*cluster, pod)) == f"n1:{expected} n2:OK"


def test_built_in_disks_count_as_volumes_of_the_driver_that_replaced_theirs():
    disks = [{"awsElasticBlockStore": {"volumeID": name}} for name in ("aws://zone/vol-1", "vol-1", "vol-2")]
    cluster = [csi_node("n1", EBS, 1), with_disk("u", "n1", **disks[0])]
    assert codes(*asked(*cluster, with_disk(INCOMING, **disks[1]))) == "n1:OK n2:OK"
    assert codes(*asked(*cluster, with_disk(INCOMING, **disks[2]))) == "n1:U n2:OK"


def test_counts_follow_the_state():
    cluster = [csi_node("n1", DRIVER, 1), *volumes("h1", "h2"), with_claims("u", "h1", node="n1"), incoming("h2")]
    context, plugin, pod = asked(*cluster)
    assert codes(context, plugin, pod) == "n1:U n2:OK"
    mark = context.state.checkpoint()
    context.state.remove(pod_index(context, "u"))
    assert codes(context, plugin, pod) == "n1:OK n2:OK"
    context.state.undo(mark)
    assert codes(context, plugin, pod) == "n1:U n2:OK"


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(INCOMING), id="no-volumes"),
        pytest.param(with_disk(INCOMING, iscsi={"iqn": "a"}), id="a-disk-that-no-driver-attaches"),
    ],
)
def test_pods_are_skipped_that_attach_nothing(pod):
    _, plugin, index = asked(pod)
    assert plugin.prefilter(index).skip


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_all_nodes_at_once_are_counted_as_one_after_the_other(seed):
    """Pods that are gone, over or elsewhere count nowhere, and a volume that is attached to a node counts there once."""
    names = ("free0", "free1", "of-p0-1", "default-s1")
    attached = [attachment(f"a{number}", f"n{number % 4 + 1}", name, DRIVER) for number, name in enumerate(names)]
    context = a_context(*Scene(seed).objects(), *attached)
    state = context.state
    plugin, changes = NodeVolumeLimits(context), Changes(state, Random(seed), list(range(len(state.exists))))
    for _ in range(20):
        changes.once()
    for driver in (DRIVER, "pd.csi.storage.gke.io"):
        expected = [len(plugin._volumes_on(node, driver)) for node in range(len(state.cluster.nodes))]
        assert plugin._count_everywhere(driver).tolist() == expected
