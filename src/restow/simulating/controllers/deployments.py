"""The controller of Deployments: ReplicaSets of old templates make room for the one of the new template.

The ReplicaSet whose template is that of the Deployment is the new one, also if it has been there before: that is how a
rollback works. ``rollouts`` computes how many pods each may have. ``revisionHistoryLimit`` old ones are kept. Source:
the Deployment controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import structs

from restow.kube.labels import NOTHING
from restow.kube.manifests import Deployment, Metadata, PodTemplate, ReplicaSet
from restow.kube.manifests.workloads import ReplicaSetSpec
from restow.kube.numbers import parse_integer
from restow.kube.objects import LabelSelector
from restow.simulating.api_server.changes import with_metadata, with_spec
from restow.simulating.api_server.indexes import Key, key_of, selector_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.controllers import rollouts
from restow.simulating.controllers.owned_pods import by_age, claim, reference_to
from restow.simulating.controllers.revisions import free_hash
from restow.simulating.virtual_cluster import ObjectQueue, VirtualCluster
from restow.workloads.made_of import TEMPLATE_HASH

#: Annotations of a Deployment that are not for its ReplicaSets.
_NOT_COPIED: Final = frozenset(
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        rollouts.REVISION,
        rollouts.DESIRED,
        rollouts.MOST,
        "deprecated.deployment.rollback.to",
    )
)


class DeploymentController:
    """Syncs one Deployment at a time."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store, self._clock = simulation.store, simulation.clock
        self._queue = ObjectQueue(simulation.clock, self._sync, kind="Deployment")
        self._store.subscribe("Deployment", self._queue.on_wish)
        self._store.subscribe("ReplicaSet", self._on_owned_event)
        self._store.subscribe("Pod", self._on_pod_event)

    def _on_owned_event(self, event: ObjectEvent) -> None:
        self._queue.on_owned_event(event)
        if event.new is not None and event.new.metadata.controller is None:
            for found in self._store.selecting("Deployment", event.new):
                self._queue.add(key_of(found))

    def _on_pod_event(self, event: ObjectEvent) -> None:
        """A Deployment that waits for its last old pod is synced when that is gone."""
        owner = event.old and event.old.metadata.controller
        if event.new is None and owner and owner.kind == "ReplicaSet":
            of = self._store.get("ReplicaSet", event.old.metadata.namespace, owner.name)
            if of is not None and of.metadata.controller is not None:
                self._queue.add((of.metadata.namespace, of.metadata.controller.name))

    def _sync(self, key: Key) -> None:
        found: Deployment | None = self._store.get("Deployment", *key)
        if found is None or selector_of(found) == NOTHING:
            return
        sets = sorted(claim(self._store, "Deployment", found, selector_of(found), "ReplicaSet"), key=by_age)
        new = next((each for each in sets if _is_of(found, each)), None)
        old = [each for each in sets if each is not new]
        if not found.metadata.is_terminating:
            self._act(found, new, old)
        self._report(key)

    def _act(self, found: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> None:
        if found.spec.paused or _is_scaled(found, (*old, *([new] if new else ()))):
            self._scale_all(found, self._revised(found, new, old) if new else None, old)
            if found.spec.paused:
                self._clean_up(found, new, old)
        elif found.spec.strategy.type == "Recreate":
            self._recreate(found, new, old)
        else:
            self._roll(found, self._revised(found, new, old) if new else self._create(found, old), old)

    def _roll(self, found: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> None:
        """One step of a rolling update: the new one grows, or else the old ones shrink."""
        size = rollouts.size_of_new(found, (new, *old), new.spec.replicas)
        if size != new.spec.replicas:
            self._scale(found, new, size)
            return
        sizes = rollouts.sizes_of_old(found, new, old)
        for each, smaller in zip(old, sizes, strict=True):
            self._scale(found, each, smaller)
        self._clean_up(found, new, old)

    def _recreate(self, found: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> None:
        """All old pods go, and when the last of them is gone the new ones come."""
        if rollouts.replicas(old):
            for each in old:
                self._scale(found, each, 0)
        elif not any(self._has_pods(each) for each in old):
            new = self._revised(found, new, old) if new else self._create(found, old)
            self._scale(found, new, found.spec.replicas)
            self._clean_up(found, new, old)

    def _has_pods(self, each: ReplicaSet) -> bool:
        return not all(pod.is_over for pod in self._store.owned(each.metadata.uid, "Pod"))

    def _scale_all(self, found: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> None:
        """Have as many pods as are wanted without a step of an update: all in one ReplicaSet, or in proportion."""
        sets = [*old, *([new] if new else [])]
        active = [each for each in sets if each.spec.replicas > 0]
        if len(active) < 2:
            only = active[0] if active else new or (old[-1] if old else None)
            if only is not None:
                self._scale(found, only, found.spec.replicas)
        elif new is not None and _is_saturated(found, new):
            for each in old:
                self._scale(found, each, 0)
        elif found.spec.strategy.type != "Recreate":
            for each, size in zip(active, rollouts.proportional(found, active), strict=True):
                self._scale(found, each, size)

    def _scale(self, found: Deployment, each: ReplicaSet, size: int) -> None:
        """Give a ReplicaSet its size, and note on it what that is a part of."""
        annotations = {**(each.metadata.annotations or {}), **_sizes(found)}
        self._store.update(with_spec(with_metadata(each, annotations=annotations), replicas=size))

    def _create(self, found: Deployment, old: Sequence[ReplicaSet]) -> ReplicaSet:
        """The ReplicaSet of a new template."""
        revision = str(_last_revision(old) + 1)
        made = free_hash(self._store, "ReplicaSet", found)
        labels = {**(found.spec.template.metadata.labels or {}), TEMPLATE_HASH: made}
        template = PodTemplate(structs.replace(found.spec.template.metadata, labels=labels), found.spec.template.spec)
        given = found.spec.selector or LabelSelector()
        selector = structs.replace(given, match_labels={**(given.match_labels or {}), TEMPLATE_HASH: made})
        metadata = Metadata(
            name=f"{found.metadata.name}-{made}",
            namespace=found.metadata.namespace,
            labels=labels,
            annotations={**_copied(found), **_sizes(found), rollouts.REVISION: revision},
            owner_references=(reference_to("Deployment", found),),
        )
        size = rollouts.size_of_new(found, old, 0)
        spec = ReplicaSetSpec(size, found.spec.min_ready_seconds, selector, template)
        created: ReplicaSet = self._store.create(ReplicaSet(metadata, spec))
        self._note_revision(structs.replace(found, status=rollouts.with_new_set(found, self._clock.text)), revision)
        return created

    def _revised(self, found: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> ReplicaSet:
        """The new ReplicaSet with the last revision, which is the Deployment's too."""
        revision = str(max(_last_revision(old) + 1, _revision(new)))
        annotations = {**(new.metadata.annotations or {}), **_copied(found), rollouts.REVISION: revision}
        self._note_revision(found, revision)
        revised = with_spec(new, min_ready_seconds=found.spec.min_ready_seconds)
        written: ReplicaSet = self._store.update(with_metadata(revised, annotations=annotations))
        return written

    def _note_revision(self, found: Deployment, revision: str) -> None:
        annotations = {**(found.metadata.annotations or {}), rollouts.REVISION: revision}
        self._store.update(with_metadata(found, annotations=annotations))

    def _clean_up(self, found: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> None:
        """After a complete update, delete ReplicaSets of old templates except for the last few."""
        if new is None or not rollouts.is_complete(found, new, old):
            return
        empty = [each for each in old if not each.spec.replicas and not each.status.replicas]
        empty = [each for each in empty if not each.metadata.is_terminating]
        surplus = len(empty) - found.spec.revision_history_limit
        for each in sorted(empty, key=_revision)[: max(0, surplus)]:
            self._store.delete("ReplicaSet", *key_of(each))

    def _report(self, key: Key) -> None:
        found: Deployment | None = self._store.get("Deployment", *key)
        if found is None:
            return
        sets = [each for each in self._store.owned(found.metadata.uid, "ReplicaSet") if each.metadata.controller]
        new = next((each for each in sorted(sets, key=by_age) if _is_of(found, each)), None)
        status = rollouts.status_of(found, new, sets, self._clock.text)
        self._store.update(structs.replace(found, status=status))
        wait = rollouts.deadline_in(found, status, self._clock.now)
        if wait is not None:
            self._queue.add_after(key, wait)


def _is_of(found: Deployment, each: ReplicaSet) -> bool:
    """Whether a ReplicaSet has the template of the Deployment."""
    own = each.spec.template.metadata.labels or {}
    labels = {name: value for name, value in own.items() if name != TEMPLATE_HASH}
    given = found.spec.template
    same = each.spec.template.spec == given.spec and labels == (given.metadata.labels or {})
    return same and each.spec.template.metadata.annotations == given.metadata.annotations


def _is_scaled(found: Deployment, sets: Sequence[ReplicaSet]) -> bool:
    """Whether the number of replicas has changed since a ReplicaSet with pods was given its size."""
    noted = (each.metadata.annotation(rollouts.DESIRED) for each in sets if each.spec.replicas > 0)
    return any(parse_integer(each) not in {None, found.spec.replicas} for each in noted)


def _is_saturated(found: Deployment, new: ReplicaSet) -> bool:
    wanted = found.spec.replicas
    noted = new.metadata.annotation(rollouts.DESIRED) == str(wanted)
    return new.spec.replicas == wanted and noted and new.status.available_replicas == wanted


def _sizes(found: Deployment) -> Mapping[str, str]:
    most = found.spec.replicas + rollouts.limits(found)[0]
    return {rollouts.DESIRED: str(found.spec.replicas), rollouts.MOST: str(most)}


def _copied(found: Deployment) -> Mapping[str, str]:
    """The annotations of a Deployment that its ReplicaSet gets."""
    return {name: value for name, value in (found.metadata.annotations or {}).items() if name not in _NOT_COPIED}


def _revision(each: ReplicaSet) -> int:
    return parse_integer(each.metadata.annotation(rollouts.REVISION)) or 0


def _last_revision(sets: Sequence[ReplicaSet]) -> int:
    return max(map(_revision, sets), default=0)
