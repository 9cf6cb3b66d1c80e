"""The flags of ``restow pressure``: those of a dynamic scheduler, in their short spelling too, and those of every daemon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import cyclopts
from cyclopts import Group, Parameter

from restow.cli import options
from restow.cli.daemon_flags import ElectionFlags, LoggingFormat
from restow.cli.go_flags import duration
from restow.cli.options import ELECTION, LOGS, PATHS, FlagError
from restow.kube.duration import MINUTE, SECOND, format_duration

if TYPE_CHECKING:
    pass


RULES = Group("Rules and marks", sort_key=1)
PROMETHEUS = Group("Prometheus", sort_key=2)
API_SERVER = Group("API server", sort_key=3)
PAGES = Group("Pages", sort_key=5)

_RULES_HELP = "Rule file: the queries and their thresholds."
_CERTIFICATE_HELP = "Our own certificate, for a https:// Prometheus that asks for one."
_HEADER_HELP = "A header for Prometheus, such as 'X-Scope-OrgID: team-a'. Repeatable."
_LABEL_HELP = "Label of a node under pressure; a taint has the same key and value."
_SHARE_HELP = "Share of all nodes that one rule may mark; a rule above this share marks no node."
_KUBECONFIG_HELP = "Kubeconfig of the cluster. Default: KUBECONFIG, ~/.kube/config or the pod's service account."

Rules = Annotated[str, PATHS, Parameter(name=["-r", "--rules"], metavar="FILE", help=_RULES_HELP)]
Url = Annotated[str, Parameter(name=["--prometheus-url", "-prom"], metavar="URL", help=options.PROMETHEUS_URL)]
Token = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=options.PROMETHEUS_TOKEN)]
Authorities = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=options.PROMETHEUS_AUTHORITIES)]
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


def _nanoseconds(text: str) -> int:
    """Nanoseconds of a duration, or of a number of seconds."""
    return duration(f"{text}s" if text.replace(".", "", 1).isdigit() else text)


def _time_span(name: str | list[str], meaning: str) -> Parameter:
    def read(_: object, tokens: tuple[cyclopts.Token, ...]) -> int:
        text = tokens[-1].value
        try:
            return _nanoseconds(text)
        except ValueError as error:
            raise FlagError(f'invalid argument "{text}" for "{tokens[-1].keyword}" flag: {error}') from error

    return Parameter(
        name=name,
        group=RULES,
        metavar="DURATION",
        help=meaning,
        n_tokens=1,
        converter=read,
        show_default=format_duration,
        allow_leading_hyphen=True,
    )


@dataclass(frozen=True, kw_only=True)
class PressureFlags(ElectionFlags):
    """What a daemon was started with; durations are nanoseconds."""

    rules: Annotated[Rules, Parameter(group=RULES)]
    prometheus_url: Annotated[Url, Parameter(group=PROMETHEUS)]
    interval: Annotated[int, _time_span(["-s", "--interval"], "Time between two rounds of queries; 10 is 10s.")] = (
        10 * SECOND
    )
    grace_period: Annotated[
        int, _time_span("--grace-period", "How long marks stay where a node has no value any more.")
    ] = 5 * MINUTE
    after_grace: Annotated[
        Literal["clear", "stay"],
        Parameter(group=RULES, metavar="WHAT", help="What to do with marks then: clear or stay."),
    ] = "clear"
    label: Annotated[Label, Parameter(group=RULES)] = "status=presure"
    max_share: Annotated[Share, Parameter(group=RULES)] = 0.5
    dry_run: Annotated[bool, Parameter(group=RULES, show_default=False, help="Judge and log, but write nothing.")] = (
        False
    )
    prometheus_token_file: Annotated[Token, Parameter(group=PROMETHEUS)] = None
    prometheus_ca_file: Annotated[Authorities, Parameter(group=PROMETHEUS)] = None
    prometheus_cert_file: Annotated[Certificate, Parameter(group=PROMETHEUS)] = None
    prometheus_key_file: Annotated[Key, Parameter(group=PROMETHEUS)] = None
    prometheus_header: Annotated[Headers, Parameter(group=PROMETHEUS)] = None
    kubeconfig: Annotated[Kubeconfig, Parameter(group=API_SERVER)] = None
    leader_elect_resource_name: Annotated[str, options.value(ELECTION, "NAME", "Name of the lease.")] = (
        "restow-pressure"
    )
    listen: Annotated[
        str,
        Parameter(
            name=["--listen", "-webaddr"],
            group=PAGES,
            metavar="ADDRESS",
            help="Address of the pages, such as :9000 or 127.0.0.1:9000; empty for none.",
        ),
    ] = ":9000"
    tls_cert_file: Annotated[
        str | None,
        PATHS,
        Parameter(group=PAGES, metavar="FILE", help="Certificate chain of the pages. Default: plain HTTP."),
    ] = None
    tls_private_key_file: Annotated[
        str | None, PATHS, Parameter(group=PAGES, metavar="FILE", help="Private key of that certificate.")
    ] = None
    logging_format: LoggingFormat = "text"
    v: Annotated[int, Parameter(name=["-v", "--v"], group=LOGS, metavar="N", help="Log verbosity, 0 to 4.")] = 0
