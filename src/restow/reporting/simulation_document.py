"""The result of a simulation: the document of ``restow simulate -o json``. Times are seconds of virtual time everywhere."""

from __future__ import annotations

from msgspec import Struct, field

from restow.descheduling.plan import API_VERSION
from restow.simulating.scenarios.expectations import Modality
from restow.simulating.scenarios.judging import Outcome


class SimulationMetadata(Struct, frozen=True, rename="camel"):
    """What was simulated, and for how long."""

    scenario: str
    description: str
    #: The file of the descheduler's policy; empty if there is no descheduler.
    policy: str
    placement: str
    begins: str
    seconds: float
    seed: int
    restow_version: str
    #: How long a pod takes from its binding until it is ready, unless its annotations say something else.
    ready_after_seconds: float = 0.0


class InputFile(Struct, frozen=True, rename="camel"):
    """A file that was read; ``sha256`` is empty of what is no file, such as standard input."""

    path: str
    sha256: str


class SimulationInputs(Struct, frozen=True, rename="camel"):
    """What has to be there to run it again; with the seed and the time of the metadata it is the same run."""

    #: As they were given: the scenario and dumps, and the policy in place of the scenario's.
    filenames: tuple[str, ...] = ()
    policy: str | None = None
    #: All that was read, those that the scenario names among them.
    files: tuple[InputFile, ...] = ()
    #: Of a recording, from when and to when it was replayed.
    since: str | None = None
    until: str | None = None


class HappenedEvent(Struct, frozen=True, rename="camel"):
    """What the scenario had happen."""

    at: float
    text: str


class MadeEviction(Struct, frozen=True, rename="camel"):
    """A pod that was evicted, and the outcome."""

    at: float
    pod: str
    workload: str
    by: str
    node: str
    result: str
    replacement: str
    replacement_node: str
    again: bool


class EvictionRefusal(Struct, frozen=True, rename="camel"):
    """An eviction that the eviction API refused the descheduler, with its HTTP status code."""

    at: float
    pod: str
    by: str
    code: int


class EvictionTotals(Struct, frozen=True, rename="camel"):
    """How many pods a strategy or an actor evicted, and the outcomes."""

    by: str
    evicted: int
    moved: int
    returned: int
    waiting: int
    unreplaced: int
    again: int
    refused: int


class WorkloadTotals(Struct, frozen=True, rename="camel"):
    """What the run meant to a workload: evictions, and seconds with fewer ready pods than wanted."""

    workload: str
    evicted: int
    again: int
    below_seconds: float
    longest_below_seconds: float


class BudgetTotals(Struct, frozen=True, rename="camel"):
    """A PodDisruptionBudget that at some time allowed no eviction, and for how many seconds."""

    budget: str
    zero_seconds: float
    longest_zero_seconds: float


class LoopedWorkloadResult(Struct, frozen=True, rename="camel"):
    """A workload that goes round in a loop: how many of its pods were moved, how often it was scaled, and on which nodes."""

    workload: str
    moved: int
    scaled: int
    nodes: tuple[str, ...]


class LoopResult(Struct, frozen=True, rename="camel"):
    """Workloads that were moved or scaled in the same state time after time, when that was, and who drove it."""

    since: float
    until: float
    rounds: int
    period_seconds: float
    driven_by: tuple[str, ...]
    workloads: tuple[LoopedWorkloadResult, ...]


class SampledNumbers(Struct, frozen=True, rename="camel"):
    """Numbers of the cluster at a fixed interval, from the start on."""

    every_seconds: float
    pending: tuple[int, ...]
    nodes_in_use: tuple[int, ...]
    cpu_spread: tuple[float, ...]
    memory_spread: tuple[float, ...]


class ExpectationResult(Struct, frozen=True, rename="camel"):
    """The verdict on an expectation, when it was reached, and what was counted then."""

    path: str
    text: str
    modality: Modality
    result: Outcome
    at: float
    number: float
    objects: tuple[str, ...]


class MishapResult(Struct, frozen=True, rename="camel"):
    """What the scenario wanted to happen, and why it did not."""

    at: float
    path: str
    message: str


class UnknownPlacementResult(Struct, frozen=True, rename="camel"):
    """A pod that stayed pending because it is not known where it goes: when a scheduler first tried it, and why."""

    at: float
    pod: str
    message: str


class RecordingGapResult(Struct, frozen=True, rename="camel"):
    """From when to when nothing was recorded, of one kind or (empty) of all."""

    since: float
    until: float
    kind_of_objects: str


class PastNumber(Struct, frozen=True, rename="camel"):
    """A number of the past, and the same of its simulation."""

    name: str
    recorded: float
    simulated: float


class PastWorkload(Struct, frozen=True, rename="camel"):
    """A workload in the past and in its simulation."""

    workload: str
    recorded_new_pods: int
    simulated_new_pods: int
    recorded_evictions: int
    simulated_evictions: int
    recorded_below_seconds: float
    simulated_below_seconds: float
    #: At the end; ``same_node`` is how many pods have one of the other run on their node.
    recorded_pods: int
    simulated_pods: int
    same_node: int


class RecordedPast(Struct, frozen=True, rename="camel"):
    """What was recorded, beside what the simulation made of it."""

    #: How many events came from outside, by their words.
    events: dict[str, int]
    #: Evictions by others that did not happen again, because a policy acted in their place.
    left_out: int
    numbers: tuple[PastNumber, ...]
    #: Those in which the two differ most first; those to which nothing happened in either are left out.
    workloads: tuple[PastWorkload, ...]
    #: Pods on a node at the end, and how many of them have a pod of their workload there in the simulation.
    placed: int
    same_node: int
    gaps: tuple[RecordingGapResult, ...]


class SimulationSummary(Struct, frozen=True, rename="camel"):
    """The run in a few numbers."""

    nodes: int
    pods: int
    evictions: int
    refused: int
    most_pending: int
    longest_pending_seconds: float
    #: All pods together.
    pending_pod_seconds: float
    #: At the end, as are the two after it.
    nodes_in_use: int
    cpu_spread: float
    memory_spread: float
    #: When the last change of a pod or a node was; null if the cluster was not quiet at the end.
    quiet_after_seconds: float | None
    met: int
    failed: int
    undecided: int


class SimulationResult(Struct, frozen=True, rename="camel"):
    """The document of ``restow simulate -o json``."""

    metadata: SimulationMetadata
    summary: SimulationSummary
    events: tuple[HappenedEvent, ...]
    evictions: tuple[MadeEviction, ...]
    refusals: tuple[EvictionRefusal, ...]
    strategies: tuple[EvictionTotals, ...]
    workloads: tuple[WorkloadTotals, ...]
    budgets: tuple[BudgetTotals, ...]
    samples: SampledNumbers
    expectations: tuple[ExpectationResult, ...]
    mishaps: tuple[MishapResult, ...]
    loops: tuple[LoopResult, ...] = ()
    unknown: tuple[UnknownPlacementResult, ...] = ()
    inputs: SimulationInputs = SimulationInputs()
    #: Of a recording.
    past: RecordedPast | None = None
    api_version: str = field(default=API_VERSION)
    kind: str = "SimulationResult"
