"""How a scenario names objects: ``deployment/web``, ``deployment/shop/web``, ``node-1``, ``zone=a``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from restow.kube.excerpts import did_you_mean, excerpt
from restow.kube.labels import Selector, parse_selector
from restow.kube.manifests import Pod
from restow.simulating.api_server.admission import is_namespaced
from restow.simulating.api_server.store import Store

DEFAULT_NAMESPACE: Final = "default"

#: The kinds that a scenario can name, and their short names in addition to the kind in any case and number.
_SHORT: Final[dict[str, tuple[str, ...]]] = {
    "CronJob": ("cj",),
    "DaemonSet": ("ds",),
    "Deployment": ("deploy",),
    "Job": (),
    "Namespace": ("ns",),
    "Node": ("no",),
    "Pod": ("po",),
    "PodDisruptionBudget": ("pdb",),
    "PriorityClass": ("pc", "priorityclasses"),
    "ReplicaSet": ("rs",),
    "ReplicationController": ("rc",),
    "Service": ("svc",),
    "StatefulSet": ("sts",),
}
#: The kinds among them that are pods or have some.
WITH_PODS: Final = (
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "DaemonSet",
    "CronJob",
    "Job",
    "Pod",
)
_KINDS: Final = {word: kind for kind, short in _SHORT.items() for word in (kind.lower(), f"{kind.lower()}s", *short)}
#: A text that has one of these is a selector, because no node has a name like that.
_OPERATORS: Final = re.compile(r"[=!<>(), ]")


@dataclass(slots=True, frozen=True)
class Reference:
    """One object; ``namespace`` is empty for cluster-wide kinds."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, (self.kind.lower(), self.namespace, self.name)))


@dataclass(slots=True, frozen=True)
class NodeChoice:
    """One node by its name, or those that a selector matches."""

    name: str | None = None
    labels: Selector | None = None

    def chooses(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node is one of them."""
        return name == self.name if self.labels is None else self.labels.matches(labels)

    def __str__(self) -> str:
        return self.name or str(self.labels)


def parse_reference(text: str) -> Reference:
    """Read ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``; ValueError says what to write instead."""
    kind, *names = text.split("/")
    known = _KINDS.get(kind.lower())
    if not names or not all(names) or len(names) > 2:
        raise ValueError(f'"{excerpt(text)}" is not of the form KIND/NAME or KIND/NAMESPACE/NAME')
    if known is None:
        hint = did_you_mean(kind, [each.lower() for each in _SHORT])
        raise ValueError(f'"{excerpt(kind)}" is no kind that a scenario knows{f"; {hint}" if hint else ""}')
    if not is_namespaced(known):
        if len(names) == 2:
            raise ValueError(f"a {known} has no namespace; write {known.lower()}/{excerpt(names[1])}")
        return Reference(known, "", names[0])
    return Reference(known, *(names if len(names) == 2 else (DEFAULT_NAMESPACE, names[0])))


def parse_node_choice(text: str) -> NodeChoice:
    """Read the name of a node, or a label selector with an operator; ValueError where it is neither."""
    if _OPERATORS.search(text):
        return NodeChoice(labels=parse_selector(text))
    if not text:
        raise ValueError("is empty; write the name of a node, or labels such as zone=a")
    return NodeChoice(name=text)


def controllers_of(pod: Pod, store: Store) -> Iterator[Reference]:
    """Yield the controller of a pod, the controller of that one, and so on, as far as they are there."""
    namespace, owner = pod.metadata.namespace, pod.metadata.controller
    while owner is not None:
        yield Reference(owner.kind, namespace, owner.name)
        found = store.get(owner.kind, namespace, owner.name)
        owner = found.metadata.controller if found is not None and found.metadata.uid == owner.uid else None
