"""The flags of ``restow run``: all of the Descheduler's, with its defaults, and those that it had until v0.22.

What cannot be fulfilled is said by ``flag_checks``, what changes nothing here by ``ignored_flags``.
Source: Descheduler 0.36, cmd/descheduler/app/options; descheduler-framework flags of Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from restow.kube.duration import SECOND

LoggingFormat = Literal["text", "json"]
Placement = Literal["prove", "upstream"]


@dataclass(frozen=True, kw_only=True)
class Flags:
    """What a run was started with. Names are the flags', with underscores; durations are nanoseconds."""

    #: Of the loop; 0 is one cycle.
    descheduling_interval: int = 0
    policy_config_file: str = ""
    dry_run: bool = False

    #: Also ``--kubeconfig``; empty is the service account of the pod.
    client_connection_kubeconfig: str = ""
    #: Requests per second; 0 is the client's default, less is no limit.
    client_connection_qps: float = 0.0
    client_connection_burst: int = 0

    disable_metrics: bool = False
    #: Such as ``AllAlpha=true``; ``gates.is_open`` reads them.
    feature_gates: tuple[str, ...] = ()

    leader_elect: bool = False
    leader_elect_lease_duration: int = 137 * SECOND
    leader_elect_renew_deadline: int = 107 * SECOND
    leader_elect_retry_period: int = 26 * SECOND
    leader_elect_resource_lock: str = "leases"
    leader_elect_resource_name: str = "descheduler"
    leader_elect_resource_namespace: str = "kube-system"

    #: Host and port of a collector that speaks OTLP over gRPC; empty is no tracing.
    otel_collector_endpoint: str = ""
    #: PEM; empty is a connection without TLS.
    otel_transport_ca_cert: str = ""
    otel_service_name: str = "descheduler"
    otel_trace_namespace: str = ""
    otel_sample_rate: float = 1.0
    otel_fallback_no_op_on_error: bool = False

    bind_address: str = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside
    #: 0 or less serves nothing.
    secure_port: int = 10258
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    #: Certificate, key and names, as ``flag_values.key_pair`` reads them.
    tls_sni_cert_key: tuple[str, ...] = ()
    tls_cipher_suites: tuple[str, ...] = ()
    tls_min_version: str = ""
    permit_port_sharing: bool = False
    permit_address_sharing: bool = False
    cert_dir: str = "apiserver.local.config/certificates"
    tls_curve_preferences: tuple[str, ...] = ()
    enable_http2: bool = False
    disable_http2_serving: bool = False
    http2_max_streams_per_connection: int = 0

    v: int = 0
    logging_format: LoggingFormat = "text"
    vmodule: str = ""
    log_flush_frequency: int = 5 * SECOND
    log_text_split_stream: bool = False
    log_json_split_stream: bool = False
    log_text_info_buffer_size: str = "0"
    log_json_info_buffer_size: str = "0"

    #: restow's own: how moves are placed, if not as the policy says, and the cluster's KubeSchedulerConfiguration.
    placement: Placement | None = None
    scheduler_config: str = ""

    #: Until v0.22; they count where the policy does not say.
    node_selector: str | None = None
    max_pods_to_evict_per_node: int | None = None
    evict_local_storage_pods: bool = False

    @property
    def serves(self) -> bool:
        """Whether there is an HTTPS server."""
        return self.secure_port > 0

    @property
    def loops(self) -> bool:
        """Whether there is more than one cycle."""
        return self.descheduling_interval > 0

    @property
    def elects(self) -> bool:
        """Whether a lease has to be held: a dry run needs none."""
        return self.leader_elect and not self.dry_run
