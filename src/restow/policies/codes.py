"""The codes of plans: the words that programs compare, each defined once.

Their values appear in policies, plans, metrics, logs and the reference. They stay the same when messages are reworded.
A member is a string, so it can be written wherever its value can.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Placement(StrEnum):
    """How a plan treats the places of replacements."""

    #: Each is scheduled by kube-scheduler's rules, and a move without a good place is not made.
    PROVE = "prove"
    #: As the Descheduler does: pods are evicted without predicting where their replacements land.
    UPSTREAM = "upstream"


class PlacementConstraint(StrEnum):
    """What the landing place of a replacement must satisfy."""

    #: It may return to its node (lifetime, restarts, failed pods).
    ANYWHERE = "anywhere"
    #: Any other node (taints, node affinity, anti-affinity).
    ELSEWHERE = "elsewhere"
    #: A node where the strategy's own measure strictly improves (duplicates, spread, utilisation).
    BETTER = "better"


class Certainty(StrEnum):
    """How sure it is that a move does what its strategy wants; the surest first."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class PlanFinding(StrEnum):
    """What a plan may be asked not to have."""

    #: A strategy could not run, the policy names what is not there, or the input lacks something.
    PROBLEMS = "problems"
    #: Moves whose gain is no more than possible.
    POSSIBLE = "possible"
    MOVES = "moves"
    #: Moves that were refused because this plan or the next one would undo them.
    LOOPS = "loops"


class TargetKind(StrEnum):
    """How sure it is on which node a replacement lands; the surest first."""

    #: It is brought to its target.
    STEERED = "steered"
    #: Only one node could win.
    CERTAIN = "certain"
    #: Several nodes could win.
    OPEN = "open"
    #: The pod has terminated: it is removed, and nothing lands.
    NONE = "none"


class LandingKind(StrEnum):
    """Where a replacement landed, compared with the plan."""

    #: On the node that the plan names for it.
    TARGET = "target"
    #: On another node where the strategy gains what it wanted.
    OTHER = "other"
    #: In vain, back on its node, or on a node that the plan does not name.
    MISSED = "missed"


#: How sure a move is called whose replacement is brought to its target.
STEERED: Final = "steered"
#: Every word for how sure a move is, the surest first.
SURENESS: Final = (STEERED, *Certainty)


class SteeringMode(StrEnum):
    """How replacements are brought to their targets."""

    #: The scheduler is left alone.
    NONE = "none"
    #: By a nomination behind a scheduling gate.
    NOMINATE = "nominate"
    #: By a taint that keeps them off all nodes where they should not land.
    FENCE = "fence"
    #: By a taint that makes those nodes less liked.
    PREFER = "prefer"


class SteeringSetting(StrEnum):
    """The steering that a policy asks for: one of the modes, or whichever of them the cluster offers."""

    AUTO = "auto"
    NOMINATE = SteeringMode.NOMINATE.value
    FENCE = SteeringMode.FENCE.value
    PREFER = SteeringMode.PREFER.value
    NONE = SteeringMode.NONE.value


class ReplacementMode(StrEnum):
    """Which comes first when a pod moves: its end or its replacement."""

    #: The pod is evicted, and its controller replaces it.
    EVICT = "evict"
    #: A placeholder holds the place of the replacement first; the pod stays if it gets none.
    RESERVE = "reserve"
    #: Its controller makes one pod more, and when that is ready, the pod goes. It stays if that cannot be done.
    SURGE = "surge"
    #: Its Deployment makes all of its pods anew, by its own strategy.
    ROLLOUT = "rollout"
    #: KubeVirt moves the pod's virtual machine into a new pod while it runs. It stays if that cannot be done.
    MIGRATE = "migrate"


class ReplacementSetting(StrEnum):
    """The replacement that a policy, or an owner's annotation, asks for."""

    EVICT = "evict"
    #: The place of the replacement is held from before the eviction.
    RESERVE = "reserve"
    #: A surge wherever one is possible.
    SURGE = "surge"
    #: A rollout of Deployments with one replica.
    ROLLOUT = "rollout"
    #: A surge where the workload would be down otherwise.
    AUTO = "auto"
    #: Only of policies: what the owners ask for, and otherwise an eviction.
    ANNOTATED = "annotated"


class Stage(StrEnum):
    """The stages that judge a suggestion, in their order."""

    EVICTOR = "evictor"
    LIMIT = "limit"
    BUDGET = "budget"
    PLACEMENT = "placement"


class RefusalCode(StrEnum):
    """Why a pod stays that a strategy wanted to move."""

    #: Of evictor, budget and placement: the input lacks what decides.
    UNKNOWN = "Unknown"

    # evictor
    NAMESPACE_OPTED_OUT = "NamespaceOptedOut"
    NAMESPACE_NOT_OPTED_IN = "NamespaceNotOptedIn"
    GROUP_MEMBER = "GroupMember"
    #: Another controller forbids it, in ``prove`` placement.
    DO_NOT_DISRUPT = "DoNotDisrupt"
    NODE_DO_NOT_DISRUPT = "NodeDoNotDisrupt"
    NOT_SAFE_TO_EVICT = "NotSafeToEvict"
    UNSAFE_LOCAL_VOLUMES = "UnsafeLocalVolumes"
    MIGRATION_IN_PROGRESS = "MigrationInProgress"
    MIGRATION_COOL_DOWN = "MigrationCoolDown"
    PREFER_NO_EVICTION = "PreferNoEviction"
    MIRROR_POD = "MirrorPod"
    STATIC_POD = "StaticPod"
    TERMINATING = "Terminating"
    SYSTEM_CRITICAL_PODS = "SystemCriticalPods"
    PRIORITY_THRESHOLD = "PriorityThreshold"
    NO_OWNER = "NoOwner"
    PODS_WITH_LOCAL_STORAGE = "PodsWithLocalStorage"
    DAEMON_SET_PODS = "DaemonSetPods"
    PODS_WITH_PVC = "PodsWithPVC"
    PODS_WITHOUT_PDB = "PodsWithoutPDB"
    PODS_WITH_RESOURCE_CLAIMS = "PodsWithResourceClaims"
    LABEL_SELECTOR = "LabelSelector"
    MIN_REPLICAS = "MinReplicas"
    MIN_POD_AGE = "MinPodAge"
    NAMESPACE_LABEL_SELECTOR = "NamespaceLabelSelector"
    MISSING_UID = "MissingUID"

    # limit
    MAX_TOTAL = "MaxPodsToEvictTotal"
    MAX_PER_NODE = "MaxPodsToEvictPerNode"
    MAX_PER_NAMESPACE = "MaxPodsToEvictPerNamespace"

    # budget
    DISRUPTION_BUDGET = "DisruptionBudget"
    SEVERAL_BUDGETS = "SeveralBudgets"
    JOB_BACKOFF_LIMIT = "JobBackoffLimit"
    JOB_FAILURE_POLICY = "JobFailurePolicy"

    # placement
    NO_FIT = "NoFit"
    NEEDS_PREEMPTION = "NeedsPreemption"
    SAME_NODE = "SameNode"
    #: It would only be accepted on nodes that are about to be removed, or on virtual ones.
    LEAVING_NODE = "LeavingNode"
    VIRTUAL_NODE = "VirtualNode"
    NO_GAIN = "NoGain"
    NOT_CERTAIN = "NotCertain"
    HARMFUL = "Harmful"
    #: The kubelets of all nodes where it could land would refuse it.
    NOT_ALIGNED = "NotAligned"
    #: A strategy would move the replacement again.
    CYCLE = "Circle"
    #: Two replicas of a workload would only change places.
    REVERSAL = "Undoes"
    NO_REPLACEMENT = "NoReplacement"
    #: A ResourceQuota has no room for the replacement.
    EXCEEDS_QUOTA = "ExceedsQuota"
    #: The replacement has to come first, and cannot.
    NOT_REPLACED_FIRST = "NotReplacedFirst"
    UNKNOWN_SCHEDULER = "UnknownScheduler"

    # placement, while a plan is carried out cycle after cycle
    GIVEN_UP = "GivenUp"
    BACK_OFF = "BackOff"


class OutcomeCode(StrEnum):
    """Why a decided move was not made, or is not known to have succeeded."""

    #: What the plan trusts is not known any more.
    UNKNOWN = "Unknown"
    #: The pod is gone, or another has its name.
    GONE = "Gone"
    #: The pod is on another node, or no candidate accepts pods.
    STALE = "Stale"
    #: No window is open.
    WINDOW = "Window"
    #: The namespace has opted out meanwhile.
    OPTED_OUT = "OptedOut"
    #: Another controller forbids it by now.
    VETOED = "Vetoed"
    #: The controller has enough pods without this one, so that no replacement would come.
    SURPLUS = "Surplus"
    #: A pod of the workload is not ready.
    NOT_READY = "NotReady"
    #: The workload is left alone for a while.
    BACK_OFF = "BackOff"
    #: Another program was asked to evict the pod.
    REQUESTED = "Requested"
    #: The budget had no room in time.
    BLOCKED = "Blocked"
    #: The API server refused the eviction, or did not answer.
    FAILED = "Failed"
    #: The user did not confirm the plan.
    DECLINED = "Declined"
    #: restow was to stop.
    STOPPED = "Stopped"
    #: The replacement cannot be steered.
    UNSTEERED = "Unsteered"
    #: The replacement cannot come first, or not in time.
    NOT_REPLACED_FIRST = "NotReplacedFirst"
    #: The place of the replacement cannot be held.
    NOT_RESERVED = "NotReserved"
    #: The API server would create another pod than the plan assumes, or none.
    UNCONFIRMED = "Unconfirmed"
    #: The rest of the plan is decided again.
    REPLANNED = "Replanned"
    #: The replacement was not ready in time.
    UNREADY = "Unready"
    #: No replacement came in time.
    MISSING = "Missing"
    #: The end was not waited for.
    UNVERIFIED = "Unverified"


#: Why a move of a plan is not made any more: what a decision refuses, or what has happened since.
MoveCode = RefusalCode | OutcomeCode


class MoveResult(StrEnum):
    """The outcome of a decided move, as metrics count it."""

    #: In a dry run: it would have been.
    EVICTED = "evicted"
    #: Left to another program.
    REQUESTED = "requested"
    #: Out of date, or its workload is left alone.
    DROPPED = "dropped"
    #: Its budget had no room in time.
    BLOCKED = "blocked"
    #: The API server refused it, or did not answer.
    FAILED = "failed"


class AppliedResult(StrEnum):
    """The outcome of a move of an applied plan."""

    PROMISED = "promised"
    REFUSED = "refused"
    MOVED = "moved"
    DROPPED = "dropped"
    EVICTED = "evicted"


class Prediction(StrEnum):
    """The outcome of a predicted replacement, as metrics count it."""

    #: On one of the candidates.
    HIT = "hit"
    #: On another node.
    MISS = "miss"
    #: On another node, after an earlier move had not gone as planned or while the API server was out of reach.
    VOID = "void"
    #: It did not come, or was not Ready in time.
    MISSING = "missing"


class LoopCause(StrEnum):
    """Why a pointless move was not made, as metrics count it."""

    #: It was known beforehand.
    CIRCLE = "circle"
    #: Experience with the workload.
    BACK_OFF = "back-off"
