"""VolumeZone against the rows R of upstream's tests."""

from __future__ import annotations

import pytest

from builders import ZONE, a_node, a_pod, a_pvc, a_storage_class
from restow.scheduling.plugins.volume_zone import VolumeZone
from scheduling.plugins.asking import INCOMING, a_context, codes, pod_index
from scheduling.plugins.volume_world import bound, incoming, labelled

REGION = "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def asked(*objects):
    context = a_context(*objects)
    return context, VolumeZone(context), pod_index(context)


@pytest.mark.parametrize(
    ("volume", "node", "expected"),
    [
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "a"}, "OK", id="R03"),
        pytest.param({BETA_REGION: "w1"}, {BETA_REGION: "w1"}, "OK", id="R05-same"),
        pytest.param({BETA_REGION: "w1"}, {BETA_REGION: "other"}, "UAU", id="R05-other"),
        pytest.param({ZONE: "a"}, {ZONE: "a"}, "OK", id="R06-same"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, "UAU", id="R06-other"),
        pytest.param({ZONE: "a"}, {}, "OK", id="node-without-any-zone"),
        pytest.param({ZONE: "a", REGION: "a"}, {ZONE: "a"}, "UAU", id="R08"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, "UAU", id="R09-not-the-other-way-round"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, "OK", id="R10-same"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "b"}, "UAU", id="R10-other"),
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, "UAU", id="own-beta-label-goes-first"),
        pytest.param({ZONE: "c__a"}, {ZONE: "a"}, "OK", id="R12-one-of-several"),
        pytest.param({ZONE: "c__a"}, {ZONE: "b"}, "UAU", id="R12-none-of-several"),
    ],
)
def test_labels_of_a_volume_must_match_those_of_the_node(volume, node, expected):
    cluster = [a_node("n1", labels=node), labelled("v", volume), bound("c", "v"), incoming("c")]
    assert codes(*asked(*cluster)) == f"n1:{expected}"


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([a_pod(INCOMING)], id="R01-no-volumes"),
        pytest.param(
            [
                a_storage_class("later", binding="WaitForFirstConsumer"),
                a_pvc("c", storage_class="later"),
                incoming("c"),
            ],
            id="R16-waits-for-its-first-consumer",
        ),
        pytest.param([labelled("v", {"disk": "fast"}), bound("c", "v"), incoming("c")], id="R17-unrelated-labels"),
        pytest.param([labelled("v", {ZONE: "a__"}), bound("c", "v"), incoming("c")], id="malformed-label"),
    ],
)
def test_pods_are_skipped_whose_volumes_are_anywhere(objects):
    _, plugin, pod = asked(a_node("n1"), *objects)
    assert plugin.prefilter(pod).skip


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param([], 'persistentvolumeclaim "c" not found', id="no-claim"),
        pytest.param([a_pvc("c")], "PersistentVolumeClaim had no pv name and storageClass name", id="R13-no-class"),
        pytest.param([a_pvc("c", storage_class="gone")], 'storageclass.storage.k8s.io "gone" not found', id="R14"),
        pytest.param(
            [a_pvc("c", storage_class="odd"), {"kind": "StorageClass", "metadata": {"name": "odd"}}],
            'VolumeBindingMode not set for StorageClass "odd"',
            id="R15-no-binding-mode",
        ),
        pytest.param(
            [a_pvc("c", storage_class="now"), a_storage_class("now")],
            "PersistentVolume had no name",
            id="unbound-immediate",
        ),
        pytest.param([bound("c", "gone")], 'persistentvolume "gone" not found', id="T12-no-volume"),
    ],
)
def test_a_claim_that_leads_nowhere_rejects_the_pod(objects, reason):
    _, plugin, pod = asked(a_node("n1"), *objects, incoming("c"))
    failure = plugin.prefilter(pod).failure
    assert (failure.reasons, failure.unresolvable) == ((reason,), True)
