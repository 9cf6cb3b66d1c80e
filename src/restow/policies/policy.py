"""A policy as it is written in descheduler/v1alpha2, and as the descheduler follows it: with defaults filled in.

What still depends on the cluster stays as written: node and label selectors, and priority thresholds by class name
(``policies.arguments``). Struct names of what is written are the Go types' names: decode errors quote them. Source:
descheduler v0.36, pkg/api/v1alpha2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from msgspec import UNSET, Meta, Struct, field

from restow.documents.findings import Issue
from restow.documents.shapes import Duration, Int, IntOrString, Uint
from restow.kube.duration import HOUR, MINUTE, SECOND
from restow.kube.excerpts import excerpt
from restow.kube.objects import Int64
from restow.kube.validation import key_problems
from restow.policies.arguments import Namespaces as NamespaceNames
from restow.policies.codes import Certainty, Placement, ReplacementSetting, SteeringSetting
from restow.policies.schema import ExtensionPoint, decode
from restow.scheduling.framework.minors import minor_of
from restow.usage.sources import KUBERNETES_METRICS, PROMETHEUS

_FIVE_MINUTES = 5 * MINUTE

_SHARE = "must be a whole number of 1 or more, or a percentage from 1% to 100%"
_PERCENTAGE = re.compile(r"0*([1-9][0-9]?|100)%")
_PROBABILITY = "must be certain, likely, possible or a probability above 0, up to 1"
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
#: Fields of a cron expression: minute, hour, day of the month, month, weekday.
_FIELDS = 5


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
    """How restow reads measured usage; durations are nanoseconds.

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
        return max(self.window if self.looks_back else 0, self.trend_guard)

    @property
    def looks_back(self) -> bool:
        """Whether figures need the samples of ``window``, not only the newest."""
        return self.percentile is not None or self.min_samples > 1


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


class ReplacementRule(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Which replacement the pods of some workloads have; empty fields restrict nothing."""

    replacement: ReplacementSetting
    namespaces: NamespaceNames = NamespaceNames()
    kinds: tuple[Literal["Deployment", "ReplicaSet", "Rollout", "StatefulSet", "VirtualMachineInstance"], ...] = ()

    def holds(self, namespace: str, kind: str) -> bool:
        """Whether it is about workloads of a kind in a namespace."""
        include, exclude = self.namespaces.include, self.namespaces.exclude
        is_there = (not include or namespace in include) and namespace not in exclude
        return is_there and (not self.kinds or kind in self.kinds)


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
    #: Whether replacements may come before their pods go; of the rules for some workloads the first that holds.
    replacement: ReplacementSetting = ReplacementSetting.EVICT
    replacement_rules: tuple[ReplacementRule, ...] = ()
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
    #: Of the cluster's kube-scheduler; None: the API server's.
    scheduler_version: str | float | None = None

    @property
    def scheduler_minor(self) -> int | None:
        """The minor of the scheduler that the policy names; ValueError as ``minor_of``."""
        return None if self.scheduler_version is None else minor_of(self.scheduler_version)

    @property
    def may_replace_first(self) -> bool:
        """Whether any replacement may come before its pod goes."""
        settings = (self.replacement, *(each.replacement for each in self.replacement_rules))
        return any(each is not ReplacementSetting.EVICT for each in settings)

    def replacement_of(self, namespace: str, kind: str) -> ReplacementSetting:
        """The replacement that pods of a kind of workload have in a namespace, unless their owners ask for another."""
        rules = (each.replacement for each in self.replacement_rules if each.holds(namespace, kind))
        return next(rules, self.replacement)


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


class PluginSet(Struct, frozen=True):
    """The plugins of one extension point. ``disabled`` is read and never used: nothing is enabled by default."""

    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


class Plugins(Struct, frozen=True):
    """The extension points. ``presort`` and ``sort`` are read and never used."""

    presort: PluginSet = PluginSet()
    sort: PluginSet = PluginSet()
    deschedule: PluginSet = PluginSet()
    balance: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    # Upstream honours only the spelling without capitals; its documentation has the other, which it drops silently,
    # so nothing that stands there is an error.
    preevictionfilter: PluginSet = PluginSet()
    pre_eviction_filter: Any = field(default=None, name="preEvictionFilter")


def dropped_filters(plugins: Plugins) -> PluginSet:
    """Return the plugins under the spelling that upstream ignores; an empty set if the value is malformed."""
    return decode(plugins.pre_eviction_filter, PluginSet, ()).value or PluginSet()


class PluginConfig(Struct, frozen=True):
    """The arguments of one plugin, decoded by the plugin's schema."""

    name: str = ""
    args: Any = None


class DeschedulerProfile(Struct, frozen=True, rename="camel"):
    """A profile: plugins with their arguments."""

    name: str = ""
    plugin_config: tuple[PluginConfig, ...] = ()
    plugins: Plugins = Plugins()


class MetricsCollector(Struct, frozen=True):
    """Deprecated: the same as a KubernetesMetrics provider."""

    enabled: bool = False


class DeschedulerPolicy(Struct, frozen=True, rename="camel"):
    """A policy file of descheduler/v1alpha2."""

    api_version: str = ""
    kind: str = ""
    profiles: tuple[DeschedulerProfile, ...] = ()
    node_selector: str | None = None
    max_no_of_pods_to_evict_per_node: Uint | None = None
    max_no_of_pods_to_evict_per_namespace: Uint | None = None
    max_no_of_pods_to_evict_total: Uint | None = None
    eviction_failure_event_notification: bool | None = None
    metrics_collector: MetricsCollector | None = None
    metrics_providers: tuple[MetricsProvider, ...] = ()
    grace_period_seconds: Int64 | None = None
    #: restow's own section, decoded strictly on its own.
    restow: Any = None


def check_restow(settings: RestowSettings) -> Iterator[Issue]:
    """Yield what is wrong with the values of the ``restow:`` section."""
    if share_of(settings.per_workload, 1) is None:
        yield Issue(("restow", "perWorkload"), f"{_SHARE}, not {excerpt(repr(settings.per_workload))}")
    if isinstance(settings.certainty, float) and not 0 < settings.certainty <= 1:
        yield Issue(("restow", "certainty"), f"{_PROBABILITY}, not {settings.certainty:g}")
    if share_of(settings.fence_share, 1) is None:
        yield Issue(("restow", "fenceShare"), f"{_SHARE}, not {excerpt(repr(settings.fence_share))}")
    try:
        _ = settings.scheduler_minor
    except ValueError as error:
        yield Issue(("restow", "schedulerVersion"), str(error))
    if settings.group_label:
        yield from (Issue(("restow", "groupLabel"), each) for each in key_problems(settings.group_label))
    waits = (("waitForReady", settings.wait_for_ready), ("waitForBudget", settings.wait_for_budget))
    yield from (Issue(("restow", name), "must be longer than 0s") for name, wait in waits if wait <= 0)
    if settings.vetoes.migration_cool_down < 0:
        yield Issue(("restow", "vetoes", "migrationCoolDown"), "must be 0s or longer")
    for index, window in enumerate(settings.windows):
        yield from _check_window(window, index)


def share_of(share: int | str, whole: int) -> int | None:
    """Return the number that a number or percentage of a whole means, rounded down, at least 1; None if it is invalid."""
    if isinstance(share, int):
        return share if share >= 1 else None
    percent = _PERCENTAGE.fullmatch(share)
    return max(1, whole * int(percent[1]) // 100) if percent else None


def _check_window(window: Window, index: int) -> Iterator[Issue]:
    path = ("restow", "windows", index)
    if window.duration <= 0:
        yield Issue((*path, "duration"), "must be longer than 0s")
    try:
        ZoneInfo(window.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield Issue(
            (*path, "timeZone"),
            f"must be an IANA time zone such as Europe/Berlin, not {excerpt(repr(window.time_zone))}",
        )
    try:
        CronSim(window.start, _ANY_TIME)
    except (CronSimError, ValueError) as error:
        # cronsim makes numbers of any digits, and Python of 4,300 at most.
        yield Issue(
            (*path, "start"),
            f"must be a cron expression such as 0 22 * * 1-5, not {excerpt(repr(window.start))} ({excerpt(error)})",
        )
    else:
        if len(window.start.split()) != _FIELDS:
            yield Issue((*path, "start"), f"must have five fields, not {excerpt(repr(window.start))}")
