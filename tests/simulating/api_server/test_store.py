"""The store keeps objects as the API server does."""

from __future__ import annotations

import pytest
from msgspec import structs

from restow.kube.labels import parse_selector
from restow.kube.manifests import document_of, manifest_of
from restow.kube.timestamps import SECOND
from restow.simulating.api_server.store import ExistsError, Store
from restow.simulating.virtual_time import Chance, VirtualClock
from simulating.manifests import a_bare_pod, a_controller


@pytest.fixture
def store():
    """A store on the first of January."""
    return Store(VirtualClock(now=1_767_225_600 * SECOND), Chance(1))


def on_node(pod, node="n1"):
    """A pod that is bound."""
    return structs.replace(pod, spec={**pod.spec, "nodeName": node})


def with_metadata(manifest, **changes):
    """An object with other metadata."""
    return structs.replace(manifest, metadata=structs.replace(manifest.metadata, **changes))


def test_what_comes_is_stamped(store):
    """With a uid, a time, a version and a generation; the status is not the writer's to say."""
    pod = manifest_of(document_of(a_bare_pod("p")) | {"status": {"phase": "Running"}})
    made = store.create(pod)
    assert made.metadata.uid
    assert made.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert (made.metadata.resource_version, made.metadata.generation) == ("1", 1)
    assert made.status.phase == "Pending"
    assert store.get("Pod", "default", "p") is made
    with pytest.raises(ExistsError, match="Pod default/p exists already"):
        store.create(pod)


def test_generated_names_differ(store):
    """They end in five characters."""
    first, second = (store.create(a_bare_pod("", metadata={"generateName": "web-"})) for _ in range(2))
    assert first.metadata.name != second.metadata.name
    assert first.metadata.name.startswith("web-")
    assert len(first.metadata.name) == len("web-") + 5


def test_only_a_new_spec_makes_a_new_generation(store):
    """A change that is none makes no version, and nobody hears of it."""
    heard = []
    store.subscribe("ReplicaSet", heard.append)
    made = store.create(a_controller("ReplicaSet", "web", 2))
    assert store.update(made) is made
    ready = store.update(structs.replace(made, status=structs.replace(made.status, replicas=2)))
    scaled = store.apply(a_controller("ReplicaSet", "web", 5))
    assert [each.metadata.generation for each in (made, ready, scaled)] == [1, 1, 2]
    assert scaled.status.replicas == 2
    assert [(each.old, each.new) for each in heard] == [(None, made), (made, ready), (ready, scaled)]


def test_what_is_applied_keeps_what_others_wrote(store):
    """Annotations of controllers, the node of a pod."""
    made = store.create(a_controller("Deployment", "web", 2))
    store.update(with_metadata(made, annotations={"deployment.kubernetes.io/revision": "3"}))
    store.update(on_node(store.create(a_bare_pod("p"))))
    assert store.apply(a_controller("Deployment", "web", 4)).metadata.annotations
    assert store.apply(a_bare_pod("p", activeDeadlineSeconds=5)).node == "n1"


def test_a_pod_that_runs_somewhere_is_given_time_to_end(store):
    """It terminates, and is gone once its kubelet says so; one without a node is gone at once."""
    store.update(on_node(store.create(a_bare_pod("p"))))
    store.create(a_bare_pod("waiting"))
    assert store.delete("Pod", "default", "p")
    assert store.delete("Pod", "default", "waiting")
    going = store.get("Pod", "default", "p").metadata
    assert (going.deletion_timestamp, going.deletion_grace_period_seconds) == ("2026-01-01T00:00:30Z", 30)
    assert [each.metadata.name for each in store.list("Pod")] == ["p"]
    store.delete("Pod", "default", "p", grace_period=60)
    assert store.get("Pod", "default", "p").metadata == going
    store.delete("Pod", "default", "p", grace_period=0)
    assert store.get("Pod", "default", "p") is None
    assert not store.delete("Pod", "default", "p")


def test_finalizers_hold_what_is_deleted(store):
    """Until the last of them is taken away."""
    store.create(a_bare_pod("p", metadata={"finalizers": ["batch.kubernetes.io/job-tracking"]}))
    store.delete("Pod", "default", "p")
    held = store.get("Pod", "default", "p")
    assert held.metadata.is_terminating
    store.update(with_metadata(held, finalizers=None))
    assert store.get("Pod", "default", "p") is None


def test_pods_are_found_by_labels_and_by_owner(store):
    """Also after they have changed."""
    owner = store.create(a_controller("ReplicaSet", "web", 2))
    reference = {"kind": "ReplicaSet", "name": "web", "uid": owner.metadata.uid, "controller": True}
    mine = store.create(a_bare_pod("mine", metadata={"labels": {"app": "web"}, "ownerReferences": [reference]}))
    store.create(a_bare_pod("other", metadata={"labels": {"app": "web"}}))
    store.create(a_bare_pod("else", metadata={"labels": {"app": "db"}, "namespace": "shop"}))

    def names(pods):
        return [each.metadata.name for each in pods]

    web = parse_selector("app=web")
    assert names(store.list("Pod", "default", web)) == ["mine", "other"]
    assert names(store.list("Pod", None, parse_selector("app in (web,db)"))) == ["mine", "other", "else"]
    assert names(store.list("Pod", "default", parse_selector("!app"))) == []
    assert names(store.owned(owner.metadata.uid, "Pod")) == ["mine"]
    assert names(store.uncontrolled("Pod", "default", web)) == ["other"]
    store.update(with_metadata(mine, labels={"app": "db"}, owner_references=None))
    assert names(store.list("Pod", "default", web)) == ["other"]
    assert names(store.owned(owner.metadata.uid, "Pod")) == []
    assert store.dependents(owner.metadata.uid) == []


def test_a_pod_comes_with_the_defaults_of_the_api_server(store):
    """Its priority by its class, and 300 seconds on nodes in trouble unless it says otherwise."""
    metadata = {"name": "high"}
    store.create(
        manifest_of({"kind": "PriorityClass", "metadata": metadata, "value": 100, "preemptionPolicy": "Never"})
    )
    stays = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = store.create(a_bare_pod("p", priorityClassName="high", tolerations=[stays])).spec
    assert (spec["priority"], spec["preemptionPolicy"], spec["schedulerName"]) == (100, "Never", "default-scheduler")
    assert [(each["key"], each.get("tolerationSeconds")) for each in spec["tolerations"]] == [
        ("node.kubernetes.io/not-ready", None),
        ("node.kubernetes.io/unreachable", 300),
    ]


def test_a_job_selects_its_pods_by_its_uid(store):
    """What its template is labelled with."""
    job = store.create(manifest_of({"kind": "Job", "metadata": {"name": "sum"}}))
    assert job.spec.selector.match_labels == {"batch.kubernetes.io/controller-uid": job.metadata.uid}
    assert job.spec.template.metadata.labels["batch.kubernetes.io/job-name"] == "sum"


def test_other_kinds_keep_what_nobody_reads(store):
    """A ConfigMap comes back as it was written."""
    written = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
    kept = document_of(store.apply(manifest_of(written)))
    assert (kept["apiVersion"], kept["data"], kept["metadata"]["namespace"]) == ("v1", {"a": "1"}, "default")
