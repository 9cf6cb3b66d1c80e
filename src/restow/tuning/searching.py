"""The search itself, which Optuna makes (``restow[tune]``): which values to try next, given those that were tried.

The sampler is TPE, for one objective or several. Trials come in rounds of a fixed size, whose futures run side by side; so
the same seed tries the same values on any engine and any number of workers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from restow.errors import InputError
from restow.tuning.space import TunableSetting, Value

#: Trials that are made side by side.
ROUND: Final = 5
#: Trials that choose at random, before the sampler has something to go by.
_RANDOM: Final = 10


@dataclass(slots=True, frozen=True)
class Tried:
    """What values came to."""

    #: One for each objective; less is better.
    objectives: Sequence[float]
    #: How many futures they were tried in; fewer than there are for values that were given up.
    futures: int
    is_given_up: bool = False


#: Tries values, by path, and returns what each came to.
TryAll = Callable[[Sequence[Mapping[str, Value]]], Sequence[Tried]]


@dataclass(slots=True, frozen=True)
class Trial:
    """Values that were tried, and what they came to."""

    number: int
    values: Mapping[str, Value]
    #: One for each objective; less is better.
    objectives: tuple[float, ...]
    futures: int
    is_given_up: bool = False


@dataclass(slots=True, frozen=True)
class SearchResult:
    """All trials in order, and how much of the first objective's spread each setting explains, adding up to 1."""

    trials: tuple[Trial, ...]
    worth: Mapping[str, float]


def search(
    settings: Sequence[TunableSetting],
    base: Mapping[str, Value],
    try_all: TryAll,
    *,
    count: int,
    seed: int,
    objectives: int,
) -> SearchResult:
    """Try ``count`` values, those of ``base`` first where the space has them; InputError without the extra."""
    try:
        optuna = import_module("optuna")
    except ImportError as error:
        raise InputError("restow tune needs the package optuna: pip install 'restow[tune]'") from error
    with _quietly(optuna):
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=_RANDOM, multivariate=True, constant_liar=True)
        study = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
        if all(base.get(each.path) in each.values for each in settings):
            study.enqueue_trial({each.path: _sampled(each, base[each.path]) for each in settings})
        trials = tuple(_tried(study, _distributions(optuna, settings), settings, count, try_all))
        return SearchResult(trials, _worth(optuna, study, settings))


def _tried(
    study: Any, distributions: Mapping[str, Any], settings: Sequence[TunableSetting], count: int, try_all: TryAll
) -> Iterator[Trial]:
    for begin in range(0, count, ROUND):
        asked = [study.ask(dict(distributions)) for _ in range(min(ROUND, count - begin))]
        values = [{each.path: _value(each, trial.params[each.path]) for each in settings} for trial in asked]
        for trial, chosen, tried in zip(asked, values, try_all(values), strict=True):
            study.tell(trial, tried.objectives)
            yield Trial(trial.number, chosen, tuple(tried.objectives), tried.futures, tried.is_given_up)


def _distributions(optuna: Any, settings: Sequence[TunableSetting]) -> dict[str, Any]:
    """Of ranges the place of a value is searched, so it is a whole number."""
    kinds = optuna.distributions
    return {
        each.path: kinds.IntDistribution(0, len(each.values) - 1)
        if each.is_range
        else kinds.CategoricalDistribution(each.values)
        for each in settings
    }


def _sampled(setting: TunableSetting, value: Value) -> Value:
    return setting.values.index(value) if setting.is_range else value


def _value(setting: TunableSetting, sampled: Any) -> Value:
    value: Value = setting.values[sampled] if setting.is_range else sampled
    return value


def _worth(optuna: Any, study: Any, settings: Sequence[TunableSetting]) -> dict[str, float]:
    """Empty where it cannot be said: all trials came to the same, or there are too few."""
    if len(settings) == 1:
        return {settings[0].path: 1.0}
    try:
        found = optuna.importance.get_param_importances(
            study,
            evaluator=optuna.importance.PedAnovaImportanceEvaluator(),
            target=lambda trial: trial.values[0],
        )
    except (ValueError, RuntimeError):
        return {}
    return {path: round(float(share), 3) for path, share in found.items()}


@contextmanager
def _quietly(optuna: Any) -> Iterator[None]:
    """Without Optuna's lines about each trial, and its remarks that parts of it are experimental."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)


def front_of(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials than which no other is as good in all objectives and better in one; of equal ones the first.

    None is among them that was given up.
    """
    complete = [each for each in trials if not each.is_given_up]
    front = [
        trial
        for place, trial in enumerate(complete)
        if not any(_dominates(other, trial) for other in complete)
        and not any(other.objectives == trial.objectives for other in complete[:place])
    ]
    return tuple(sorted(front, key=lambda trial: (trial.objectives, trial.number)))


def _dominates(one: Trial, other: Trial) -> bool:
    pairs = list(zip(one.objectives, other.objectives, strict=True))
    return all(own <= theirs for own, theirs in pairs) and any(own < theirs for own, theirs in pairs)
