"""The next pod of a controller: what it creates when one of its pods is gone.

It is made of the controller's template, not of the pod that goes: that one may have been resized, relabelled, or made of an
older template. But the template does not say what admission adds: sidecars, tolerations, defaults, claims. What the running
pod has beyond the template that it was made of is taken to be added again (``workloads.next_parts``), and a
VerticalPodAutoscaler gives the new pod other requests (``workloads.autoscaling``).

Where pod and template disagree and nothing explains it, or where the input lacks the object that decides, the next pod is a
guess: ``caveat`` says why. Requests that were changed since the pod was created (``metadata.generation``) were changed by a
resize; everything else of a pod that schedulers read never changes.

Everything is found once for each controller and each distinct set of parts of its pods.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import msgspec

from restow.cluster import pod_parts
from restow.cluster.owners import owner_of, workload_of
from restow.cluster.pod_reading import DEFAULT_SCHEDULER, claims_of, ports_key, volumes_of
from restow.cluster.pod_values import Flag, PodClaim, PodOrigin
from restow.cluster.pods import PodRow
from restow.cluster.snapshot import ClusterSnapshot
from restow.errors import InputError
from restow.kube.objects import PodTemplate, VerticalPodAutoscaler
from restow.workloads import next_parts
from restow.workloads.autoscaling import VERTICAL_POD_AUTOSCALER, by_target
from restow.workloads.made_of import OF_THE_NODE, MadeOf, Templates
from restow.workloads.next_parts import ThreeContainers, itself, merge

#: The columns that ``_parts`` reads of a pod.
_PARTS: Final = (
    "resources",
    "tolerations",
    "rules",
    "spread",
    "images",
    "init_images",
    "ports",
    "schedulers",
    "priority",
    "origins",
    "flags",
)
_BUILT_IN_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


_Terms = dict[Any, Any]
#: Writes the values of label keys into terms; with labels, and with these known.
_Add = Callable[[Any, next_parts.Labels], _Terms]
_Write = Callable[[_Terms], _Terms]


class NextPod(NamedTuple):
    """What the next pod of a controller has that the running one has not."""

    #: By column of ``Pods``; empty where both are alike.
    changes: PodRow
    #: Why the next pod may be another one, for a sentence; empty where it is known.
    caveat: str = ""
    #: The kinds that the input lacks to know it.
    lacks: tuple[str, ...] = ()


ALIKE: Final = NextPod({})


class _Unlike(NamedTuple):
    """What changes of one part, and about what pod and template disagree."""

    changes: PodRow
    disputed: tuple[str, ...] = ()


class NextPods:
    """The next pods of one cluster's controllers; the tables of its pods get the values that are new."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._cluster = cluster
        self._pods = cluster.pods
        self._templates = Templates(cluster)
        self._made: dict[Hashable, tuple[int, MadeOf]] = {}
        self._known: dict[Hashable, NextPod] = {}

    def of(self, pod: int) -> NextPod:
        """The next pod of the controller of a pod that was read; ``ALIKE`` for one that no controller owns."""
        owner = owner_of(self._pods, pod)
        if owner is None or self._pods.is_replacement(pod):
            return ALIKE
        number, made = self._made_of(pod)
        if made.new is None:
            key = (number, "signs", *self._ids(pod, ("origins", "held", "labels", "claims")))
            return self._remembered(key, self._by_signs, pod, made)
        found = [
            self._remembered((number, "parts", *self._ids(pod, _PARTS)), self._parts, pod, made),
            self._remembered((number, "labels", int(self._pods.labels[pod])), self._labels, pod, made),
            self._remembered((number, "volumes", int(self._pods.volumes[pod])), self._volumes, pod, made),
            self._remembered((number, "claims", *self._ids(pod, ("claims", "flags"))), self._claims, pod, made),
        ]
        if made.caveat == "" and found == [ALIKE] * len(found):
            return ALIKE
        caveats = [made.caveat, *(each.caveat for each in found)]
        return NextPod(
            {name: value for each in found for name, value in each.changes.items()},
            next(filter(None, caveats), ""),
            tuple(dict.fromkeys((*made.lacks, *(kind for each in found for kind in each.lacks)))),
        )

    def _ids(self, pod: int, columns: Iterable[str]) -> list[int]:
        return [getattr(self._pods, name).item(pod) for name in columns]

    def _remembered(self, key: Hashable, find: Callable[[int, MadeOf], NextPod], pod: int, made: MadeOf) -> NextPod:
        known = self._known.get(key)
        if known is None:
            try:
                known = find(pod, made)
            except (ValueError, InputError, msgspec.MsgspecError) as error:
                known = NextPod({}, f"the template of its controller cannot be used: {error}")
            self._known[key] = known
        return known

    def _made_of(self, pod: int) -> tuple[int, MadeOf]:
        """The templates of a pod and of the next one, numbered."""
        pods = self._pods
        owner = owner_of(pods, pod)
        assert owner is not None
        namespace = pods.tables.namespaces[pods.namespace[pod]]
        labels = pods.tables.labels[pods.labels[pod]]
        distinguishing = self._templates.distinguishing_key(owner, namespace, pods.names[pod], labels)
        key = int(pods.owners[pod]), int(pods.namespace[pod]), distinguishing
        known = self._made.get(key)
        if known is None:
            made = self._templates.of(owner, namespace, pods.names[pod], labels)
            known = self._made[key] = len(self._made), made
        return known

    def _by_signs(self, pod: int, made: MadeOf) -> NextPod:
        """Where no template is known: whether the pod shows signs that the next one will be another."""
        owner = owner_of(self._pods, pod)
        origin = self._origin(pod)
        assert owner is not None
        kinds = (owner.kind,) if self._templates.lacks(owner.kind) else ()
        labels = self._pods.tables.labels[self._pods.labels[pod]]
        unbound = _unbound(labels)
        changes: PodRow = {} if unbound == labels else {"labels": self._pods.intern("labels", unbound)}
        claims = self._pods.tables.claims[self._pods.claims[pod]]
        if any(each.template for each in claims):
            changes["claims"] = self._pods.intern("claims", tuple(map(_to_make, claims)))
        if made.caveat:
            return NextPod(changes, made.caveat, made.lacks)
        if origin.resizing or self._pods.held[pod] >= 0:
            caveat = f"it is being resized, and the template of {owner.kind} {owner.name} is not known"
            return NextPod(changes, caveat, kinds)
        if origin.by_autoscaler:
            caveat = "a VerticalPodAutoscaler has set its requests, and may set others for the next pod"
            return NextPod(changes, caveat, (*kinds, *self._lacking_autoscalers()))
        return NextPod(changes) if changes else ALIKE

    def _lacking_autoscalers(self) -> tuple[str, ...]:
        return (VERTICAL_POD_AUTOSCALER,) if self._templates.lacks(VERTICAL_POD_AUTOSCALER) else ()

    def _origin(self, pod: int) -> PodOrigin:
        found: PodOrigin = self._pods.tables.origins[self._pods.origins[pod]]
        return found

    @cached_property
    def _autoscalers(self) -> Mapping[tuple[str, str, str], VerticalPodAutoscaler]:
        return by_target(self._cluster.kind(VERTICAL_POD_AUTOSCALER))

    def _autoscaler(self, pod: int) -> VerticalPodAutoscaler | None:
        """The VerticalPodAutoscaler that acts on the next pod of a pod's controller."""
        workload = workload_of(self._cluster, pod)
        if workload is None or not self._autoscalers:
            return None
        namespace = self._pods.tables.namespaces[self._pods.namespace[pod]]
        return self._autoscalers.get((namespace, workload.kind, workload.name))

    def _unreadable_autoscaler(self, pod: int) -> str:
        """A VerticalPodAutoscaler of the pod's namespace that could be for it; empty if all can be read."""
        namespace = self._pods.tables.namespaces[self._pods.namespace[pod]]
        left_out = sorted(self._cluster.left_out) if self._cluster.left_out else ()
        return next(
            (name for kind, space, name in left_out if (kind, space) == (VERTICAL_POD_AUTOSCALER, namespace)), ""
        )

    def _labels(self, pod: int, made: MadeOf) -> NextPod:
        assert made.own is not None
        assert made.new is not None
        labels = self._pods.tables.labels[self._pods.labels[pod]]
        new = made.new.metadata.labels or {}
        merged = merge(labels, made.own.metadata.labels or {}, new)
        values = {key: value for key, value in merged.values.items() if key in new or key not in OF_THE_NODE}
        values |= made.labels
        changes: PodRow = {} if values == labels else {"labels": self._pods.intern("labels", values)}
        return _next(changes, [f"the label {key}" for key in merged.disputed], made)

    def _volumes(self, pod: int, made: MadeOf) -> NextPod:
        assert made.own is not None
        assert made.new is not None
        name, volumes = self._pods.names[pod], self._pods.tables.volumes[self._pods.volumes[pod]]
        own, new = (volumes_of(name, each.spec.volumes or ()) for each in (made.own, made.new))
        merged = merge(itself(volumes), itself(own), itself(new))
        values = tuple(merged.values)
        if set(values) == set(volumes):
            return ALIKE
        return _next({"volumes": self._pods.intern("volumes", values)}, ["volumes"] * bool(merged.disputed), made)

    def _claims(self, pod: int, made: MadeOf) -> NextPod:
        """Claims of devices: those that are made of templates are made for each pod."""
        assert made.own is not None
        assert made.new is not None
        claims = tuple(map(_to_make, self._pods.tables.claims[self._pods.claims[pod]]))
        own, new = (claims_of(each.spec.resource_claims or (), (), to_make=True) for each in (made.own, made.new))
        merged = merge(itself(claims), itself(own), itself(new))
        values = tuple(merged.values)
        if not values and not claims:
            return ALIKE
        flags = int(self._pods.flags[pod]) & ~int(Flag.RESOURCE_CLAIMS) | (int(Flag.RESOURCE_CLAIMS) if values else 0)
        changes: PodRow = {"claims": self._pods.intern("claims", values), "flags": flags}
        changes = {name: value for name, value in changes.items() if value != getattr(self._pods, name).item(pod)}
        return _next(changes, ["resourceClaims"] * bool(merged.disputed), made)

    def _parts(self, pod: int, made: MadeOf) -> NextPod:
        """All that is not different for every pod."""
        assert made.own is not None
        assert made.new is not None
        found = [
            self._containers(pod, made.own, made.new),
            self._rules(pod, made),
            self._spread(pod, made),
            self._sets(pod, made.own, made.new),
            self._priority(pod, made.own, made.new),
        ]
        origin = self._origin(pod)
        changes: PodRow = {name: value for each in found for name, value in each.changes.items()}
        answer = _next(changes, [what for each in found for what in each.disputed], made)
        if answer.caveat and origin.by_autoscaler and self._templates.lacks(VERTICAL_POD_AUTOSCALER):
            return answer._replace(lacks=(*answer.lacks, VERTICAL_POD_AUTOSCALER))
        if not answer.caveat and (unreadable := self._unreadable_autoscaler(pod)):
            return answer._replace(caveat=f"VerticalPodAutoscaler {unreadable} cannot be read")
        if not answer.caveat and pod_parts.decode_gates(bytes(made.new.spec.scheduling_gates)):
            return answer._replace(caveat="its template has scheduling gates, which somebody has to remove")
        return answer

    def _containers(self, pod: int, own: PodTemplate, new: PodTemplate) -> _Unlike:
        """Requests and images of the containers."""
        pods, origin = self._pods, self._origin(pod)
        key = pods.tables.resources[pods.resources[pod]].key
        images, init_images = pods.tables.images[pods.images[pod]], pods.tables.init_images[pods.init_images[pod]]
        autoscaler = self._autoscaler(pod)
        is_plain = own is new and autoscaler is None and not origin.by_autoscaler
        if is_plain and next_parts.is_verbatim(own.spec, key, images, init_images):
            return _Unlike({})
        regular = ThreeContainers(
            next_parts.containers_of_pod(origin.containers, key[0], images),
            next_parts.containers_of_template(own.spec.containers),
            next_parts.containers_of_template(new.spec.containers),
        )
        init = ThreeContainers(
            next_parts.containers_of_pod(origin.init_containers, key[1], init_images),
            next_parts.containers_of_template(own.spec.init_containers or ()),
            next_parts.containers_of_template(new.spec.init_containers or ()),
        )
        made = regular.merged(origin, autoscaler, lacks_autoscalers=self._templates.lacks(VERTICAL_POD_AUTOSCALER))
        made_init = init.merged(origin, None, lacks_autoscalers=self._templates.lacks(VERTICAL_POD_AUTOSCALER))
        changes: PodRow = {}
        pod_level = _pod_level(key[2], bytes(own.spec.resources), bytes(new.spec.resources))
        next_key = made.keys(key[0], regular.pod), made_init.keys(key[1], init.pod), pod_level, key[3]
        if next_key != key:
            resources = pod_parts.decode_resources(next_key)
            changes["resources"] = pods.intern("resources", resources)
            changes["qos"] = resources.qos
        for column, before, after in (("images", images, made), ("init_images", init_images, made_init)):
            named = tuple(each.image for each in after.containers.values())
            if named != before:
                changes[column] = pods.intern(column, named)
        return _Unlike(changes, (*made.disputed, *made_init.disputed))

    def _rules(self, pod: int, made: MadeOf) -> _Unlike:
        """Node selector and affinity."""
        assert made.own is not None
        assert made.new is not None
        rules = self._pods.tables.rules[self._pods.rules[pod]]
        selectors = [
            _labels_in(raw) for raw in (rules.key[0], made.own.spec.node_selector, made.new.spec.node_selector)
        ]
        selector = merge(*selectors)
        affinity = next_parts.affinity_of(rules.key[1])
        own_affinity, new_affinity = (
            next_parts.affinity_of(bytes(each.spec.affinity)) for each in (made.own, made.new)
        )
        terms, own, new = map(next_parts.terms_of, (affinity, own_affinity, new_affinity))
        owner = owner_of(self._pods, pod)
        if owner is not None and owner.kind == "DaemonSet":
            own.pop(next_parts.PINNED, None)
            new.pop(next_parts.PINNED, None)
        own, new = _in_form_of(terms, own, new, self._adding(next_parts.terms_with_label_keys, pod, made))
        merged = merge(terms, own, new)
        disputed = (*["nodeSelector"] * bool(selector.disputed), *["affinity"] * bool(merged.disputed))
        if selector.values == selectors[0] and merged.values == terms:
            return _Unlike({}, disputed)
        like = new_affinity if new_affinity.node_affinity is not None else affinity
        key = (
            msgspec.json.encode(selector.values) if selector.values else b"",
            msgspec.json.encode(next_parts.affinity_with(merged.values, like)),
        )
        return _Unlike({"rules": self._pods.intern("rules", pod_parts.decode_rules(key))}, disputed)

    def _spread(self, pod: int, made: MadeOf) -> _Unlike:
        assert made.own is not None
        assert made.new is not None
        constraints = next_parts.by_topology(self._pods.tables.spread[self._pods.spread[pod]])
        own, new = (
            next_parts.by_topology(pod_parts.decode_spread(bytes(each.spec.topology_spread_constraints)))
            for each in (made.own, made.new)
        )
        own, new = _in_form_of(constraints, own, new, self._adding(next_parts.spread_with_label_keys, pod, made))
        merged = merge(constraints, own, new)
        changes: PodRow = {}
        if merged.values != constraints:
            changes["spread"] = self._pods.intern("spread", tuple(merged.values.values()))
        return _Unlike(changes, ("topologySpreadConstraints",) * bool(merged.disputed))

    def _adding(self, add: _Add, pod: int, made: MadeOf) -> tuple[_Write, _Write]:
        """What writes the values of label keys into terms of the running pod, and of the next one."""
        assert made.new is not None
        labels = self._pods.tables.labels[self._pods.labels[pod]]
        later = {**labels, **(made.new.metadata.labels or {}), **made.labels}
        return partial(_applied, add, labels), partial(_applied, add, later)

    def _sets(self, pod: int, own: PodTemplate, new: PodTemplate) -> _Unlike:
        """Tolerations, host ports and the scheduler."""
        pods, tables = self._pods, self._pods.tables
        wanted = (
            ("tolerations", "tolerations", lambda each: pod_parts.decode_tolerations(bytes(each.spec.tolerations))),
            ("ports", "host ports", lambda each: pod_parts.decode_ports(ports_key(each.spec))),
            ("schedulers", "schedulerName", lambda each: (each.spec.scheduler_name or DEFAULT_SCHEDULER,)),
        )
        changes: PodRow = {}
        disputed = []
        for column, field, read in wanted:
            value = getattr(tables, column)[getattr(pods, column)[pod]]
            before = (value,) if column == "schedulers" else value
            merged = merge(itself(before), itself(read(own)), itself(read(new)))
            after = read(new) if column == "schedulers" and merged.disputed else tuple(merged.values)
            if set(after) != set(before):
                changes[column] = pods.intern(column, after[0] if column == "schedulers" else _sorted(column, after))
            disputed += [field] * bool(merged.disputed)
        return _Unlike(changes, tuple(disputed))

    def _priority(self, pod: int, own: PodTemplate, new: PodTemplate) -> _Unlike:
        """The priority that the class of the template gives, where the template names another one than the pod has."""
        before, was = self._origin(pod).priority_class, own.spec.priority_class_name or ""
        named = new.spec.priority_class_name or ""
        if named == was:
            return _Unlike({}, ("priorityClassName",) * (before != was != ""))
        classes = {**self._cluster.priority_classes(), **_BUILT_IN_CLASSES}
        if named and named not in classes:
            return _Unlike({}, (f"the value of PriorityClass {named}, which is not known",))
        value = classes.get(named, 0)
        return _Unlike({"priority": value} if value != self._pods.priority[pod] else {})


def _unbound(labels: next_parts.Labels) -> next_parts.Labels:
    """The labels of a pod without those that it has from its node."""
    if not any(key in labels for key in OF_THE_NODE):
        return labels
    return {key: value for key, value in labels.items() if key not in OF_THE_NODE}


def _applied(add: _Add, labels: next_parts.Labels, terms: _Terms) -> _Terms:
    return add(terms, labels)


def _in_form_of(pod: _Terms, own: _Terms, new: _Terms, writes: tuple[_Write, _Write]) -> tuple[_Terms, _Terms]:
    """The terms of both templates as those of the pod are: with the values of label keys, or without."""
    written = writes[0](own)
    if written == own or any(pod.get(key) == value for key, value in own.items() if written[key] != value):
        return own, new
    return written, writes[1](new)


def _pod_level(pod: bytes, own: bytes, new: bytes) -> bytes:
    """``resources`` of the pod itself: what the template says, if it says anything."""
    if own == new == pod or (not own and not new):
        return pod
    parts = [pod_parts.decode_requirements(raw, "spec") for raw in (pod, own, new)]
    requests = merge(*[next_parts.quantities(each.requests) for each in parts])
    limits = merge(*[next_parts.quantities(each.limits) for each in parts])
    return next_parts.encoded(requests.values, limits.values)


def _to_make(claim: PodClaim) -> PodClaim:
    """A claim of the next pod: that of a template is made for it."""
    return claim._replace(claim="", to_make=True) if claim.template else claim


def _labels_in(raw: Any) -> dict[str, str]:
    text = bytes(raw)
    return dict(msgspec.json.decode(text, type=dict[str, str])) if text and text != b"null" else {}


def _sorted(column: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(values)) if column == "ports" else values


def _next(changes: PodRow, disputed: Iterable[str], made: MadeOf) -> NextPod:
    """The answer about some parts."""
    about = ", ".join(disputed)
    if not about:
        return NextPod(changes) if changes else ALIKE
    lacks = made.lacks or made.revisions
    return NextPod(changes, f"it differs from the template of its controller, and nothing says why: {about}", lacks)
