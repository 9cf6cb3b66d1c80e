"""The declaration of a scheduler plugin: its name, extension points, arguments, and how to build it.

It stands in the plugin's own file, as ``PLUGIN``. Everything that a configuration can do with the plugin follows from
it, so no other code needs to know the plugin by name. What is wrong with a field of its arguments is said in the words
of Kubernetes' field errors (``invalid``, ``required`` ...). Source: the registry of in-tree plugins, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from msgspec import Struct

from restow.documents.findings import Issue, Path
from restow.kube import validation
from restow.kube.excerpts import excerpt
from restow.kube.validation import key_problems

if TYPE_CHECKING:
    from restow.scheduling.framework.context import Context
    from restow.scheduling.framework.post_filtering import Handle, PostFilterPlugin
    from restow.scheduling.framework.requeueing import Interest, PreEnqueue

#: A point at which plugins run. Each is a key of ``plugins`` in a configuration.
Point = Literal[
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
    "placementGenerate",
    "placementScore",
]
#: In the order in which kube-scheduler builds a profile.
POINTS: Final[tuple[Point, ...]] = get_args(Point)


class SchedulerPluginArgs(Struct, frozen=True, rename="camel", kw_only=True):
    """Fields of all plugin arguments; a plugin's own derive from it, with the field names of the API."""

    api_version: str = ""
    kind: str = ""


class Availability(Enum):
    """Whether a plugin runs without being asked for."""

    #: It runs at all its points unless a configuration disables it.
    DEFAULT = "default"
    #: It runs where a configuration enables it.
    OPTIONAL = "optional"
    #: It is behind a feature gate that is off, so no configuration can enable it.
    GATED = "gated"


def no_problems(_args: Any) -> Iterable[Issue]:
    """Accept any arguments."""
    return ()


def unchanged(args: Any) -> Any:
    """Return the arguments as they are: most plugins fill in nothing."""
    return args


@dataclass(slots=True, frozen=True)
class SchedulerPlugin:
    """One plugin as configurations and profiles see it."""

    #: As in a KubeSchedulerConfiguration.
    name: str
    #: Where it can run.
    points: tuple[Point, ...]
    #: Makes what filters or scores (``framework.FilterPlugin``, ``ScorePlugin``, or both) in one scheduler on one state, with the arguments of its profile; None
    #: where no decision depends on the plugin there.
    make: Callable[[Context, Any], object] | None = None
    #: Makes what runs at postFilter.
    make_post_filter: Callable[[Handle, Any], PostFilterPlugin] | None = None
    #: What ``pluginConfig[].args`` decodes to; None for a plugin without arguments.
    args: type[SchedulerPluginArgs] | None = None
    #: What is wrong with arguments that have their defaults; paths begin at the arguments.
    check: Callable[[Any], Iterable[Issue]] = no_problems
    #: The arguments as the plugin gets them, with defaults that depend on what is written.
    with_defaults: Callable[[Any], Any] = unchanged
    #: Whether arguments are checked where the plugin runs nowhere.
    is_checked_when_idle: bool = True
    #: Among the default scores.
    weight: int = 1
    availability: Availability = Availability.DEFAULT
    #: What restow leaves out; empty for a plugin that it has, or that no decision depends on.
    not_modelled: str = ""
    #: The points where it fails without having run before: at preScore before score, at preFilter before all others.
    dependent: tuple[Point, ...] = ()
    #: Whether pods that it would have ruled out at preFilter pass its filter where preFilter is not enabled.
    is_lenient: bool = False
    #: Whether it keeps pods with scheduling gates out of the queue.
    holds_gated_pods: bool = False
    #: Why a pod may not be tried now (PreEnqueue); None if the plugin has no such rule.
    pre_enqueue: PreEnqueue | None = None
    #: The kinds that it reads and that none of kube-scheduler's own plugins reads.
    kinds: tuple[str, ...] = ()
    #: Which events can help a pod that it rejected; None where it does not say, and any event may.
    interests: tuple[Interest, ...] | None = None


def invalid(path: Path, value: str | int, detail: str) -> Issue:
    """``Invalid value: 7: detail``."""
    shown = validation.quote(value) if isinstance(value, str) else excerpt(value)
    return Issue(path, f"Invalid value: {shown}: {detail}")


def required(path: Path, detail: str) -> Issue:
    """``Required value: detail``."""
    return Issue(path, f"Required value: {detail}")


def forbidden(path: Path, detail: str) -> Issue:
    """``Forbidden: detail``."""
    return Issue(path, f"Forbidden: {detail}")


def duplicate(path: Path, value: str) -> Issue:
    """``Duplicate value: "x"``."""
    return Issue(path, f"Duplicate value: {validation.quote(value)}")


def not_supported(path: Path, value: str, supported: Iterable[str]) -> Issue:
    """``Unsupported value: "x": supported values: "a", "b"``."""
    return Issue(path, validation.not_supported("", value, supported).removeprefix(": "))


def out_of_range(path: Path, value: int, lowest: int, highest: int) -> list[Issue]:
    """Empty for a value from the lowest to the highest."""
    if lowest <= value <= highest:
        return []
    return [invalid(path, value, f"not in valid range [{lowest}, {highest}]")]


def not_a_label(path: Path, name: str) -> list[Issue]:
    """Empty for what could be the key of a label."""
    return [invalid(path, name, problem) for problem in key_problems(name)]
