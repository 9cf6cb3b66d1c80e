"""Versions of a template: what each is called, and those that a StatefulSet or a DaemonSet has had.

Equal templates have equal names. Kubernetes hashes a Go structure that only Go can print; here the name is a hash of
the template as JSON, with the same alphabet and length. Source: controller history, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from hashlib import blake2b
from itertools import count
from typing import Any, Final

import msgspec
from msgspec import structs

from restow.kube.labels import Selector
from restow.kube.manifests import ControllerRevision, Metadata, Pod, PodTemplate
from restow.kube.manifests.workloads import RevisedSpec, RevisionData
from restow.simulating.api_server.indexes import key_of
from restow.simulating.api_server.store import Store
from restow.simulating.controllers.owned_pods import claim, reference_to
from restow.simulating.virtual_time import SAFE_CHARACTERS
from restow.workloads.made_of import REVISION_HASH

_KIND: Final = "ControllerRevision"
_LENGTH: Final = 10


def template_hash(template: PodTemplate, collisions: int = 0) -> str:
    """The value of ``pod-template-hash`` and of ``controller-revision-hash``; another one for each collision."""
    text = msgspec.json.encode((template, collisions), order="sorted")
    return "".join(SAFE_CHARACTERS[byte % len(SAFE_CHARACTERS)] for byte in blake2b(text, digest_size=_LENGTH).digest())


def free_hash(store: Store, kind: str, controller: Any) -> str:
    """The hash of a controller's template with which no object of a kind is named after the controller yet."""
    namespace, name = key_of(controller)
    hashes = (template_hash(controller.spec.template, collisions) for collisions in count())
    return next(each for each in hashes if store.get(kind, namespace, f"{name}-{each}") is None)


def revisions_of(store: Store, controller: Any) -> list[ControllerRevision]:
    """The revisions of a controller, the oldest first."""
    found = store.owned(controller.metadata.uid, _KIND)
    return sorted(found, key=lambda each: (each.revision, each.metadata.name))


def current_revision(store: Store, kind: str, controller: Any, selector: Selector) -> ControllerRevision:
    """The revision of the template that a controller has now, which is the last one from now on.

    Orphaned revisions that ``selector`` matches are the controller's too. A controller from a file may have a template that
    its selector does not match, which the API server refuses: it would release each revision and create the next, for ever.
    """
    if selector.matches(controller.spec.template.metadata.labels or {}):
        claim(store, kind, controller, selector, _KIND)
    known = revisions_of(store, controller)
    last = known[-1].revision if known else 0
    # Of equal ones the newest: each of two would otherwise be made the last one in turn, for ever.
    for each in reversed(known):
        if each.data.spec.template == controller.spec.template:
            newest = each if each.revision == last else structs.replace(each, revision=last + 1)
            written: ControllerRevision = store.update(newest)
            return written
    shown = None if known else _shown_by_pods(store, controller)
    return _created(store, kind, controller, last + 1, shown or free_hash(store, _KIND, controller))


def is_of(pod: Pod, label: str) -> bool:
    """Whether a pod has a revision's label, or does not say which one it has, as in a dump that leaves labels out."""
    return (pod.metadata.labels or {}).get(REVISION_HASH, label) == label


def _shown_by_pods(store: Store, controller: Any) -> str | None:
    """The hash of the template of a controller whose revisions are not known, as in a dump without them.

    The status of a StatefulSet names it, where all pods are of revisions that it names; otherwise most pods have it.
    """
    labels = Counter(
        (pod.metadata.labels or {}).get(REVISION_HASH) for pod in store.owned(controller.metadata.uid, "Pod")
    )
    update: str = getattr(controller.status, "update_revision", "")
    if update and labels.keys() <= {update, controller.status.current_revision}:
        return update.removeprefix(f"{controller.metadata.name}-")
    shown = max(sorted(filter(None, labels)), key=labels.__getitem__, default=None)
    return shown and shown.removeprefix(f"{controller.metadata.name}-")


def _created(store: Store, kind: str, controller: Any, revision: int, made: str) -> ControllerRevision:
    metadata = Metadata(
        name=f"{controller.metadata.name}-{made}",
        namespace=controller.metadata.namespace,
        labels={**(controller.spec.template.metadata.labels or {}), REVISION_HASH: made},
        owner_references=(reference_to(kind, controller),),
    )
    data = RevisionData(RevisedSpec(controller.spec.template))
    created: ControllerRevision = store.create(ControllerRevision(metadata, data, revision))
    return created


def delete_old(store: Store, controller: Any, used: Collection[str], limit: int) -> None:
    """Delete unused revisions (by their hashes) except for the last few."""
    unused = [each for each in revisions_of(store, controller) if hash_of(each) not in used]
    for each in unused[: max(0, len(unused) - limit)]:
        store.delete(_KIND, *key_of(each))


def hash_of(revision: ControllerRevision) -> str:
    """The hash of a revision's template."""
    return (revision.metadata.labels or {}).get(REVISION_HASH, "")
