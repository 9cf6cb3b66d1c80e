"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

#: The forms in which a plan can be written.
Output = Literal["table", "wide", "json", "yaml", "html"]

#: How moves are placed; the same as in ``descheduling.plan``, which a help text need not wait for.
Placement = Literal["prove", "upstream"]

#: Stands for standard input wherever a file can be named.
STDIN = "-"


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
        help="A dump of the cluster: a file, a directory, or - for standard input; JSON or YAML, also .gz. "
        "Can be repeated. Without it the live cluster is read.",
    ),
]
NoSizeLimit = Annotated[
    bool,
    Parameter(
        show_default=False,
        help="Read packed and piped dumps of any size. Without it what looks like a bomb is refused.",
    ),
]
Kubeconfig = Annotated[
    str | None,
    PATHS,
    Parameter(
        metavar="FILE",
        help="How to reach the live cluster; without it KUBECONFIG, ~/.kube/config or the pod's service account.",
    ),
]
Context = Annotated[
    str | None, Parameter(metavar="NAME", help="The context of the kubeconfig; without it the current one.")
]

#: The policy and the schedulers of a plan, and its time.
PolicyConfigFile = Annotated[
    str | None,
    PATHS,
    Parameter(
        metavar="FILE",
        help="A DeschedulerPolicy, v1alpha1 or v1alpha2, or - for standard input; without it a bundled one.",
    ),
]
SchedulerConfig = Annotated[
    str | None,
    PATHS,
    Parameter(
        metavar="FILE",
        help="A KubeSchedulerConfiguration (v1), or - for standard input; without it kube-scheduler's defaults.",
    ),
]
Now = Annotated[
    str | None,
    Parameter(metavar="TIME", help="The time of the answer, such as 2026-11-21T00:00:00Z; without it the clock's."),
]

#: Forms and additions of what is written.
TableOrJson = Annotated[
    Literal["table", "json"], Parameter(name=["-o", "--output"], metavar="FORM", help="table or json.")
]
WithTimings = Annotated[bool, Parameter(show_default=False, help="Add the seconds of each phase to the metadata.")]
Verbosity = Annotated[
    int,
    Parameter(
        name=["-v", "--v"],
        metavar="N",
        help="1 tells on stderr how long each phase took, 2 also where an unexpected error came from.",
        show_default=False,
    ),
]
