"""What comes before a pod goes: its replacement, if that has a place while the old pod is still there, or what holds its place.

A surge needs a ReplicaSet that no other controller than a Deployment or a Rollout of Argo has, and a place beside the old pod. The proof has
scheduled the replacement while the old pod still held its own place, so this is known. One thing differs: a pod that is
being deleted does not count for topology spread, and one that stays until its replacement is ready does. Pods with a
constraint that says ``DoNotSchedule`` are evicted, therefore. Where the policy has a workload surged and there is no place
for both pods, or no room in a quota, the move is refused. Whether a program sets the number of replicas is asked
just before the move (``executing.surged_workloads``).

A live migration of a virtual machine needs a place beside the old launcher as well. Whether KubeVirt can migrate it is asked
just before the move (``executing.migrated_machines``).

A reservation needs a replacement that is nominated for another node: a placeholder holds its place there until then.

The policy decides which workloads are surged. Where it lets them be, their owners may ask for something else by the
annotation ``restow.dev/replacement`` of the workload or of its namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from restow.cluster.owners import controller_of, owner_of
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.framework import Reason
from restow.descheduling.machines import KIND as MACHINE
from restow.descheduling.machines import wants_migration
from restow.descheduling.placement import Landing
from restow.kube.excerpts import did_you_mean, excerpt
from restow.kube.objects import Annotations, Workload
from restow.policies.codes import RefusalCode, ReplacementMode, ReplacementSetting, Stage, SteeringMode
from restow.policies.policy import RestowSettings

ANNOTATION: Final = "restow.dev/replacement"
_HARD: Final = "DoNotSchedule"
#: What owners may ask for.
_ASKED: Final = (
    ReplacementSetting.EVICT,
    ReplacementSetting.RESERVE,
    ReplacementSetting.SURGE,
    ReplacementSetting.ROLLOUT,
    ReplacementSetting.AUTO,
)
#: The workloads whose objects are known; owners ask there, or at the namespace.
_KINDS: Final = ("Deployment", "ReplicaSet", "StatefulSet")
_ASKING: Final = ("Namespace", *_KINDS)
#: The modes in which there are both pods for a while.
_BESIDE: Final = (ReplacementMode.MIGRATE, ReplacementMode.SURGE, ReplacementMode.ROLLOUT)
_SURGED: Final = ("Deployment", "ReplicaSet", "Rollout")
#: Controllers whose next pod comes at its own time, or on its own node.
_NOT_RESERVED: Final = ("Job", "DaemonSet", "Node")


class _Workload(NamedTuple):
    """The workload of a pod that moves."""

    #: Of the topmost object that is known.
    kind: str
    namespace: str
    #: The kind of the pod's own controller.
    controller_kind: str
    #: None where the input lacks it.
    controller: Workload | None
    #: The topmost object; None where the input lacks it.
    top: Workload | None

    @property
    def has_one_pod(self) -> bool:
        """Whether it is down without this pod."""
        return self.controller is not None and self.controller.spec.replicas in (None, 1)

    @property
    def is_surgeable(self) -> bool:
        """Whether its number of replicas is one that restow knows to raise."""
        return self.controller_kind == "ReplicaSet" and self.controller is not None and self.kind in _SURGED


class SurgeChoice:
    """Chooses the mode of each move of a plan."""

    def __init__(self, cluster: ClusterSnapshot, settings: RestowSettings) -> None:
        self._cluster = cluster
        self._settings = settings

    def with_mode(self, pod: int, landing: Landing, source: int, *, lacking: str) -> Landing | Reason:
        """The landing with its mode, or a refusal where the policy has the replacement come first and it cannot.

        ``lacking`` says why the replacement has no place while the pod is still there; it is empty where it has one.
        """
        if not self._settings.may_replace_first or landing.target == PENDING:
            return landing
        workload = self._workload(pod)
        if workload is None:
            return landing
        setting, asked = self._asked(workload)
        possible = self._possible(pod, landing, source, workload)
        wanted = [mode for mode in _wanted(asked, workload) if possible[mode]]
        mode = next((each for each in wanted if not lacking or each not in _BESIDE), None)
        if mode is None and wanted and _is_strict(setting, wanted[0]):
            return Stage.PLACEMENT, RefusalCode.NOT_REPLACED_FIRST, f"its replacement has to come first, and {lacking}"
        # An owner cannot keep pods in place that the policy would evict.
        evicts_instead = mode is not None and not _is_strict(setting, mode)
        return landing if mode is None else landing._replace(mode=mode, evicts_instead=evicts_instead)

    def _possible(self, pod: int, landing: Landing, source: int, workload: _Workload) -> dict[ReplacementMode, bool]:
        """Which modes there are for a pod, if there is room for both pods."""
        is_free = not self._is_spread(pod)
        return {
            ReplacementMode.MIGRATE: wants_migration(self._cluster, self._settings, pod),
            ReplacementMode.SURGE: is_free and workload.is_surgeable,
            ReplacementMode.ROLLOUT: is_free and workload.kind == "Deployment" and workload.has_one_pod,
            ReplacementMode.RESERVE: _is_reservable(workload, landing, source),
        }

    def _workload(self, pod: int) -> _Workload | None:
        """The workload of a pod; None without a controller."""
        pods, cluster = self._cluster.pods, self._cluster
        owner, namespace = owner_of(pods, pod), pods.tables.namespaces[pods.namespace[pod]]
        if owner is None:
            return None
        found = cluster.kind(owner.kind).get((namespace, owner.name)) if owner.kind in _KINDS else None
        above = None if found is None else controller_of(found.metadata.owner_references or ())
        if above is None:
            return _Workload(owner.kind, namespace, owner.kind, found, found)
        top = cluster.kind(above.kind).get((namespace, above.name)) if above.kind in _KINDS else None
        return _Workload(above.kind, namespace, owner.kind, found, top)

    def _is_spread(self, pod: int) -> bool:
        pods = self._cluster.pods
        return any(each.when_unsatisfiable == _HARD for each in pods.tables.spread[pods.spread[pod]])

    def _asked(self, workload: _Workload) -> tuple[ReplacementSetting, ReplacementSetting]:
        """What the policy says, and what is to be done: the policy's word, or the owner's where the policy leaves that open."""
        setting = self._settings.replacement_of(workload.namespace, workload.kind)
        if setting is ReplacementSetting.EVICT:
            return setting, setting
        return setting, self._said_by_owner(workload) or setting

    def _said_by_owner(self, workload: _Workload) -> ReplacementSetting | None:
        """What the owner asks for; None if nothing.

        A Deployment's annotations are copied to its ReplicaSets, and stay there: they count only without a Deployment. No
        input has Rollouts, so of these the copies count.
        """
        namespace = self._cluster.kind("Namespace").get(("", workload.namespace))
        for each in (workload.top or workload.controller, namespace):
            said = None if each is None else _said(each.metadata.annotations)
            if said in _ASKED:
                return ReplacementSetting(said)
        return None


def _wanted(asked: ReplacementSetting, workload: _Workload) -> tuple[ReplacementMode, ...]:
    """The modes that are asked for, the best first; none is an eviction. A virtual machine is migrated where it would be surged."""
    if workload.kind == MACHINE and asked in (ReplacementSetting.SURGE, ReplacementSetting.AUTO):
        return (ReplacementMode.MIGRATE,)
    if asked is ReplacementSetting.AUTO:
        return (ReplacementMode.SURGE, ReplacementMode.RESERVE) if workload.has_one_pod else ()
    is_one = asked not in (ReplacementSetting.EVICT, ReplacementSetting.ANNOTATED)
    return (ReplacementMode(asked),) if is_one else ()


def _is_strict(setting: ReplacementSetting, mode: ReplacementMode) -> bool:
    """Whether a policy lets a pod go in this way only."""
    return setting.value == (ReplacementMode.SURGE if mode is ReplacementMode.MIGRATE else mode)


def _is_reservable(workload: _Workload, landing: Landing, source: int) -> bool:
    """Whether the place of a replacement can be held: one that will be nominated for it, on another node."""
    is_nominated = landing.steering is SteeringMode.NOMINATE and landing.target != source
    return is_nominated and workload.controller_kind not in _NOT_RESERVED


def replacement_notes(cluster: ClusterSnapshot, settings: RestowSettings) -> Iterator[str]:
    """Yield a sentence for each kind of which some object asks for a replacement that there is not."""
    for kind in _ASKING if settings.may_replace_first else ():
        for (namespace, name), found in sorted(cluster.kind(kind).items()):
            said = _said(found.metadata.annotations)
            if said is not None and said not in _ASKED:
                hint = did_you_mean(said, _ASKED)
                yield (
                    f'{kind} {f"{namespace}/{name}".lstrip("/")}: the annotation {ANNOTATION} is "{excerpt(said)}", none of '
                    f"{', '.join(_ASKED)}, and is ignored{f'; {hint}' if hint else ''}"
                )
                break


def _said(annotations: Annotations | None) -> str | None:
    return None if annotations is None else annotations.replacement
