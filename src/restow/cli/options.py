"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

#: The forms in which a plan can be written.
Output = Literal["table", "wide", "json", "yaml", "html"]

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

Verbosity = Annotated[
    int,
    Parameter(
        name=["-v", "--v"],
        metavar="N",
        help="1 tells on stderr how long each phase took, 2 also where an unexpected error came from.",
        show_default=False,
    ),
]
