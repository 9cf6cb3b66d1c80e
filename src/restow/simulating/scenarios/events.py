"""What happens at a time (``at: 10m, scale: deployment/web, to: 6``): what a person, or the world, does to a cluster.

An event is written as a time, one action word with what it is about, and at most one more word that says to or with
what, or how. Each word has a reader, which takes what is written and raises ``MisfitError`` where it means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from msgspec import Struct, field

from restow.documents.findings import Path
from restow.documents.shapes import Duration
from restow.kube.excerpts import did_you_mean, excerpt
from restow.kube.manifests import Manifest
from restow.kube.objects import Taint
from restow.kube.quantity import parse_quantity
from restow.kube.validation import key_problems, value_problems
from restow.simulating.api_server.store import BACKGROUND, FOREGROUND, ORPHAN
from restow.simulating.controllers.owned_pods import WITH_REPLICAS
from restow.simulating.scenarios.references import WITH_PODS, NodeChoice, Reference, parse_node_choice, parse_reference

#: Who evicts the pods of a node that is drained.
DRAIN: Final = "drain"


@dataclass(slots=True, frozen=True)
class Apply:
    """Create objects, or change them as written."""

    manifests: tuple[Manifest, ...]


@dataclass(slots=True, frozen=True)
class Delete:
    """An object is deleted."""

    target: Reference
    #: What happens to its dependents.
    propagation: str = BACKGROUND


@dataclass(slots=True, frozen=True)
class ScaleWorkload:
    """Set the replicas of a workload."""

    target: Reference
    replicas: int


@dataclass(slots=True, frozen=True)
class SetLabels:
    """Labels of an object are set; those with None are removed."""

    target: Reference
    labels: Mapping[str, str | None]


@dataclass(slots=True, frozen=True)
class SetImage:
    """Containers of a workload or a pod get new images, by the names of the containers."""

    target: Reference
    images: Mapping[str, str]


@dataclass(slots=True, frozen=True)
class SetUsage:
    """Set what a pod, each pod of a workload, or a node uses of each resource from now on: quantities as text."""

    target: Reference
    usage: Mapping[str, str]


@dataclass(slots=True, frozen=True)
class AddTaints:
    """Nodes are tainted."""

    nodes: NodeChoice
    taints: tuple[Taint, ...]


@dataclass(slots=True, frozen=True)
class RemoveTaints:
    """Nodes lose the taints of these keys, of an effect or (empty) of any."""

    nodes: NodeChoice
    taints: tuple[Taint, ...]


@dataclass(slots=True, frozen=True)
class Cordon:
    """Nodes take no more pods."""

    nodes: NodeChoice


@dataclass(slots=True, frozen=True)
class Uncordon:
    """Nodes take pods again."""

    nodes: NodeChoice


@dataclass(slots=True, frozen=True)
class Drain:
    """Nodes are cordoned and their pods evicted, one try after the other, as disruption budgets allow."""

    nodes: NodeChoice


@dataclass(slots=True, frozen=True)
class FailNode:
    """Nodes fall silent: their kubelets say nothing more and end nothing."""

    nodes: NodeChoice


@dataclass(slots=True, frozen=True)
class RestartNode:
    """Restart nodes, after a failure or without one: every pod on them starts again."""

    nodes: NodeChoice


class RecordedAction:
    """An action that no scenario writes, because it is that of a recording (``simulating.replaying``)."""

    __slots__ = ()


#: The actions on nodes that say nothing but which.
OnNodes = Cordon | Uncordon | Drain | FailNode | RestartNode
Action = (
    Apply
    | Delete
    | ScaleWorkload
    | SetLabels
    | SetImage
    | SetUsage
    | AddTaints
    | RemoveTaints
    | OnNodes
    | RecordedAction
)


@dataclass(slots=True, frozen=True)
class TimedEvent:
    """An action at a time, in nanoseconds since the start of the run."""

    at: int
    #: As it is written, such as ``failNode``.
    word: str
    action: Action
    #: Where it stands in the scenario.
    place: Path = ()
    #: What it is called where it stands in none; empty if it is not worth a line.
    text: str = ""


T = TypeVar("T")

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
#: What happens to the dependents of a deleted object: they go too, or stay.
_CASCADES: Final = {"background": BACKGROUND, "orphan": ORPHAN, "foreground": FOREGROUND}
#: Those whose pods can get other images; of a Job they cannot.
_WITH_IMAGES: Final = (*WITH_REPLICAS, "DaemonSet", "Pod")


class WrittenEvent(Struct, frozen=True, rename="camel"):
    """An event as it stands in a file."""

    at: Duration
    apply: Any = None
    delete: str | None = None
    scale: str | None = None
    label: str | None = None
    set_image: str | None = None
    set_usage: str | None = None
    taint: str | None = None
    untaint: str | None = None
    cordon: str | None = None
    uncordon: str | None = None
    drain: str | None = None
    fail_node: str | None = None
    restart_node: str | None = None
    to: Any = None
    with_: Any = field(default=None, name="with")
    cascade: Any = None


class MisfitError(Exception):
    """What is wrong with one word of an event."""

    def __init__(self, key: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.key, self.message, self.hint = key, message, hint


#: Returns the objects that ``apply`` names or holds; ValueError or InputError where there are none.
Objects = Callable[[Any], tuple[Manifest, ...]]


@dataclass(slots=True, frozen=True)
class _Written:
    """One event: its action, the action's value, and the value of its second key."""

    word: str
    what: Any
    more: Any
    objects: Objects

    def target(self, kinds: Iterable[str] = ()) -> Reference:
        """Return the object that it is about, of one of these kinds or (none) of any."""
        found = _parsed(self.word, parse_reference, self.what)
        if kinds and found.kind not in kinds:
            one_of = ", ".join(each.lower() for each in kinds)
            raise MisfitError(self.word, f"must be about one of {one_of}, not a {found.kind}")
        return found

    def nodes(self) -> NodeChoice:
        """Return the nodes that it is about."""
        return _parsed(self.word, parse_node_choice, self.what)

    def texts(self, key: str, example: str, check: Callable[[str], object]) -> dict[str, str]:
        """Return the mapping of texts behind ``to`` or ``with``, each of which ``check`` reads."""
        if not isinstance(self.more, Mapping) or not self.more:
            raise MisfitError(key, "must be a mapping", f"write {key}: {example}")
        found = {name: str(value) for name, value in self.more.items()}
        for name, value in found.items():
            if isinstance(self.more[name], (list, dict, bool, type(None))):
                raise MisfitError(key, f"{excerpt(name)} must be text", f"write {key}: {example}")
            _parsed(key, check, value)
        return found


def _parsed(key: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise MisfitError(key, str(error)) from error


def _apply(written: _Written) -> Action:
    return Apply(written.objects(written.what))


def _delete(written: _Written) -> Action:
    target, cascade = written.target(), "background" if written.more is None else written.more
    if cascade not in tuple(_CASCADES):
        raise MisfitError("cascade", f"must be one of {', '.join(_CASCADES)}", "write cascade: orphan")
    return Delete(target, _CASCADES[cascade])


def _scale(written: _Written) -> Action:
    target, replicas = written.target(WITH_REPLICAS), written.more
    if not isinstance(replicas, int) or isinstance(replicas, bool) or not 0 <= replicas < 2**31:
        raise MisfitError("to", "must be a number of pods", "write to: 3")
    return ScaleWorkload(target, replicas)


def _label(written: _Written) -> Action:
    target, labels = written.target(), written.more
    if not isinstance(labels, Mapping) or not labels:
        raise MisfitError("with", "must be a mapping", "write with: {zone: b}, and null to remove a label")
    for key, value in labels.items():
        if not isinstance(value, (str, type(None))):
            raise MisfitError("with", f"{excerpt(key)} must be text", "put it in quotes")
        for problem in (*key_problems(key), *value_problems(value or "")):
            raise MisfitError("with", f"{excerpt(key)}: {problem}")
    return SetLabels(target, dict(labels))


def _set_image(written: _Written) -> Action:
    return SetImage(written.target(_WITH_IMAGES), written.texts("to", "{web: nginx:1.29}", str))


def _set_usage(written: _Written) -> Action:
    usage = written.texts("to", "{cpu: 500m, memory: 1Gi}", parse_quantity)
    return SetUsage(written.target((*WITH_PODS, "Node")), usage)


def _taint(written: _Written) -> Action:
    example, nodes = "dedicated=db:NoSchedule", written.nodes()
    taints = _taints(written.more, example)
    if not all(each.effect for each in taints):
        raise MisfitError("with", "a taint needs an effect", f"write with: {example}")
    return AddTaints(nodes, taints)


def _untaint(written: _Written) -> Action:
    return RemoveTaints(written.nodes(), _taints(written.more, "dedicated:NoSchedule"))


def _taints(more: Any, example: str) -> tuple[Taint, ...]:
    texts = more if isinstance(more, list) else [more]
    if not texts or not all(isinstance(each, str) for each in texts):
        raise MisfitError("with", "must be a taint, or a list of taints", f"write with: {example}")
    return tuple(map(_read_taint, texts))


def _read_taint(text: str) -> Taint:
    """Read KEY, KEY:EFFECT, KEY=VALUE or KEY=VALUE:EFFECT, as kubectl does."""
    start, colon, effect = text.partition(":")
    key, _, value = start.partition("=")
    if colon and effect not in _EFFECTS:
        hint = did_you_mean(effect, _EFFECTS) or f"it is one of {', '.join(_EFFECTS)}"
        raise MisfitError("with", f'"{excerpt(effect)}" is no effect of a taint', hint)
    for problem in (*key_problems(key), *value_problems(value)):
        raise MisfitError("with", problem)
    return Taint(key, value, effect)


def _on_nodes(action: Callable[[NodeChoice], Action]) -> Callable[[_Written], Action]:
    return lambda written: action(written.nodes())


@dataclass(slots=True, frozen=True)
class _Word:
    """An action word: its name in the struct, its reader, and which word follows it; empty if none does."""

    attribute: str
    read: Callable[[_Written], Action]
    more: str = ""


#: By the word as it is written.
_WORDS: Final = {
    "apply": _Word("apply", _apply),
    "delete": _Word("delete", _delete, "cascade"),
    "scale": _Word("scale", _scale, "to"),
    "label": _Word("label", _label, "with"),
    "setImage": _Word("set_image", _set_image, "to"),
    "setUsage": _Word("set_usage", _set_usage, "to"),
    "taint": _Word("taint", _taint, "with"),
    "untaint": _Word("untaint", _untaint, "with"),
    "cordon": _Word("cordon", _on_nodes(Cordon)),
    "uncordon": _Word("uncordon", _on_nodes(Uncordon)),
    "drain": _Word("drain", _on_nodes(Drain)),
    "failNode": _Word("fail_node", _on_nodes(FailNode)),
    "restartNode": _Word("restart_node", _on_nodes(RestartNode)),
}


def read_event(written: WrittenEvent, place: Path, objects: Objects) -> TimedEvent:
    """Return what happens; MisfitError says which word is wrong, or (an empty word) that one is missing or too many."""
    given = [word for word, known in _WORDS.items() if getattr(written, known.attribute) is not None]
    if len(given) != 1:
        found = f"has {len(given)} actions ({', '.join(given)})" if given else "has no action"
        raise MisfitError("", found, f"write one of {', '.join(_WORDS)}")
    if written.at < 0:
        raise MisfitError("at", "must not be before the start")
    known = _WORDS[given[0]]
    more = {"to": written.to, "with": written.with_, "cascade": written.cascade}
    for key, value in more.items():
        if value is not None and key != known.more:
            raise MisfitError(key, f"means nothing to {given[0]}", f"write {known.more}" * bool(known.more))
    what = getattr(written, known.attribute)
    action = known.read(_Written(given[0], what, more.get(known.more), objects))
    return TimedEvent(written.at, given[0], action, place)
