"""``restow run``: the descheduler, once or for ever, with the Kubernetes Descheduler's flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Literal

from cyclopts import Parameter

from restow.cli import run_options as option
from restow.cli.go_flags import last_ones
from restow.cli.run_options import API_SERVER, CYCLES, ELECTION, LOGS, OLD, PLACEMENT, SERVER, TRACES, UNHEEDED
from restow.running.flag_values import comma_list, duration
from restow.running.flags import Flags

EXAMPLES = """Examples:
  restow run --policy-config-file policy.yaml --dry-run
  restow run --policy-config-file policy.yaml --descheduling-interval 5m --v 3
  restow run --policy-config-file policy.yaml --descheduling-interval 5m \\
    --leader-elect --logging-format json
"""

_KUBECONFIG = Parameter(
    name=["--client-connection-kubeconfig", "--kubeconfig"],
    group=API_SERVER,
    metavar="FILE",
    help="Kubeconfig for the API server. Default: KUBECONFIG, ~/.kube/config or the pod's service account.",
    show_default=False,
)
_V = Parameter(name=["-v", "--v"], group=LOGS, metavar="N", help="Log verbosity, 0 to 4.", allow_leading_hyphen=True)


def run(
    *,
    descheduling_interval: Annotated[
        int,
        option.time_span(
            CYCLES, "Time from the start of one cycle to the start of the next; 0 runs one cycle and exits.", duration
        ),
    ] = Flags.descheduling_interval,
    policy_config_file: Annotated[
        str,
        option.value(CYCLES, "FILE", "DeschedulerPolicy, v1alpha1 or v1alpha2; reloaded when it changes."),
    ] = Flags.policy_config_file,
    dry_run: Annotated[bool, option.switch(CYCLES, "Decide and log, but evict nothing.")] = Flags.dry_run,
    placement: Annotated[
        Literal["prove", "upstream"] | None,
        option.value(
            PLACEMENT, "HOW", "prove or upstream; overrides the policy. Default: what the policy sets, or prove."
        ),
    ] = Flags.placement,
    scheduler_config: Annotated[
        str,
        option.value(
            PLACEMENT, "FILE", "The cluster's KubeSchedulerConfiguration. Default: kube-scheduler's defaults."
        ),
    ] = Flags.scheduler_config,
    feature_gates: Annotated[
        tuple[str, ...], option.items(CYCLES, "NAME=BOOL", "EvictionsInBackground, AllAlpha or AllBeta.", comma_list)
    ] = (),
    client_connection_kubeconfig: Annotated[str, _KUBECONFIG] = Flags.client_connection_kubeconfig,
    client_connection_qps: Annotated[
        float, option.value(API_SERVER, "N", "Maximum requests per second; 0 means 50, a negative value no limit.")
    ] = Flags.client_connection_qps,
    client_connection_burst: Annotated[
        int, option.value(API_SERVER, "N", "Burst of requests allowed above that limit; 0 means 300.")
    ] = Flags.client_connection_burst,
    leader_elect: Annotated[
        bool, option.switch(ELECTION, "Evict only while holding a lease, so that several replicas can run.")
    ] = Flags.leader_elect,
    leader_elect_lease_duration: Annotated[
        int,
        option.time_span(
            ELECTION, "How long other replicas wait after the leader's last renewal before they take over.", duration
        ),
    ] = Flags.leader_elect_lease_duration,
    leader_elect_renew_deadline: Annotated[
        int,
        option.time_span(ELECTION, "How long the leader keeps trying to renew the lease before it stops.", duration),
    ] = Flags.leader_elect_renew_deadline,
    leader_elect_retry_period: Annotated[
        int, option.time_span(ELECTION, "Time between attempts to acquire or renew the lease.", duration)
    ] = Flags.leader_elect_retry_period,
    leader_elect_resource_lock: Annotated[
        str, option.value(ELECTION, "KIND", "Kind of the lock object.")
    ] = Flags.leader_elect_resource_lock,
    leader_elect_resource_name: Annotated[
        str, option.value(ELECTION, "NAME", "Name of the lease.")
    ] = Flags.leader_elect_resource_name,
    leader_elect_resource_namespace: Annotated[
        str, option.value(ELECTION, "NAMESPACE", "Namespace of the lease.")
    ] = Flags.leader_elect_resource_namespace,
    secure_port: Annotated[
        int, option.value(SERVER, "PORT", "Port for health checks and metrics; 0 disables the server.")
    ] = Flags.secure_port,
    bind_address: Annotated[
        str, option.value(SERVER, "ADDRESS", "Address to listen on; :: is every IPv6 address.")
    ] = Flags.bind_address,
    disable_metrics: Annotated[bool, option.switch(SERVER, "Do not serve metrics.")] = Flags.disable_metrics,
    tls_cert_file: Annotated[
        str,
        option.value(
            SERVER,
            "FILE",
            "Certificate chain, reloaded when it changes. Default: a self-signed certificate.",
        ),
    ] = Flags.tls_cert_file,
    tls_private_key_file: Annotated[
        str, option.value(SERVER, "FILE", "Private key of the certificate.")
    ] = Flags.tls_private_key_file,
    tls_sni_cert_key: Annotated[
        tuple[str, ...], option.items(SERVER, "CERT,KEY:NAMES", "Certificate for these server names. Repeatable.")
    ] = (),
    tls_cipher_suites: Annotated[
        tuple[str, ...], option.items(SERVER, "NAMES", "TLS 1.2 cipher suites, by their IANA names.", comma_list)
    ] = (),
    tls_min_version: Annotated[
        str, option.value(SERVER, "VERSION", "VersionTLS10 to VersionTLS13. Default: VersionTLS12.")
    ] = Flags.tls_min_version,
    permit_port_sharing: Annotated[
        bool, option.switch(SERVER, "Let other processes listen on the same port.")
    ] = Flags.permit_port_sharing,
    logging_format: Annotated[
        Literal["text", "json"], option.value(LOGS, "FORM", "text or json.")
    ] = Flags.logging_format,
    v: Annotated[int, _V] = Flags.v,
    otel_collector_endpoint: Annotated[
        str,
        option.value(TRACES, "HOST:PORT", "OTLP gRPC collector; needs the extra restow[tracing]."),
    ] = Flags.otel_collector_endpoint,
    otel_transport_ca_cert: Annotated[
        str, option.value(TRACES, "FILE", "CA certificate of the collector; without it, no TLS.")
    ] = Flags.otel_transport_ca_cert,
    otel_service_name: Annotated[
        str, option.value(TRACES, "NAME", "Service name in traces.")
    ] = Flags.otel_service_name,
    otel_trace_namespace: Annotated[
        str, option.value(TRACES, "NAME", "Service namespace in traces.")
    ] = Flags.otel_trace_namespace,
    otel_sample_rate: Annotated[
        float, option.value(TRACES, "SHARE", "Fraction of cycles to trace, 0 to 1.")
    ] = Flags.otel_sample_rate,
    otel_fallback_no_op_on_error: Annotated[
        bool, option.switch(TRACES, "Run without tracing if it cannot be set up. This is always so.")
    ] = Flags.otel_fallback_no_op_on_error,
    node_selector: Annotated[
        str | None, option.value(OLD, "LABELS", "Process only these nodes, unless the policy sets it.")
    ] = Flags.node_selector,
    max_pods_to_evict_per_node: Annotated[
        int | None, option.value(OLD, "N", "Evict at most N pods per node (0: no limit), unless the policy sets it.")
    ] = Flags.max_pods_to_evict_per_node,
    evict_local_storage_pods: Annotated[
        bool, option.switch(OLD, "Also evict pods with local storage, unless the policy sets it.")
    ] = Flags.evict_local_storage_pods,
    cert_dir: Annotated[str, option.value(UNHEEDED, "DIRECTORY", "")] = Flags.cert_dir,
    tls_curve_preferences: Annotated[tuple[str, ...], option.items(UNHEEDED, "IDS", "")] = (),
    enable_http2: Annotated[bool, option.switch(UNHEEDED, "")] = Flags.enable_http2,
    disable_http2_serving: Annotated[bool, option.switch(UNHEEDED, "")] = Flags.disable_http2_serving,
    http2_max_streams_per_connection: Annotated[
        int, option.value(UNHEEDED, "N", "")
    ] = Flags.http2_max_streams_per_connection,
    permit_address_sharing: Annotated[bool, option.switch(UNHEEDED, "")] = Flags.permit_address_sharing,
    vmodule: Annotated[str, option.value(UNHEEDED, "PATTERNS", "")] = Flags.vmodule,
    log_flush_frequency: Annotated[int, option.time_span(UNHEEDED, "", duration)] = Flags.log_flush_frequency,
    log_text_split_stream: Annotated[bool, option.switch(UNHEEDED, "")] = Flags.log_text_split_stream,
    log_json_split_stream: Annotated[bool, option.switch(UNHEEDED, "")] = Flags.log_json_split_stream,
    log_text_info_buffer_size: Annotated[str, option.value(UNHEEDED, "QUANTITY", "")] = Flags.log_text_info_buffer_size,
    log_json_info_buffer_size: Annotated[str, option.value(UNHEEDED, "QUANTITY", "")] = Flags.log_json_info_buffer_size,
) -> int:
    """Carry out a policy: evict pods once, or in every descheduling interval."""
    flags = Flags(**locals())
    from restow.cli.daemon import deschedule

    return deschedule(flags)


def canonical(arguments: Sequence[str]) -> list[str]:
    """Return the arguments after ``run`` as cyclopts takes them, whatever a Go program would make of them."""
    kinds = {each.name.replace("_", "-"): getattr(Flags, each.name, ()) for each in fields(Flags)}
    return last_ones(
        arguments,
        switches={"help", *(name for name, default in kinds.items() if isinstance(default, bool))},
        lists={name for name, default in kinds.items() if isinstance(default, tuple)},
        aliases={"kubeconfig": "client-connection-kubeconfig", "h": "help"},
    )
