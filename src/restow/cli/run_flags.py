"""The flags of ``restow run``: all of the Descheduler's, with its defaults, those that it had until v0.22, and restow's.

Each is declared once: type, default and help text. ``flag_checks`` reports values that cannot be used and flags without
effect; ``run_settings`` turns the flags into the settings of a descheduler.
Source: Descheduler 0.36, cmd/descheduler/app/options; descheduler-framework flags of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from cyclopts import Parameter

from restow.cli import options as option
from restow.cli.election_flags import ElectionFlags
from restow.cli.flag_values import comma_list, duration
from restow.cli.options import API_SERVER, CYCLES, LOGS, OLD, PLACEMENT, SERVER, TRACES, UNHEEDED
from restow.cli.server_flags import ServerFlags
from restow.kube.duration import SECOND
from restow.policies.codes import Placement

_KUBECONFIG = Parameter(
    name=["--client-connection-kubeconfig", "--kubeconfig"],
    group=API_SERVER,
    metavar="FILE",
    help="Kubeconfig for the API server. Default: KUBECONFIG, ~/.kube/config or the pod's service account.",
    show_default=False,
)
_V = Parameter(name=["-v", "--v"], group=LOGS, metavar="N", help="Log verbosity, 0 to 4.", allow_leading_hyphen=True)

_END = "--"


@dataclass(frozen=True, kw_only=True)
class Flags(ServerFlags, ElectionFlags):
    """What a run was started with. Names are the flags', with underscores; durations are nanoseconds."""

    descheduling_interval: Annotated[
        int,
        option.time_span(
            CYCLES, "Time from the start of one cycle to the start of the next; 0 runs one cycle and exits.", duration
        ),
    ] = 0
    policy_config_file: Annotated[
        str,
        option.value(CYCLES, "FILE", "DeschedulerPolicy, v1alpha1 or v1alpha2; reloaded when it changes."),
    ] = ""
    dry_run: Annotated[bool, option.switch(CYCLES, "Decide and log, but evict nothing.")] = False
    placement: Annotated[
        Placement | None,
        option.value(
            PLACEMENT, "HOW", "prove or upstream; overrides the policy. Default: what the policy sets, or prove."
        ),
    ] = None
    scheduler_config: Annotated[
        str,
        option.value(
            PLACEMENT, "FILE", "The cluster's KubeSchedulerConfiguration. Default: kube-scheduler's defaults."
        ),
    ] = ""
    confirm_replacements: Annotated[
        bool,
        option.switch(
            PLACEMENT, "Before each eviction, create the replacement in a dry run, and evict only if it is as planned."
        ),
    ] = False
    publish_plan: Annotated[
        str,
        option.value(
            CYCLES,
            "NAMESPACE/NAME",
            "ConfigMap to which each cycle writes a summary of its plan, and with --dry-run the plan.",
        ),
    ] = ""
    feature_gates: Annotated[
        tuple[str, ...], option.items(CYCLES, "NAME=BOOL", "EvictionsInBackground, AllAlpha or AllBeta.", comma_list)
    ] = ()
    client_connection_kubeconfig: Annotated[str, _KUBECONFIG] = ""
    client_connection_qps: Annotated[
        float, option.value(API_SERVER, "N", "Maximum requests per second; 0 means 50, a negative value no limit.")
    ] = 0.0
    client_connection_burst: Annotated[
        int, option.value(API_SERVER, "N", "Burst of requests allowed above that limit; 0 means 300.")
    ] = 0
    disable_metrics: Annotated[bool, option.switch(SERVER, "Do not serve metrics.")] = False
    logging_format: Annotated[Literal["text", "json"], option.value(LOGS, "FORM", "text or json.")] = "text"
    v: Annotated[int, _V] = 0
    otel_collector_endpoint: Annotated[
        str,
        option.value(TRACES, "HOST:PORT", "OTLP gRPC collector; needs the extra restow[tracing]."),
    ] = ""
    otel_transport_ca_cert: Annotated[
        str, option.value(TRACES, "FILE", "CA certificate of the collector; without it, no TLS.")
    ] = ""
    otel_service_name: Annotated[str, option.value(TRACES, "NAME", "Service name in traces.")] = "descheduler"
    otel_trace_namespace: Annotated[str, option.value(TRACES, "NAME", "Service namespace in traces.")] = ""
    otel_sample_rate: Annotated[float, option.value(TRACES, "SHARE", "Fraction of cycles to trace, 0 to 1.")] = 1.0
    otel_fallback_no_op_on_error: Annotated[
        bool, option.switch(TRACES, "Run without tracing if it cannot be set up. This is always so.")
    ] = False
    node_selector: Annotated[
        str | None, option.value(OLD, "LABELS", "Process only these nodes, unless the policy sets it.")
    ] = None
    max_pods_to_evict_per_node: Annotated[
        int | None, option.value(OLD, "N", "Evict at most N pods per node (0: no limit), unless the policy sets it.")
    ] = None
    evict_local_storage_pods: Annotated[
        bool, option.switch(OLD, "Also evict pods with local storage, unless the policy sets it.")
    ] = False
    cert_dir: Annotated[str, option.value(UNHEEDED, "DIRECTORY", "")] = "apiserver.local.config/certificates"
    tls_curve_preferences: Annotated[tuple[str, ...], option.items(UNHEEDED, "IDS", "")] = ()
    enable_http2: Annotated[bool, option.switch(UNHEEDED, "")] = False
    disable_http2_serving: Annotated[bool, option.switch(UNHEEDED, "")] = False
    http2_max_streams_per_connection: Annotated[int, option.value(UNHEEDED, "N", "")] = 0
    permit_address_sharing: Annotated[bool, option.switch(UNHEEDED, "")] = False
    vmodule: Annotated[str, option.value(UNHEEDED, "PATTERNS", "")] = ""
    log_flush_frequency: Annotated[int, option.time_span(UNHEEDED, "", duration)] = 5 * SECOND
    log_text_split_stream: Annotated[bool, option.switch(UNHEEDED, "")] = False
    log_json_split_stream: Annotated[bool, option.switch(UNHEEDED, "")] = False
    log_text_info_buffer_size: Annotated[str, option.value(UNHEEDED, "QUANTITY", "")] = "0"
    log_json_info_buffer_size: Annotated[str, option.value(UNHEEDED, "QUANTITY", "")] = "0"


# A flag may be repeated, and the last one counts; a value may begin with a hyphen; words may be joined by underscores;
# a switch takes its value only after an equals sign. cyclopts reads the rest by itself.
# Source: pflag 1.0.
def last_ones(arguments: Sequence[str], flags: type[ElectionFlags], aliases: Mapping[str, str]) -> list[str]:
    """Return the arguments with each flag in one piece, ``--name=value``, and only its last value unless it is a list.

    ``aliases`` are names for other flags, without the hyphens.
    """
    kinds = {each.name.replace("_", "-"): each.default for each in fields(flags)}
    switches = {"help", *(name for name, default in kinds.items() if isinstance(default, bool))}
    kept: dict[str, str] = {}
    for at, (name, text) in enumerate(_pieces(arguments, switches, {"h": "help", **aliases})):
        key = f"{name} {at}" if not name or isinstance(kinds.get(name), tuple) else name
        kept.pop(key, None)
        kept[key] = text
    return list(kept.values())


def _pieces(
    arguments: Sequence[str], switches: Collection[str], aliases: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Each flag with its name, everything else with none."""
    rest = iter(arguments)
    for argument in rest:
        if argument == _END:
            yield from (("", each) for each in (_END, *rest))
        elif not argument.startswith("-") or argument == "-":
            yield "", argument
        else:
            name, separator, value = _flag(argument)
            name = aliases.get(name, name)
            if not separator and name not in switches:
                following = next(rest, None)
                separator, value = ("", "") if following is None else ("=", following)
            yield name, f"--{name}{separator}{value}"


def _flag(argument: str) -> tuple[str, str, str]:
    """Name, equals sign and value; ``-v4`` is ``-v=4``."""
    if argument.startswith("--"):
        name, separator, value = argument.removeprefix("--").partition("=")
        return name.replace("_", "-"), separator, value
    name, value = argument[1], argument[2:].removeprefix("=")
    return name, "=" if argument[2:] else "", value
