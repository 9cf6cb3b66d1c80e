"""The plugins that a policy may name: restow's own, and strategies of other packages, which are checked and guarded.

To add a strategy: one file in ``descheduling/plugins`` and one line here, or an entry point of the group
``restow.strategies`` in another package (``docs/how-to/write-a-strategy.md``), which is imported when a policy names it.

An exception ends a strategy of another package, as a problem of the plan that names it; the rest of the plan continues.
What it was asked about nodes just then is answered so that the pod stays: it accepts none, and all are worse. What it raises
about its own arguments ends the command, as anything else that is wrong with a policy does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs

from restow.cluster.interning import BoolArray, IntArray
from restow.descheduling import evictor_args
from restow.descheduling.framework import (
    LandingCheck,
    NodeClass,
    Proposal,
    Strategy,
    StrategyError,
    Suggestion,
    Suggestions,
    Verdict,
    View,
)
from restow.descheduling.plugins import (
    high_node_utilization,
    inter_pod_anti_affinity,
    low_node_utilization,
    node_affinity,
    node_taints,
    pod_life_time,
    rebalance,
    remove_duplicates,
    remove_failed_pods,
    too_many_restarts,
    topology_spread,
)
from restow.documents.findings import Issue
from restow.installed_packages import FAULTS, Extensible, UnusablePackageError, unusable
from restow.kube.excerpts import described, excerpt
from restow.policies.schema import PluginSchema

P = ParamSpec("P")
R = TypeVar("R")

#: Other packages register a ``Strategy`` under this entry point group, by the strategy's name.
ENTRY_POINTS: Final = "restow.strategies"
#: The points of a profile at which strategies run.
_POINTS: Final = ("deschedule", "balance")
_END: Final = object()
_OWN_IS: Final = "a plugin of restow itself"

BUILT_IN = (
    high_node_utilization.STRATEGY,
    inter_pod_anti_affinity.STRATEGY,
    low_node_utilization.STRATEGY,
    node_affinity.STRATEGY,
    node_taints.STRATEGY,
    pod_life_time.STRATEGY,
    rebalance.STRATEGY,
    remove_duplicates.STRATEGY,
    remove_failed_pods.STRATEGY,
    too_many_restarts.STRATEGY,
    topology_spread.STRATEGY,
)


def strategies() -> Mapping[str, Strategy]:
    """Every strategy by name; looking one up raises UnusablePackageError where its package is at fault."""
    own = {each.schema.name: each for each in BUILT_IN}
    return Extensible(ENTRY_POINTS, own, _OWN_IS, strategy_of_a_package)


def plugins() -> Mapping[str, PluginSchema]:
    """What a policy may name and configure: the strategies and DefaultEvictor; looked up as ``strategies``."""
    own = [evictor_args.SCHEMA, *(each.schema for each in BUILT_IN)]
    return Extensible(ENTRY_POINTS, {each.name: each for each in own}, _OWN_IS, _schema_of_a_package)


def _schema_of_a_package(name: str, offered: object) -> PluginSchema:
    return strategy_of_a_package(name, offered).schema


def strategy_of_a_package(name: str, offered: object) -> Strategy:
    """What an entry point offers, guarded; UnusablePackageError where it is no strategy that can run."""
    problem = _problem(name, offered)
    if problem or not isinstance(offered, Strategy):
        raise unusable(ENTRY_POINTS, name, problem)
    return Strategy(
        schema=_guarded_schema(offered.schema),
        suggest=partial(_suggest, offered),
        sort_nodes=None if offered.sort_nodes is None else partial(_sort_nodes, offered.sort_nodes),
        watch=None if offered.watch is None else partial(_watch, offered.watch),
        by_parts=offered.by_parts,
    )


def _problem(name: str, offered: object) -> str:
    """Why a declaration is unusable; empty if it is usable."""
    if not isinstance(offered, Strategy):
        return "is no restow.descheduling.framework.Strategy"
    schema = offered.schema
    if not isinstance(schema, PluginSchema):
        return "has a schema that is no restow.policies.schema.PluginSchema"
    if schema.name != name:
        return f'declares the strategy "{schema.name}"; name the entry point like the strategy'
    if not schema.extension_points or not set(schema.extension_points) <= set(_POINTS):
        return f"must run at {' or '.join(_POINTS)}, and nowhere else"
    if not (isinstance(schema.args, type) and issubclass(schema.args, Struct)):
        return "has args that are no msgspec.Struct"
    return ""


def _guarded_schema(schema: PluginSchema) -> PluginSchema:
    """Guard a schema: anything that the package raises about arguments becomes an UnusablePackageError."""
    return replace(
        schema,
        validate=partial(_about_args, schema.name, partial(_listed, schema.validate, str)),
        default=partial(_about_args, schema.name, partial(_of_type, schema.default, schema.args)),
        construct=partial(_about_args, schema.name, partial(_listed, schema.construct, str)),
        lint=partial(_about_args, schema.name, partial(_listed, schema.lint, Issue)),
    )


def _about_args(name: str, function: Callable[[Any], R], args: Any) -> R:
    try:
        return function(args)
    except FAULTS as error:
        raise UnusablePackageError(f'strategy "{name}": its arguments cannot be checked: {described(error)}') from error


def _listed(function: Callable[[Any], Iterable[Any]], kind: type[R], args: Any) -> list[R]:
    found = list(function(args))
    if not all(isinstance(each, kind) for each in found):
        raise TypeError(f"what is wrong with them must be {kind.__name__} objects")
    return found


def _of_type(function: Callable[[Any], Any], kind: type[Struct], args: Any) -> Struct:
    filled = function(args)
    if not isinstance(filled, kind):
        raise TypeError("default must give what it gets, changed or not")
    return filled


def _suggest(strategy: Strategy, view: View, args: Any) -> Suggestions:
    """Its suggestions; StrategyError where it fails, or one of its functions has failed."""
    faults = _Faults()
    suggestions = _ending("suggest", strategy.suggest, view, args)
    if not isinstance(suggestions, Generator):
        raise StrategyError(f"suggest gave {type(suggestions).__name__} and must be a generator")
    asked = _ending("suggest", _next, suggestions, None)
    while asked is not _END:
        verdict = yield _guarded(asked, len(view.pods), faults)
        if faults.first:
            raise StrategyError(faults.first)
        asked = _ending("suggest", _next, suggestions, verdict)


def _next(suggestions: Generator[Any, Any, None], verdict: Verdict | None) -> Any:
    """What is suggested after a verdict, at first None; ``_END`` where there is no more."""
    try:
        return suggestions.send(verdict)
    except StopIteration:
        return _END


def _sort_nodes(
    function: Callable[[View, Any], Mapping[int, NodeClass]], view: View, args: Any
) -> Mapping[int, NodeClass]:
    classes = _ending("sort_nodes", function, view, args)
    if not isinstance(classes, Mapping) or not all(isinstance(each, NodeClass) for each in classes.values()):
        raise StrategyError("sort_nodes must give a NodeClass for each node")
    return classes


def _ending(what: str, function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """The result of a strategy's function; StrategyError for anything that it raises."""
    try:
        return function(*arguments, **named)
    except StrategyError:
        raise
    except FAULTS as error:
        raise StrategyError(f"{what} raised {described(error)}") from error


@dataclass(slots=True)
class _Faults:
    """What went wrong in the functions of suggestions, which are asked in the middle of a decision."""

    first: str = ""
    #: Whether the fault was reported.
    reported: bool = False

    def add(self, what: str, error: BaseException) -> None:
        self.first = self.first or f"{what} raised {described(error)}"


def _guarded(asked: Suggestion | Proposal, pods: int, faults: _Faults) -> Suggestion | Proposal:
    if isinstance(asked, Proposal):
        suggestions = tuple(_guarded_suggestion(each, pods, faults) for each in asked.suggestions)
        return structs.replace(asked, suggestions=suggestions)
    return _guarded_suggestion(asked, pods, faults)


def _guarded_suggestion(asked: Suggestion, pods: int, faults: _Faults) -> Suggestion:
    if not isinstance(asked, Suggestion):
        raise StrategyError(f"suggest gave {type(asked).__name__} instead of a Suggestion or a Proposal")
    if not isinstance(asked.pod, int | np.integer) or not 0 <= asked.pod < pods:
        raise StrategyError(f"suggest gave {excerpt(repr(asked.pod))}, which is no row of a pod")
    if not isinstance(asked.reason, str):
        raise StrategyError(f"suggest gave {type(asked.reason).__name__} instead of a reason in words")
    return structs.replace(
        asked,
        pod=int(asked.pod),
        accepts=_node_test(asked.accepts, "accepts", faults, instead=False),
        worse=_node_test(asked.worse, "worse", faults, instead=True),
        cost=None if asked.cost is None else partial(_costs, asked.cost, faults),
    )


def _node_test(
    function: Callable[[IntArray], Any] | None, what: str, faults: _Faults, *, instead: bool
) -> Callable[[IntArray], BoolArray] | None:
    if function is None:
        return None
    return lambda nodes: _tested(function, what, faults, instead=instead, nodes=nodes)


def _tested(
    function: Callable[[IntArray], Any], what: str, faults: _Faults, *, instead: bool, nodes: IntArray
) -> BoolArray:
    try:
        return _column(function(nodes), np.dtype(np.bool_), len(nodes))
    except FAULTS as error:
        faults.add(what, error)
        return np.full(len(nodes), instead)


def _costs(function: Callable[[IntArray], Any], faults: _Faults, nodes: IntArray) -> npt.NDArray[np.float64]:
    try:
        costs: npt.NDArray[np.float64] = _column(function(nodes), np.dtype(np.float64), len(nodes))
        if np.isnan(costs).any():
            raise ValueError("a cost is not a number")
    except FAULTS as error:
        faults.add("cost", error)
        return np.zeros(len(nodes))
    return costs


def _column(found: Any, kind: np.dtype[Any], length: int) -> npt.NDArray[Any]:
    column = np.asarray(found)
    if column.shape != (length,) or (kind == np.bool_ and column.dtype != np.bool_):
        raise TypeError(f"a {kind} for each of {length} nodes is expected")
    return column.astype(kind, copy=False)


def _watch(function: Callable[[View, Any], LandingCheck], view: View, args: Any) -> LandingCheck:
    """Its check. Where it fails it objects to nothing, since the next round finds the same, and the plan notes why."""
    faults = _Faults()

    def noted(found: R) -> R:
        if faults.first and not faults.reported:
            faults.reported = True
            view.note(f"{faults.first}: what it would say about other strategies' moves is not known")
        return found

    def check(pod: int, nodes: IntArray) -> BoolArray:
        return noted(_tested(partial(landing_check, pod), "watch", faults, instead=False, nodes=nodes))

    try:
        landing_check = function(view, args)
    except FAULTS as error:
        faults.add("watch", error)
        return noted(_no_objection)
    return check


def _no_objection(_pod: int, nodes: IntArray) -> BoolArray:
    return np.zeros(len(nodes), dtype=bool)
