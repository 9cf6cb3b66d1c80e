"""The flags of ``restow run``.

They are all of the Descheduler's, with its defaults, those that it had until v0.22, and restow's. Each is declared once: type,
default, help text, and of one without effect the reason. ``run_settings`` turns them into the settings of a descheduler.
Source: Descheduler 0.36, cmd/descheduler/app/options; descheduler-framework flags of Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from restow.cli import options as option
from restow.cli.daemon_flags import ElectionFlags, LoggingFormat, ServerFlags
from restow.cli.go_flags import comma_list, duration
from restow.cli.options import API_SERVER, CYCLES, LOGS, OLD, PLACEMENT, SERVER, TRACES, UNHEEDED
from restow.kube.duration import SECOND
from restow.policies.codes import Placement

_KUBECONFIG = Parameter(
    name=["--client-connection-kubeconfig", "--kubeconfig"],
    group=API_SERVER,
    metavar="FILE",
    help=option.KUBECONFIG_OF_A_DAEMON,
    show_default=False,
)
_HTTP2 = option.Ignored("only HTTP/1.1 is served")
_STREAM = option.Ignored("everything goes to stderr")
_BUFFERS = option.Ignored("lines are written one by one")
_V = Parameter(name=["-v", "--v"], group=LOGS, metavar="N", help="Log verbosity, 0 to 4.", allow_leading_hyphen=True)


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
    shadow: Annotated[
        bool,
        option.switch(
            CYCLES, "Evict nothing; forecast and judge the evictions that others make, such as the Descheduler's."
        ),
    ] = False
    shadow_reports: Annotated[
        str, option.value(CYCLES, "DIRECTORY", "Where --shadow writes a page and a JSON file for each day.")
    ] = ""
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
    history: Annotated[
        str,
        option.value(
            CYCLES, "FILE", "SQLite file in which cycles, moves and their results are kept; restow history reads it."
        ),
    ] = ""
    history_days: Annotated[int, option.value(CYCLES, "N", "Days for which --history keeps them.")] = 30
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
    logging_format: LoggingFormat = "text"
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
    cert_dir: Annotated[
        str,
        option.value(UNHEEDED, "DIRECTORY", ""),
        option.Ignored("nothing is written; the certificate is made in memory, as by the Descheduler"),
    ] = "apiserver.local.config/certificates"
    tls_curve_preferences: Annotated[
        tuple[str, ...], option.items(UNHEEDED, "IDS", ""), option.Ignored("the curves are OpenSSL's")
    ] = ()
    enable_http2: Annotated[bool, option.switch(UNHEEDED, ""), _HTTP2] = False
    disable_http2_serving: Annotated[bool, option.switch(UNHEEDED, ""), _HTTP2] = False
    http2_max_streams_per_connection: Annotated[int, option.value(UNHEEDED, "N", ""), _HTTP2] = 0
    permit_address_sharing: Annotated[bool, option.switch(UNHEEDED, "")] = False
    vmodule: Annotated[
        str, option.value(UNHEEDED, "PATTERNS", ""), option.Ignored("its patterns name files of the Descheduler")
    ] = ""
    log_flush_frequency: Annotated[int, option.time_span(UNHEEDED, "", duration)] = 5 * SECOND
    log_text_split_stream: Annotated[bool, option.switch(UNHEEDED, ""), _STREAM] = False
    log_json_split_stream: Annotated[bool, option.switch(UNHEEDED, ""), _STREAM] = False
    log_text_info_buffer_size: Annotated[str, option.value(UNHEEDED, "QUANTITY", ""), _BUFFERS] = "0"
    log_json_info_buffer_size: Annotated[str, option.value(UNHEEDED, "QUANTITY", ""), _BUFFERS] = "0"
