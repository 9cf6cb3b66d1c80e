"""The settings of a policy that do best in simulated futures: searched in some of them, and checked in fresh ones.

Each trial is a policy with other values, and runs in the same futures as all others. What is found is then compared with the
policy as it is, the same without proof of its moves (as the Descheduler places them), and one that never moves anything, in
futures that the search has not seen: otherwise luck would look like merit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from msgspec import structs

from restow.application.comparing import Runs
from restow.application.feedback import Collected, Feedback
from restow.application.files import NamedFile, NamedText, check_read_once, file_bytes, file_name
from restow.application.kept_runs import KeptResults, KeptRun, begun, keep
from restow.application.policies import bundled_text, read_policy_file
from restow.application.simulating import Inputs, ScenarioRequest, Staging, input_digests, read_inputs, staging_of
from restow.documents.yaml_text import write_yaml
from restow.engines.registry import ChosenEngine, RunFeedback, in_processes, make_all
from restow.errors import InputError
from restow.kube.duration import parse_duration
from restow.kube.timestamps import SECOND, format_time
from restow.policies.codes import Placement
from restow.policies.fallbacks import Fallbacks
from restow.policies.load import read_policy_document
from restow.reporting.tuning_result import (
    BASE,
    NEVER,
    UPSTREAM,
    CheckedPolicy,
    TunedSetting,
    TuningMetadata,
    TuningResult,
    TuningTrial,
)
from restow.simulating.scenarios.running import Future
from restow.tuning.giving_up import FIRST, BestTrials, Outcomes, means_of
from restow.tuning.judging import improvement
from restow.tuning.objectives import TuningObjective, read_objective
from restow.tuning.searching import SearchResult, Trial, Tried, front_of, search
from restow.tuning.space import INTERVAL, TunableSetting, Value, applied, read_space, value_at
from restow.version import __version__

_BUNDLED: Final = "bundled policy"
_IDLE: Final = NamedText(NEVER, b"apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n")
#: Trials of a front that are checked at most.
_CHECKED: Final = 5


@dataclass(slots=True, frozen=True)
class TuningRequest:
    """What to search; as a user writes it."""

    scenario: ScenarioRequest
    #: None: the bundled one.
    policy: NamedFile | None
    space: NamedFile
    #: Formulas of the numbers of a future.
    objectives: tuple[str, ...]
    trials: int = 60
    #: How many futures each trial runs in, and how many fresh ones what was found.
    futures: int = 10
    engine: ChosenEngine = field(default_factory=partial(in_processes, None))
    #: A directory that keeps the results.
    results: str | None = None
    #: Whether a search whose results are there already goes on.
    resumes: bool = False


@dataclass(slots=True, frozen=True)
class Tuned:
    """What was found."""

    result: TuningResult
    #: The best policy, as YAML.
    policy: str


def tune(request: TuningRequest, feedback: Feedback) -> Tuned:
    """Search the values of settings that make the objectives smallest; InputError for anything that cannot be used."""
    _check(request)
    earlier = None if request.results is None else begun(request.results, resumes=request.resumes)
    if earlier is not None and request.scenario.now is None:
        request = replace(request, scenario=replace(request.scenario, now=earlier.begins))
    with feedback.timings.phase("load"), feedback.working("reading the scenario"):
        objectives = tuple(map(read_objective, request.objectives))
        settings = read_space(file_bytes(request.space), file_name(request.space))
        bench = _bench_of(request, settings, objectives, feedback)
        if request.results is not None:
            bench.results = keep(request.results, _kept_run(request, bench), earlier)
    duration = bench.inputs.ending.duration
    whole = (request.trials + _CHECKED + 3) * request.futures * duration
    with feedback.timings.phase("simulate"), feedback.simulating(whole) as tick:
        bench.follow(tick, lambda sentence: feedback.warn([sentence]))
        found = search(
            settings,
            bench.base_values,
            bench.try_all,
            count=request.trials,
            seed=bench.inputs.scenario.seed,
            objectives=len(objectives),
        )
        front = front_of(found.trials)
        checked = bench.check(front[:_CHECKED])
    result = _result(request, bench, found, front, checked)
    return Tuned(result, write_yaml(applied(bench.policy, front[0].values)))


def _kept_run(request: TuningRequest, bench: _Bench) -> KeptRun:
    """What the results of a search follow from."""
    inputs, policy = bench.inputs, request.policy
    files = [each for each in (policy, request.space) if isinstance(each, str)]
    return KeptRun(
        begins=format_time(inputs.now),
        seconds=bench.seconds,
        until_stable=inputs.ending.when_stable,
        policies=(bench.base.policy,),
        seeds=(*bench.seeds, *bench.fresh_seeds),
        inputs=tuple(input_digests((*request.scenario.paths, *files, *inputs.folder.read))),
        restow_version=__version__,
        objectives=tuple(each.text for each in bench.objectives),
        trials=request.trials,
        kind="TuningRun",
    )


def _check(request: TuningRequest) -> None:
    if not request.objectives:
        raise InputError("say what to make small: --objective 'evictions + 0.1 * belowSeconds'")
    if request.trials < 1 or request.futures < 1:
        raise InputError("--trials and --seeds must be 1 or more")
    check_read_once((*request.scenario.paths, request.policy, request.space))


def _bench_of(
    request: TuningRequest,
    settings: Sequence[TunableSetting],
    objectives: tuple[TuningObjective, ...],
    feedback: Feedback,
) -> _Bench:
    inputs = read_inputs(request.scenario, feedback)
    text = bundled_text() if request.policy is None else file_bytes(request.policy)
    name = _BUNDLED if request.policy is None else file_name(request.policy)
    base = staging_of(inputs, NamedText(name, text), feedback)
    policy = read_policy_document(text, name).data
    every = base.scenario.descheduling.every if base.scenario.descheduling else 0
    bench = _Bench(inputs, base, policy, request.futures, request.engine, objectives)
    bench.base_values = {each.path: value_at(policy, each.path) for each in settings}
    if INTERVAL in bench.base_values:
        known = next(each for each in settings if each.path == INTERVAL).values
        bench.base_values[INTERVAL] = next((each for each in known if parse_duration(str(each)) == every), None)
    for each in settings:
        _check_setting(each, policy)
    return bench


def _check_setting(setting: TunableSetting, policy: Mapping[str, Any]) -> None:
    """Raise InputError for a path that leads nowhere, a field that policies do not have, and a value that they refuse."""
    for value in (setting.values[0], setting.values[-1]):
        text = write_yaml(applied(policy, {setting.path: value})).encode()
        read_policy_file(NamedText(f"the policy with {setting.path}: {value}", text), Fallbacks())


@dataclass(slots=True)
class _Bench:
    """Where policies are tried: the futures, and what is measured in them."""

    inputs: Inputs
    base: Staging
    #: As it is written.
    policy: dict[str, Any]
    futures: int
    engine: ChosenEngine
    objectives: tuple[TuningObjective, ...]
    base_values: dict[str, Any] = field(default_factory=dict)
    #: Where results are kept.
    results: KeptResults | None = None
    _best: BestTrials = field(default_factory=BestTrials)
    #: How many trials there were.
    _tried: int = 0
    #: How much virtual time is over.
    _over: int = 0
    _tick: Callable[[int], None] = lambda _: None
    _say: Callable[[str], None] = lambda _: None

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those of the search."""
        first = self.inputs.scenario.seed
        return tuple(range(first, first + self.futures))

    @property
    def fresh_seeds(self) -> tuple[int, ...]:
        """Others than those of the search."""
        first = self.inputs.scenario.seed + self.futures
        return tuple(range(first, first + self.futures))

    @property
    def seconds(self) -> float:
        """How long a future is, at most."""
        return self.inputs.ending.duration / SECOND

    def follow(self, tick: Callable[[int], None], say: Callable[[str], None]) -> None:
        """From now on report how much virtual time of all is over."""
        self._tick, self._say = tick, say

    def staging(self, values: Mapping[str, Value], name: str) -> Staging:
        """The scenario with the policy that has these values; InputError where it cannot be used."""
        text = write_yaml(applied(self.policy, values)).encode()
        staging = staging_of(self.inputs, NamedText(name, text), Collected())
        if INTERVAL not in values or staging.scenario.descheduling is None:
            return staging
        every = parse_duration(str(values[INTERVAL]))
        descheduling = structs.replace(staging.scenario.descheduling, every=every)
        return replace(staging, scenario=replace(staging.scenario, descheduling=descheduling))

    def try_all(self, values: Sequence[Mapping[str, Value]]) -> list[Tried]:
        """What each comes to in the futures of the search; one that is hopeless after the first is given up."""
        stagings = [self.staging(each, f"trial {number}") for number, each in enumerate(values, self._tried)]
        self._tried += len(stagings)
        first, others = self.seeds[:FIRST], self.seeds[FIRST:]
        outcomes = [self._outcomes(each) for each in self._run(stagings, first, values)]
        projected = [self._best.projected(each) if others else None for each in outcomes]
        going = [number for number, given_up in enumerate(projected) if given_up is None]
        left = [stagings[number] for number in going], others, [values[number] for number in going]
        rest = self._run(*left) if others else []
        for number, futures in zip(going, rest, strict=False):
            outcomes[number] += self._outcomes(futures)
        self._over += (len(stagings) - len(going)) * len(others) * self.inputs.ending.duration
        for number in going:
            self._best.add(outcomes[number])
        return [_tried(*each) for each in zip(outcomes, projected, strict=True)]

    def _outcomes(self, futures: Sequence[Future]) -> list[list[float]]:
        """The objectives in each of some futures."""
        return [[objective.of(each, self.seconds) for objective in self.objectives] for each in futures]

    def check(self, trials: Sequence[Trial]) -> list[CheckedPolicy]:
        """Trials in fresh futures, and what they are compared with."""
        idle = staging_of(self.inputs, _IDLE, Collected())
        named = {BASE: self.base, UPSTREAM: _upstream(self.base), NEVER: idle}
        numbers: list[int | None] = [None] * len(named)
        for each in trials:
            named[f"trial {each.number}"] = self.staging(each.values, f"trial {each.number}")
            numbers.append(each.number)
        values: list[Mapping[str, Value]] = [{}] * (len(named) - len(trials))
        values += [each.values for each in trials]
        found = [self._outcomes(each) for each in self._run(list(named.values()), self.fresh_seeds, values)]
        return _checked(list(zip(named, numbers, found, strict=True)))

    def _run(
        self, stagings: Sequence[Staging], seeds: tuple[int, ...], values: Sequence[Mapping[str, Value]]
    ) -> list[Sequence[Future]]:
        """The futures of each policy, which has these values of settings."""
        runs = Runs(tuple(stagings), seeds, self.inputs.ending, self.inputs.now)
        begin, size = self._over, self.inputs.ending.duration
        told = RunFeedback(lambda over: self._tick(begin + over), size, self._say)
        run = None
        if self.results is not None:
            tried = (each for each in values for _ in seeds)
            run = self.results.part([row | {"values": dict(each)} for row, each in zip(runs.rows, tried, strict=True)])
        found: list[Future] = make_all(runs, self.engine, told, Future, run)
        self._over = begin + len(runs) * size
        return [found[each : each + len(seeds)] for each in range(0, len(found), len(seeds))]


def _tried(outcomes: Outcomes, projected: Sequence[float] | None) -> Tried:
    if projected is None:
        return Tried(means_of(outcomes), len(outcomes))
    return Tried(projected, len(outcomes), is_given_up=True)


def _checked(policies: Sequence[tuple[str, int | None, Outcomes]]) -> list[CheckedPolicy]:
    """Name, trial and outcomes of each policy, the first of which is the base: how they compare."""
    by_future = zip(*(outcomes for _, _, outcomes in policies), strict=True)
    hindsight = means_of([list(map(min, zip(*future, strict=True))) for future in by_future])
    base = list(zip(*policies[0][2], strict=True))
    checked = []
    for name, number, outcomes in policies:
        means = means_of(outcomes)
        less = map(improvement, base, zip(*outcomes, strict=True))
        regret = (round(mean - best, 6) for mean, best in zip(means, hindsight, strict=True))
        checked.append(CheckedPolicy(name, number, tuple(means), tuple(less), tuple(regret)))
    return checked


def _upstream(staging: Staging) -> Staging:
    """The same policy, whose moves are made without proof."""
    descheduling = staging.scenario.descheduling
    if descheduling is None:
        return staging
    changed = replace(staging.scenario, descheduling=structs.replace(descheduling, placement=Placement.UPSTREAM))
    return replace(staging, scenario=changed)


def _result(
    request: TuningRequest, bench: _Bench, found: SearchResult, front: Sequence[Trial], checked: list[CheckedPolicy]
) -> TuningResult:
    inputs, best = bench.inputs, front[0].values
    metadata = TuningMetadata(
        scenario=inputs.name,
        description=inputs.scenario.description,
        begins=format_time(inputs.now),
        seconds=bench.seconds,
        until_stable=inputs.ending.when_stable,
        policy=bench.base.policy,
        space=file_name(request.space),
        objectives=tuple(each.text for each in bench.objectives),
        seeds=bench.seeds,
        fresh_seeds=bench.fresh_seeds,
        search_seed=inputs.scenario.seed,
        restow_version=__version__,
    )
    return TuningResult(
        metadata=metadata,
        settings=tuple(
            TunedSetting(path, bench.base_values[path], value, found.worth.get(path)) for path, value in best.items()
        ),
        front=tuple(each.number for each in front),
        checked=tuple(checked),
        trials=tuple(
            TuningTrial(each.number, dict(each.values), each.objectives, each.futures) for each in found.trials
        ),
    )
