"""A policy as the descheduler follows it: decoded, validated, defaults filled in.

What still depends on the cluster stays as written: node and label selectors, and priority thresholds by class name
(``policies.arguments``).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct

from restow.documents.shapes import Duration, Int, IntOrString
from restow.kube.duration import HOUR, MINUTE, SECOND
from restow.policies.codes import Certainty, Placement, SteeringSetting
from restow.policies.schema import ExtensionPoint

KUBERNETES_METRICS = "KubernetesMetrics"
_FIVE_MINUTES = 5 * MINUTE
PROMETHEUS = "Prometheus"


class Profile(Struct, frozen=True):
    """One profile: the plugins of each extension point in order, a name listed twice runs twice."""

    name: str = ""
    deschedule: tuple[str, ...] = ()
    balance: tuple[str, ...] = ()
    filter: tuple[str, ...] = ()
    pre_eviction_filter: tuple[str, ...] = ()
    #: Arguments by plugin, each of the type that the plugin's schema names; a superset of the enabled plugins.
    args: dict[str, Any] = {}

    def enabled(self, point: ExtensionPoint) -> tuple[str, ...]:
        """Return the plugins that run at an extension point, in order."""
        match point:
            case "deschedule":
                return self.deschedule
            case "balance":
                return self.balance
            case "filter":
                return self.filter
        return self.pre_eviction_filter


class SecretReference(Struct, frozen=True):
    """A secret with a token."""

    namespace: str = ""
    name: str = ""


class AuthToken(Struct, frozen=True, rename="camel"):
    """How to authenticate to Prometheus; absent: with the pod's service account."""

    secret_reference: SecretReference | None = None


class Prometheus(Struct, frozen=True, rename="camel"):
    """A Prometheus server."""

    url: str = ""
    auth_token: AuthToken | None = None


class MetricsProvider(Struct, frozen=True):
    """A source of usage; unknown sources are accepted and ignored."""

    source: Annotated[str, Meta(extra={"go": "v1alpha2.MetricsSource"})] = ""
    prometheus: Prometheus | None = None
    #: Of a source of an installed package, of the type that its schema names. Upstream has no such key.
    args: Any = UNSET


class Window(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A time in which pods may be evicted: from each moment of a cron schedule on, for so long."""

    #: A cron expression of five fields.
    start: str = ""
    #: Nanoseconds.
    duration: Duration = 0
    #: An IANA name.
    time_zone: str = "UTC"


#: How probable it must be that a move does what its strategy wants.
CertaintySetting = Certainty | float

#: The namespaces whose pods may be evicted: all that do not opt out, or only those that opt in.
Namespaces = Literal["all", "annotated"]

#: How pods that work, restart or are scheduled together move: not at all, all together, or each alone.
GroupMoves = Literal["stay", "together", "alone"]


class UsageSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How restow reads usage from Prometheus; durations are nanoseconds.

    Without this section it is read as upstream does: the newest value of every node counts, and a node without one
    keeps the strategy from working. With it, such a node is neither overused nor underused.
    """

    #: Of the values within ``window``; None: the newest value counts.
    percentile: float | None = None
    window: Duration = HOUR
    #: Between two values of a window; 0: a sixtieth of it, 15 s at least.
    step: Duration = 0
    #: Values within ``window`` that a figure needs.
    min_samples: Int = 1
    #: How old its newest value may be.
    max_age: Duration = _FIVE_MINUTES
    #: A node is overused if it was so in ``cycles`` of the last ``of_cycles``; 0: as many as ``cycles``.
    cycles: Int = 1
    of_cycles: Int = 0
    #: By which resource a node's usage is divided among its pods; None: the usage of pods is unknown.
    per_pod: Literal["cpu", "memory"] | None = None
    #: A node is left alone whose figure has been falling for so long that it will be at its target after as long again;
    #: 0: none is.
    trend_guard: Duration = 0
    #: PEM certificates of who vouches for Prometheus; empty: the system's, in a pod those of its service account.
    ca_file: str = ""

    @property
    def cycles_in_all(self) -> int:
        """How many cycles are considered, including the current one."""
        return max(self.cycles, self.of_cycles)

    @property
    def spacing(self) -> int:
        """The time between two values of a history, in nanoseconds."""
        return self.step or max(15 * SECOND, self.reach // 60 // SECOND * SECOND)

    @property
    def reach(self) -> int:
        """How long a history must be, in nanoseconds; 0 if the newest value is enough."""
        needs_window = self.percentile is not None or self.min_samples > 1
        return max(self.window if needs_window else 0, self.trend_guard)


class VetoSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What other controllers forbid, and whether restow listens; in ``prove`` placement only."""

    #: The annotation ``karpenter.sh/do-not-disrupt`` of pods and nodes.
    karpenter: bool = True
    #: The annotations ``cluster-autoscaler.kubernetes.io/safe-to-evict`` and ``safe-to-evict-local-volumes`` of pods.
    cluster_autoscaler: bool = True
    #: Migrations of virtual machines.
    kube_virt: bool = True
    #: How long a machine is left alone after a migration; a longer migration counts with its own length. Nanoseconds.
    migration_cool_down: Duration = 15 * MINUTE
    #: Nodes that are about to be removed receive nothing.
    leaving_nodes: bool = True
    #: Virtual nodes receive nothing and do not count when nodes are compared.
    virtual_nodes: bool = True


class RestowSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The ``restow:`` section, which upstream does not read.

    ``placement`` None leaves the choice to the command. ``certainty`` says how probable it must be that a move does
    what its strategy wants: certain, likely (0.8), possible, or a number above 0, up to 1. ``steering`` says how
    replacements may be brought to their targets: auto uses what the cluster offers. ``namespaces`` says whose pods may
    be evicted at all, and ``groups`` how pods that belong together move. The others say how moves are carried out.
    """

    placement: Placement | None = None
    certainty: CertaintySetting = Certainty.LIKELY
    steering: SteeringSetting = SteeringSetting.AUTO
    #: Nodes that may be fenced at a time: a number, or a percentage of them.
    fence_share: IntOrString = "50%"
    namespaces: Namespaces = "all"
    groups: GroupMoves = "stay"
    #: A label whose values are names of groups, besides the known kinds (``workloads.groups``); empty: none.
    group_label: str = ""
    #: Pods of one workload that may be on their way at a time: a number, or a percentage of them.
    per_workload: IntOrString = 1
    #: How long a replacement may take until it is ready, and how long an eviction waits for its budget; nanoseconds.
    wait_for_ready: Duration = _FIVE_MINUTES
    wait_for_budget: Duration = _FIVE_MINUTES
    #: Empty: any time.
    windows: tuple[Window, ...] = ()
    #: None: usage from Prometheus is read as upstream does.
    usage: UsageSettings | None = None
    vetoes: VetoSettings = VetoSettings()


class Policy(Struct, frozen=True):
    """A whole policy. Limits are per cycle: None is unlimited, 0 none at all."""

    profiles: tuple[Profile, ...] = ()
    #: Label selector syntax: the nodes that strategies see. None: all.
    node_selector: str | None = None
    max_no_of_pods_to_evict_per_node: int | None = None
    max_no_of_pods_to_evict_per_namespace: int | None = None
    max_no_of_pods_to_evict_total: int | None = None
    eviction_failure_event_notification: bool = False
    #: None: each pod's own. Not validated, as upstream.
    grace_period_seconds: int | None = None
    #: The deprecated switch for KubernetesMetrics.
    metrics_collector_enabled: bool = False
    metrics_providers: tuple[MetricsProvider, ...] = ()
    restow: RestowSettings = RestowSettings()

    @property
    def enables_strategies(self) -> bool:
        """Whether there is anything that a cycle would run."""
        return any(profile.deschedule or profile.balance for profile in self.profiles)


def collects_kubernetes_metrics(policy: Policy) -> bool:
    """Whether the policy asks for usage from metrics.k8s.io, in either spelling."""
    sources = {provider.source for provider in policy.metrics_providers}
    return policy.metrics_collector_enabled or KUBERNETES_METRICS in sources


def provider_of(policy: Policy, source: str) -> MetricsProvider | None:
    """Return the policy's provider of a source, if it names one."""
    return next((each for each in policy.metrics_providers if each.source == source), None)


def prometheus_of(policy: Policy) -> Prometheus | None:
    """Return the Prometheus server of the policy, if it names one."""
    provider = provider_of(policy, PROMETHEUS)
    return None if provider is None else provider.prometheus
