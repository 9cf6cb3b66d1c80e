"""The flags of ``restow scheduler``: kube-scheduler's, with its defaults, and restow's own.

Source: kube-scheduler 1.36, cmd/kube-scheduler/app/options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from cyclopts import Group, Parameter

from restow.cli import options as option
from restow.cli.election_flags import ElectionFlags, LeaseDuration, LeaseName, RenewDeadline, RetryPeriod
from restow.cli.flag_values import comma_list, duration
from restow.cli.options import API_SERVER, ELECTION, LOGS, SERVER
from restow.cli.server_flags import ServerFlags, ServerPort
from restow.cli.unheeded_flags import UnheededFlags
from restow.kube.duration import MINUTE, SECOND

PROFILES = Group("Profiles", sort_key=1)

#: What pods name where nothing else is said, and the lease.
_NAME: Final = "my-scheduler"
_KUBECONFIG: Final = "Kubeconfig for the API server. Default: KUBECONFIG, ~/.kube/config or the pod's service account."


@dataclass(frozen=True, kw_only=True)
class SchedulerFlags(UnheededFlags, ServerFlags, ElectionFlags):
    """What a scheduler was started with. Names are the flags', with underscores; durations are nanoseconds."""

    profile: Annotated[
        Literal["random"] | None,
        option.value(
            PROFILES,
            "NAME",
            "random: each pod goes to any ready node, whether it fits there or not; a teaching example. Default: --config.",
        ),
    ] = None
    scheduler_name: Annotated[
        str,
        option.value(
            PROFILES, "NAME", "The scheduler that pods name in spec.schedulerName, where --config names none."
        ),
    ] = _NAME
    config: Annotated[
        str,
        option.value(
            PROFILES, "FILE", "KubeSchedulerConfiguration (v1). Default: one profile, as kube-scheduler's own."
        ),
    ] = ""
    pod_max_in_unschedulable_pods_duration: Annotated[
        int,
        option.time_span(PROFILES, "How long a pod that fits nowhere waits at most until it is tried again.", duration),
    ] = 5 * MINUTE
    seed: Annotated[
        int | None, option.value(PROFILES, "N", "Choose among equally good nodes in the same way each time.")
    ] = None
    kubeconfig: Annotated[str, option.value(API_SERVER, "FILE", _KUBECONFIG)] = ""
    kube_api_qps: Annotated[
        float, option.value(API_SERVER, "N", "Maximum requests per second; a negative value is no limit.")
    ] = 50.0
    kube_api_burst: Annotated[int, option.value(API_SERVER, "N", "Burst of requests allowed above that limit.")] = 100
    leader_elect: Annotated[
        bool, option.switch(ELECTION, "Schedule only while holding a lease; --leader-elect=false does without.")
    ] = True
    leader_elect_lease_duration: LeaseDuration = 15 * SECOND
    leader_elect_renew_deadline: RenewDeadline = 10 * SECOND
    leader_elect_retry_period: RetryPeriod = 2 * SECOND
    leader_elect_resource_name: LeaseName = _NAME
    secure_port: ServerPort = 10259
    authorization_always_allow_paths: Annotated[
        tuple[str, ...],
        option.items(
            SERVER, "PATHS", "Pages that need no token; /* is all of them. Default: the health checks.", comma_list
        ),
    ] = ("/healthz", "/readyz", "/livez")
    explain_pods: Annotated[
        bool, option.switch(SERVER, "Serve /pods/NAMESPACE/NAME, which says why a pod waits, node by node.")
    ] = False
    logging_format: Annotated[Literal["text", "json"], option.value(LOGS, "FORM", "text or json.")] = "text"
    v: Annotated[
        int,
        Parameter(
            name=["-v", "--v"], group=LOGS, metavar="N", help="Log verbosity; from 2 on, each attempt has a line."
        ),
    ] = 0
