"""Options that several commands share, those of daemons among them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

from restow.kube.duration import format_duration

#: Stands for standard input in place of a file.
STDIN = "-"

CYCLES = Group("Cycles and policy", sort_key=1)
PLACEMENT = Group("Placement", sort_key=2)
API_SERVER = Group("API server", sort_key=3)
ELECTION = Group("Leader election", sort_key=4)
SERVER = Group("HTTPS server", sort_key=5)
LOGS = Group("Logs", sort_key=6)
TRACES = Group("Traces", sort_key=7)
OLD = Group("Flags of Descheduler 0.10 to 0.22", sort_key=8)
UNHEEDED = Group("Accepted, but without effect", sort_key=9)


#: A duration in days, which Go does not know.
_DAYS = re.compile(r"([0-9]{1,6})d")


class NotAPathError(ValueError):
    """An option where a path should be: it is unknown, or the path is missing."""


class FlagError(ValueError):
    """A value that a flag of the Descheduler cannot take, in the words that Go has for it."""


def _no_option(_type: object, given: str | list[str] | None) -> None:
    for path in [given] if isinstance(given, str) else given or []:
        if path.startswith("-") and path != STDIN:
            raise NotAPathError(f"Unknown option: {path}. A file of that name is ./{path}")


#: How a parameter takes paths, among them the lone hyphen.
PATHS = Parameter(allow_leading_hyphen=True, validator=_no_option)

#: The cluster of a command: dumps, or how to reach the API server where none is named.
Filename = Annotated[
    list[str] | None,
    PATHS,
    Parameter(
        name=["-f", "--filename"],
        metavar="PATH",
        help="Dump of a cluster: a file, a directory, or - for standard input; JSON or YAML, or usage as CSV, optionally .gz. "
        "Repeatable. Without -f, restow reads the live cluster.",
    ),
]
NoSizeLimit = Annotated[
    bool,
    Parameter(
        show_default=False,
        help="Read compressed and piped dumps of any size. By default, suspiciously large ones are refused.",
    ),
]
Kubeconfig = Annotated[
    str | None,
    PATHS,
    Parameter(
        metavar="FILE",
        help="Kubeconfig for the live cluster. Default: KUBECONFIG, ~/.kube/config or the pod's service account.",
    ),
]
Context = Annotated[str | None, Parameter(metavar="NAME", help="Kubeconfig context to use. Default: the current one.")]
Contexts = Annotated[
    list[str] | None,
    Parameter(
        metavar="PATTERN",
        negative=(),
        help="Many clusters: every kubeconfig context whose name matches, such as 'prod-*'. Repeatable.",
    ),
]
Snapshots = Annotated[
    str | None,
    PATHS,
    Parameter(
        metavar="DIRECTORY",
        help="Many clusters: each file, or each directory, in this directory is a dump of one.",
    ),
]

#: The policy and the schedulers of a plan, and its time.
PolicyConfigFile = Annotated[
    str | None,
    PATHS,
    Parameter(
        metavar="FILE",
        help="DeschedulerPolicy, v1alpha1 or v1alpha2, or - for standard input. Default: a bundled policy.",
    ),
]
SchedulerConfig = Annotated[
    str | None,
    PATHS,
    Parameter(
        metavar="FILE",
        help="KubeSchedulerConfiguration (v1), or - for standard input. Default: kube-scheduler's defaults.",
    ),
]
SchedulerVersion = Annotated[
    str | None,
    Parameter(
        metavar="VERSION",
        help="Version of the cluster's kube-scheduler, 1.33 to 1.37. Default: the API server's; for a dump, 1.36.",
    ),
]
Now = Annotated[
    str | None,
    Parameter(metavar="TIME", help="Decide as of this time, such as 2026-11-21T00:00:00Z. Default: now."),
]

#: Forms and additions of what is written.
TableOrJson = Annotated[
    Literal["table", "json"], Parameter(name=["-o", "--output"], metavar="FORM", help="table or json.")
]
WithTimings = Annotated[
    bool, Parameter(show_default=False, help="Add the duration of each phase, in seconds, to the metadata.")
]
Verbosity = Annotated[
    int,
    Parameter(
        name=["-v", "--v"],
        metavar="N",
        help="1 prints how long each phase took to stderr; 2 adds the traceback of an unexpected error.",
        show_default=False,
    ),
]


@dataclass(slots=True, frozen=True)
class Ignored:
    """Stands in the declaration of a flag that is accepted for the sake of existing command lines, and has no effect."""

    why: str


KUBECONFIG_OF_A_DAEMON = (
    "Kubeconfig for the API server. Default: KUBECONFIG, ~/.kube/config or the pod's service account."
)
PROMETHEUS_URL = "Prometheus, such as http://prometheus:9090; user and password may stand in front of the host."
PROMETHEUS_TOKEN = "File with a bearer token for Prometheus, such as that of a service account."  # noqa: S105
PROMETHEUS_AUTHORITIES = "File with the certificates of the authorities that a https:// Prometheus is checked against."
Yes = Annotated[
    bool, Parameter(name=["-y", "--yes"], show_default=False, help="Do not ask; required without a terminal.")
]


def switch(group: Group, meaning: str) -> Parameter:
    """A flag that is on or off."""
    return Parameter(group=group, help=meaning, show_default=False)


def value(group: Group, metavar: str, meaning: str) -> Parameter:
    """A flag that is read by its type."""
    return Parameter(group=group, metavar=metavar, help=meaning, allow_leading_hyphen=True, show_default=_shown(group))


def time_span(group: Group, meaning: str, read: Callable[[str], int]) -> Parameter:
    """A flag that takes a duration."""
    return Parameter(
        group=group,
        metavar="DURATION",
        help=meaning,
        show_default=_shown(group, format_duration),
        n_tokens=1,
        converter=lambda _, tokens: _read(read, tokens[-1].value, tokens[-1]),
    )


def items(group: Group, metavar: str, meaning: str, read: Callable[[Sequence[str]], Any] = tuple) -> Parameter:
    """A flag that can be repeated."""
    return Parameter(
        group=group,
        metavar=metavar,
        help=meaning,
        show_default=False,
        n_tokens=1,
        converter=lambda _, tokens: _read(read, [token.value for token in tokens], tokens[-1]),
    )


def _shown(group: Group, form: Callable[[Any], str] = str) -> Callable[[Any], str] | bool:
    """How a default is shown: where there is one, and it says something."""
    if group is UNHEEDED:
        return False
    return lambda default: "" if default in ("", None) else form(default)


def _read(reader: Callable[[Any], Any], given: Any, token: Token) -> Any:
    try:
        return reader(given)
    except ValueError as error:
        days = _DAYS.fullmatch(token.value)
        hint = f"; write {24 * int(days[1])}h" if days and 'unknown unit "d"' in str(error) else ""
        raise FlagError(f'invalid argument "{token.value}" for "{token.keyword}" flag: {error}{hint}') from error
