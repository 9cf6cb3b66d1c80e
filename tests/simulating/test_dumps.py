"""A dump goes on as it is: controllers know their pods again, also where the dump leaves out what only they write."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec import structs

from restow.kube.manifests import document_of, manifest_of
from restow.workloads.made_of import REVISION_HASH
from simulating.manifests import a_controller
from simulating.scenes import Scene

KINDS = ("Namespace", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Pod")


def reloaded(scene, change=lambda document: document):
    """Another cluster that begins with the objects of one, without its ControllerRevisions."""
    other = Scene(nodes=0)
    other.clock.run(scene.clock.now)
    for node in scene.store.list("Node"):
        other.store.load(node)
    for kind in KINDS:
        for each in scene.store.list(kind):
            other.store.load(manifest_of(change(document_of(each))))
    return other


def without(*labels):
    """Leaves labels of pods and ReplicaSets out."""

    def change(document):
        known = document["metadata"].get("labels", {})
        kept = {name: value for name, value in known.items() if name not in labels and document["kind"] != "ReplicaSet"}
        return document | {"metadata": document["metadata"] | {"labels": kept}}

    return change


@pytest.mark.parametrize("change", [lambda document: document, without(REVISION_HASH)], ids=["whole", "without labels"])
def test_pods_of_a_dump_stay(change):
    """Nobody comes and nobody goes."""
    scene = Scene(nodes=3)
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        made = a_controller(kind, f"a{kind.lower()}", None if kind == "DaemonSet" else 3)
        scene.store.apply(made)
    scene.settle()
    before = Counter(pod.metadata.uid for pod in scene.pods())
    assert len(before) == 9
    other = reloaded(scene, change)
    other.run(600)
    other.settle()
    assert Counter(pod.metadata.uid for pod in other.pods()) == before
    assert len(other.store.list("ReplicaSet")) == 1


def test_a_revision_that_only_pods_tell_of_is_the_current_one():
    """Its hash is that of the pods, and another template makes another one."""
    scene = Scene(nodes=2)
    scene.store.apply(a_controller("StatefulSet", "db", 2))
    scene.settle()

    def renamed(document):
        labels = {**document["metadata"].get("labels", {})}
        if REVISION_HASH in labels:
            labels[REVISION_HASH] = "db-5f6d7c8b9"
        return document | {"metadata": document["metadata"] | {"labels": labels}}

    other = reloaded(scene, renamed)
    other.settle()
    assert [each.metadata.name for each in other.store.list("ControllerRevision")] == ["db-5f6d7c8b9"]
    assert other.names() == ["db-0", "db-1"]
    found = other.get("StatefulSet", "db")
    template = structs.replace(found.spec.template, spec={**found.spec.template.spec, "hostNetwork": True})
    other.store.update(structs.replace(found, spec=structs.replace(found.spec, template=template)))
    other.settle()
    assert all(pod.spec.get("hostNetwork") for pod in other.pods())
