"""Options that ``restow pressure`` and ``restow pressure check`` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from cyclopts import Parameter

from restow.cli.options import PATHS

_RULES_HELP = "Rule file: the queries and their thresholds."
_URL_HELP = "Prometheus, such as http://prometheus:9090; user and password may stand in front of the host."
_TOKEN_FILE_HELP = "File with a bearer token for Prometheus, such as that of a service account."  # noqa: S105
_AUTHORITIES_HELP = "File with the certificates of the authorities that a https:// Prometheus is checked against."
_CERTIFICATE_HELP = "Our own certificate, for a https:// Prometheus that asks for one."
_HEADER_HELP = "A header for Prometheus, such as 'X-Scope-OrgID: team-a'. Repeatable."
_LABEL_HELP = "Label of a node under pressure; a taint has the same key and value."
_SHARE_HELP = "Share of all nodes that one rule may mark; one that would mark more marks none."
_KUBECONFIG_HELP = "Kubeconfig of the cluster. Default: KUBECONFIG, ~/.kube/config or the pod's service account."

Rules = Annotated[str, PATHS, Parameter(name=["-r", "--rules"], metavar="FILE", help=_RULES_HELP)]
Url = Annotated[str, Parameter(name=["--prometheus-url", "-prom"], metavar="URL", help=_URL_HELP)]
Token = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_TOKEN_FILE_HELP)]
Authorities = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_AUTHORITIES_HELP)]
Certificate = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_CERTIFICATE_HELP)]
Key = Annotated[str | None, PATHS, Parameter(metavar="FILE", help="The key of that certificate.")]
Headers = Annotated[
    list[str] | None, Parameter(name="--prometheus-header", metavar="HEADER", help=_HEADER_HELP, negative=())
]
Label = Annotated[str, Parameter(metavar="KEY=VALUE", help=_LABEL_HELP)]
Share = Annotated[float, Parameter(metavar="SHARE", help=_SHARE_HELP)]
Kubeconfig = Annotated[
    str | None, PATHS, Parameter(name=["--kubeconfig", "-kubeconfig"], metavar="FILE", help=_KUBECONFIG_HELP)
]

#: The short spellings, which Go's flags take with one hyphen or two, and with or without an equals sign.
_SHORT: Final = {
    "prom": "--prometheus-url",
    "kubeconfig": "--kubeconfig",
    "r": "--rules",
    "s": "--interval",
    "webaddr": "--listen",
}


def canonical(arguments: Sequence[str]) -> list[str]:
    """Return the arguments after ``pressure`` with the long spelling of each option."""
    return [_long(each) for each in arguments]


def _long(argument: str) -> str:
    name, equals, value = argument.partition("=")
    known = _SHORT.get(name.lstrip("-")) if name.startswith("-") and not name.startswith("---") else None
    return f"{known}{equals}{value}" if known is not None else argument
