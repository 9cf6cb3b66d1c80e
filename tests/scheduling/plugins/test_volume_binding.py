"""VolumeBinding: the rows T10 to T18, and what a scheduled pod reserves."""

from __future__ import annotations

import pytest

from builders import HOSTNAME, ZONE, a_node, a_pod, a_pv, a_pvc, a_storage_class, node_term, selector
from restow.scheduling.plugins.volume_binding import VolumeBinding
from scheduling.plugins.asking import INCOMING, a_context, codes, node_indices, pod_index, statuses
from scheduling.plugins.volume_world import available, bound, capacity, csi_driver, incoming, with_claims

LATER = "WaitForFirstConsumer"
LOCAL = a_storage_class("local", provisioner="kubernetes.io/no-provisioner", binding=LATER)
MAKES = a_storage_class("makes", binding=LATER)
NODES = [a_node(name, labels={HOSTNAME: name, ZONE: zone}) for name, zone in (("n1", "a"), ("n2", "b"))]
AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
NONE_FOUND = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"


def asked(*objects):
    context = a_context(*NODES, *objects)
    return context, VolumeBinding(context), pod_index(context)


def on_host(volume, *nodes):
    terms = {"nodeSelectorTerms": [node_term((HOSTNAME, "In", *nodes))]}
    return volume | {"spec": volume["spec"] | {"nodeAffinity": {"required": terms}}}


def changed(thing, *, spec=None, status=None, **metadata):
    """An object with other fields."""
    meta, old = thing["metadata"] | metadata, thing.get("spec", {})
    return thing | {"metadata": meta, "spec": old | (spec or {}), "status": status or thing.get("status", {})}


def ephemeral(owner=INCOMING):
    """A pod with a generic ephemeral volume, and its claim."""
    pod = a_pod(INCOMING, volumes=[{"name": "e", "ephemeral": {}}])
    reference = {"kind": "Pod", "name": owner, "uid": a_pod(owner)["metadata"]["uid"], "controller": True}
    return pod, changed(bound(f"{INCOMING}-e", "v"), ownerReferences=[reference])


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param([incoming("c")], 'persistentvolumeclaim "c" not found', id="missing"),
        pytest.param(
            [ephemeral()[0]],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "incoming-e"',
            id="ephemeral-missing",
        ),
        pytest.param(
            [*ephemeral("other")],
            "PVC default/incoming-e was not created for pod default/incoming (pod is not owner)",
            id="ephemeral-of-another-pod",
        ),
        pytest.param(
            [changed(a_pvc("c", volume="v"), status={"phase": "Lost"}), incoming("c")],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="lost",
        ),
        pytest.param(
            [changed(bound("c", "v"), deletionTimestamp="2026-01-01T00:00:00Z"), incoming("c")],
            'persistentvolumeclaim "c" is being deleted',
            id="deleted",
        ),
        pytest.param(
            [a_storage_class("now"), a_pvc("c", storage_class="now"), incoming("c")],
            "pod has unbound immediate PersistentVolumeClaims",
            id="T10-unbound-immediate",
        ),
        pytest.param(
            [LOCAL, a_pvc("c", storage_class="local", volume="v"), incoming("c")],
            "pod has unbound immediate PersistentVolumeClaims",
            id="bound-but-not-completed",
        ),
    ],
)
def test_pods_wait_for_their_claims(objects, reason):
    assert statuses(*asked(*objects)) == dict.fromkeys(("n1", "n2"), ("UAU", reason))


def test_a_pod_without_claims_is_skipped():
    _, plugin, pod = asked(a_pod(INCOMING))
    assert plugin.prefilter(pod).skip


def test_a_bound_volume_ties_the_pod_to_the_nodes_that_reach_it_t11():
    asking = asked(on_host(a_pv("v"), "n1"), bound("c", "v"), incoming("c"))
    assert statuses(*asking) == {"n1": ("OK",), "n2": ("UAU", AFFINITY)}


def test_a_bound_volume_that_is_gone_rejects_every_node_t12():
    gone = ("UAU", "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
    assert statuses(*asked(*ephemeral())) == {"n1": gone, "n2": gone}


def test_the_smallest_volume_goes_to_the_smallest_claim_t15():
    offered = [on_host(available(f"v{size}", storage_class="local", size=f"{size}Gi"), "n1") for size in (10, 5)]
    claims = [a_pvc(f"c{size}", storage_class="local", size=f"{size}Gi") for size in (8, 5)]
    asking = asked(LOCAL, *offered, *claims, incoming("c8", "c5"))
    assert statuses(*asking) == {"n1": ("OK",), "n2": ("UAU", NONE_FOUND)}


@pytest.mark.parametrize(
    ("volume", "claim", "expected"),
    [
        pytest.param({}, {}, "OK", id="fits"),
        pytest.param({"capacity": {"storage": "1Mi"}}, {}, "UAU", id="too-small"),
        pytest.param({"volumeMode": "Block"}, {}, "UAU", id="another-mode"),
        pytest.param({"volumeMode": "Filesystem"}, {}, "OK", id="the-mode-by-default"),
        pytest.param({"volumeAttributesClassName": "fast"}, {}, "UAU", id="another-attributes-class"),
        pytest.param({}, {"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}, "UAU", id="missing-access-mode"),
        pytest.param({}, {"selector": selector(("disk", "Exists"))}, "UAU", id="not-selected"),
        pytest.param({"claimRef": {"namespace": "default", "name": "other"}}, {}, "UAU", id="taken"),
        pytest.param({"claimRef": {"namespace": "default", "name": "c"}}, {}, "OK", id="reserved-for-the-claim"),
        pytest.param(
            {"claimRef": {"namespace": "default", "name": "c", "uid": "old"}},
            {},
            "UAU",
            id="reserved-for-an-earlier-claim-of-the-name",
        ),
        pytest.param({"storageClassName": "makes"}, {}, "UAU", id="another-class"),
    ],
)
def test_a_claim_takes_only_a_volume_that_suits_it(volume, claim, expected):
    offered = changed(available("v", storage_class="local"), spec=volume)
    wanted = changed(a_pvc("c", storage_class="local"), spec=claim)
    assert codes(*asked(LOCAL, MAKES, offered, wanted, incoming("c"))) == f"n1:{expected} n2:{expected}"


def test_a_volume_that_is_reserved_for_a_claim_decides_alone():
    reserved = on_host(available("v1", storage_class="local"), "n1")
    reserved = changed(reserved, spec={"claimRef": {"namespace": "default", "name": "c"}})
    free = available("v2", storage_class="local")
    assert codes(*asked(LOCAL, reserved, free, a_pvc("c", storage_class="local"), incoming("c"))) == "n1:OK n2:UAU"


def test_a_node_that_was_selected_for_a_claim_is_the_only_one_t16():
    claim = changed(a_pvc("c", storage_class="makes"), annotations={"volume.kubernetes.io/selected-node": "n2"})
    assert statuses(*asked(MAKES, claim, incoming("c"))) == {"n1": ("UAU", NONE_FOUND), "n2": ("OK",)}


def test_volumes_are_made_where_the_class_allows_it_t17():
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
    cluster = [MAKES | {"allowedTopologies": allowed}, a_pvc("c", storage_class="makes"), incoming("c")]
    assert statuses(*asked(*cluster)) == {"n1": ("OK",), "n2": ("UAU", NONE_FOUND)}


@pytest.mark.parametrize(
    ("tells", "more", "expected"),
    [
        pytest.param(True, {}, {"n1": ("UAU", NO_SPACE), "n2": ("OK",)}, id="T18"),
        pytest.param(True, {"maximumVolumeSize": "10Gi"}, {"n1": ("OK",), "n2": ("OK",)}, id="largest-volume-counts"),
        pytest.param(False, {}, {"n1": ("OK",), "n2": ("OK",)}, id="driver-does-not-tell"),
    ],
)
def test_volumes_are_made_where_there_is_room(tells, more, expected):
    rooms = [capacity("a", "makes", "a", "5Gi", **more), capacity("b", "makes", "b", "50Gi")]
    driver = csi_driver("csi.example.com", tells_capacity=tells)
    asking = asked(MAKES, driver, *rooms, a_pvc("c", storage_class="makes", size="10Gi"), incoming("c"))
    assert statuses(*asking) == expected


def test_both_a_bound_and_an_unbound_claim_give_their_reason():
    cluster = [on_host(a_pv("v"), "n2"), bound("b", "v"), LOCAL, a_pvc("c", storage_class="local"), incoming("b", "c")]
    assert statuses(*asked(*cluster))["n1"] == ("UAU", AFFINITY, NONE_FOUND)


def test_a_claim_that_is_named_twice_takes_a_volume_and_has_another_made():
    objects = [MAKES, available("v", storage_class="makes"), a_pvc("c", storage_class="makes")]
    context, plugin, pod = asked(*objects, incoming("c"), with_claims("first", "c", "c"))
    assert codes(context, plugin, pod) == "n1:OK n2:OK"
    context.state.place(pod_index(context, "first"), 0)
    assert codes(context, plugin, pod) == "n1:OK n2:UAU"


def test_a_scheduled_pod_reserves_the_volume_that_it_takes():
    claims = [a_pvc(name, storage_class="local") for name in ("c", "d")]
    pods = [incoming("c"), with_claims("first", "d"), with_claims("second", "d")]
    context, plugin, pod = asked(LOCAL, available("v", storage_class="local"), *claims, *pods)
    mark = context.state.checkpoint()
    context.state.place(pod_index(context, "first"), int(node_indices(context, ["n1"])[0]))
    assert codes(context, plugin, pod) == "n1:UAU n2:UAU"
    assert codes(context, plugin, pod_index(context, "second")) == "n1:OK n2:OK"
    context.state.undo(mark)
    assert codes(context, plugin, pod) == "n1:OK n2:OK"


def test_a_scheduled_pod_selects_the_node_where_its_volume_is_made():
    context, plugin, pod = asked(MAKES, a_pvc("c", storage_class="makes"), incoming("c"), with_claims("first", "c"))
    context.state.place(pod_index(context, "first"), int(node_indices(context, ["n2"])[0]))
    assert codes(context, plugin, pod) == "n1:UAU n2:OK"


def test_what_is_taken_back_leaves_every_volume_with_the_claim_that_had_it():
    """Two pods leave and come back in the opposite order; each has its own volume again."""
    volumes = [available(f"v{size}", storage_class="local", size=f"{size}Gi") for size in (5, 10)]
    claims = [a_pvc("large", storage_class="local", size="8Gi"), *(a_pvc(name, storage_class="local") for name in "cd")]
    pods = [with_claims("small", "c"), with_claims("wasteful", "d"), incoming("large")]
    context, plugin, pod = asked(LOCAL, *volumes, *claims, *pods)
    for name in ("small", "wasteful"):
        context.state.place(pod_index(context, name), 0)
    mark = context.state.checkpoint()
    for name in ("small", "wasteful"):
        context.state.remove(pod_index(context, name))
    assert codes(context, plugin, pod) == "n1:OK n2:OK"
    context.state.undo(mark)
    context.state.remove(pod_index(context, "small"))
    assert codes(context, plugin, pod) == "n1:UAU n2:UAU"
