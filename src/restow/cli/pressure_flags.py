"""The flags of ``restow pressure`` itself: those of a dynamic scheduler in their short spelling, and those of every daemon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Group, Parameter, Token

from restow.cli import options, pressure_options
from restow.cli.election_flags import ElectionFlags
from restow.cli.flag_values import duration
from restow.cli.options import ELECTION, LOGS, PATHS, FlagError
from restow.kube.duration import MINUTE, SECOND, format_duration

RULES = Group("Rules and marks", sort_key=1)
PROMETHEUS = Group("Prometheus", sort_key=2)
API_SERVER = Group("API server", sort_key=3)
PAGES = Group("Pages", sort_key=5)


def _seconds(text: str) -> int:
    """Nanoseconds of a duration, or of a number of seconds."""
    return duration(f"{text}s" if text.replace(".", "", 1).isdigit() else text)


def _time_span(name: str | list[str], meaning: str) -> Parameter:
    def read(_: object, tokens: tuple[Token, ...]) -> int:
        text = tokens[-1].value
        try:
            return _seconds(text)
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

    rules: Annotated[pressure_options.Rules, Parameter(group=RULES)]
    prometheus_url: Annotated[pressure_options.Url, Parameter(group=PROMETHEUS)]
    interval: Annotated[int, _time_span(["-s", "--interval"], "Time between two rounds of queries; 10 is 10s.")] = (
        10 * SECOND
    )
    grace_period: Annotated[
        int, _time_span("--grace-period", "How long marks stay where a node has no value any more.")
    ] = 5 * MINUTE
    after_grace: Annotated[
        Literal["clear", "stay"],
        Parameter(group=RULES, metavar="WHAT", help="What becomes of marks then: clear or stay."),
    ] = "clear"
    label: Annotated[pressure_options.Label, Parameter(group=RULES)] = "status=presure"
    max_share: Annotated[pressure_options.Share, Parameter(group=RULES)] = 0.5
    dry_run: Annotated[bool, Parameter(group=RULES, show_default=False, help="Judge and log, but write nothing.")] = (
        False
    )
    prometheus_token_file: Annotated[pressure_options.Token, Parameter(group=PROMETHEUS)] = None
    prometheus_ca_file: Annotated[pressure_options.Authorities, Parameter(group=PROMETHEUS)] = None
    prometheus_cert_file: Annotated[pressure_options.Certificate, Parameter(group=PROMETHEUS)] = None
    prometheus_key_file: Annotated[pressure_options.Key, Parameter(group=PROMETHEUS)] = None
    prometheus_header: Annotated[pressure_options.Headers, Parameter(group=PROMETHEUS)] = None
    kubeconfig: Annotated[pressure_options.Kubeconfig, Parameter(group=API_SERVER)] = None
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
    logging_format: Annotated[Literal["text", "json"], Parameter(group=LOGS, metavar="FORM", help="text or json.")] = (
        "text"
    )
    v: Annotated[int, Parameter(name=["-v", "--v"], group=LOGS, metavar="N", help="Log verbosity, 0 to 4.")] = 0
