"""The best assignment of a small problem, with a proof: HiGHS solves its integer program, if `restow[exact]` is installed.

A proof must not rest on what floating point tolerates. Costs are divided by their greatest common divisor, so the cost of
an assignment is a whole number, and problems where it could be too large are not solved. The solver's bound is then
lowered by a quarter and rounded up: it is wrong only if the solver was wrong by a quarter of the greatest common divisor,
and no two costs differ by less than that. The assignment is checked and its cost computed from nothing, as those of any search.

The solver does not simplify the program first. Its presolve has been wrong in releases from 1.4 to 1.15: it says that nothing
solves a program, or nothing but the start, and no check of the answer finds that out. Rounds without it are cheaper, so there
are more of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from math import ceil, gcd, inf
from typing import TYPE_CHECKING, Final

import numpy as np

from restow.optimizing.evaluation import evaluate, violations
from restow.optimizing.integer_program import IntegerProgram
from restow.optimizing.problem import Indices, ReassignmentProblem
from restow.optimizing.stated_problem import StatedProblem, is_linear, state

if TYPE_CHECKING:
    import highspy
    from highspy._core import _Highs

#: Pairs of a kind and a machine that a problem may have.
LARGEST: Final = 4_500
#: What an assignment may cost at most, by the greatest common divisor of all costs.
_DEAREST: Final = 1 << 26
#: What a column may count in a row at most.
_LARGEST_FACTOR: Final = 1 << 27
#: How often the solver may ask whether to go on, by the number of pairs: an answer that is not found soon is not waited
#: for. It asks after each round of cuts and each node, at the same moments whenever it solves the same program.
PATIENCE: Final = 100_000
FEWEST_ROUNDS: Final = 40
#: Good assignments are known when the solver begins, and looking for others takes most of its time.
_WITHOUT_HEURISTICS: Final = {
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_root_reduced_cost": False,
}
#: How wrong the solver's bound may be, where costs are whole numbers.
_DOUBT: Final = 0.25


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best assignment that is known, what it costs, and what no assignment costs less than."""

    place: Indices
    cost: int
    bound: int

    @property
    def proven(self) -> bool:
        """Whether no assignment costs less."""
        return self.cost == self.bound


def optimum(problem: ReassignmentProblem, *, seconds: float, begin: Indices | None = None) -> Optimum | None:
    """Return the best assignment of a small problem, after ``seconds`` or many steps the best so far; inf: steps alone.

    ``begin`` is a good assignment that is known, for the solver to start from; what comes out is not worse.
    None if the solver is not installed, an objective is not linear, the problem is too large, or no assignment is found.
    """
    if not is_installed() or not is_linear(problem.objective):
        return None
    stated = state(problem, LARGEST)
    if stated is None or not _is_small(stated.program):
        return None
    solver = _solver(stated.program, seconds)
    _stop_after(solver, max(PATIENCE // max(sum(map(len, stated.columns)), 1), FEWEST_ROUNDS))
    known = stated.values(problem.start if begin is None else begin)
    solver.setSolution(len(known), np.array([*known], np.int32), np.array([*known.values()], np.float64))
    solver.run()
    return _answer(problem, stated, solver)


def is_installed() -> bool:
    """Whether there is a solver."""
    try:
        import highspy  # noqa: F401
    except ImportError:
        return False
    return True


def _divisor(program: IntegerProgram) -> int:
    return gcd(*program.cost) or 1


def _is_small(program: IntegerProgram) -> bool:
    """Whether costs and coefficients are such that floating point is exact."""
    dearest = sum(abs(cost) * most for cost, most in zip(program.cost, program.most, strict=True))
    largest = max((abs(factor) for entries, _, _ in program.rows for _, factor in entries), default=0)
    return dearest // _divisor(program) <= _DEAREST and largest <= _LARGEST_FACTOR


def _solver(program: IntegerProgram, seconds: float) -> _Highs:
    """A solver that repeats exactly: one thread, one seed, and no clock unless there is a limit of time."""
    from highspy._core import _Highs  # its subclass Highs writes its name to the terminal

    solver = _Highs()
    options: dict[str, float | str] = {"output_flag": False, "threads": 1, "random_seed": 1, "time_limit": seconds}
    options["presolve"] = "off"
    gaps = {"mip_rel_gap": 0.0, "mip_abs_gap": 2 * _DOUBT}
    for name, value in (options | gaps | _WITHOUT_HEURISTICS).items():
        solver.setOptionValue(name, value)
    solver.passModel(_model(program))
    return solver


def _stop_after(solver: _Highs, rounds: int) -> None:
    """Let a solver ask so often whether to go on, and stop then."""
    from highspy._core import cb

    asked = count()

    def ask(_kind: object, _text: str, _found: object, answer: cb.HighsCallbackInput, _data: object) -> None:
        answer.user_interrupt = next(asked) >= rounds

    solver.setCallback(ask, None)
    solver.startCallback(cb.HighsCallbackType.kCallbackMipInterrupt)


def _model(program: IntegerProgram) -> highspy.HighsLp:
    import highspy

    model, divisor = highspy.HighsLp(), _divisor(program)
    model.num_col_, model.num_row_ = len(program.cost), len(program.rows)
    model.col_cost_ = np.array([cost // divisor for cost in program.cost], np.float64)
    model.col_lower_ = np.zeros(len(program.cost))
    model.col_upper_ = np.array(program.most, np.float64)
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(program.cost)
    model.row_lower_ = np.array([-inf if low is None else low for _, low, _ in program.rows])
    model.row_upper_ = np.array([inf if high is None else high for _, _, high in program.rows])
    lengths = [len(entries) for entries, _, _ in program.rows]
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.cumsum([0, *lengths], dtype=np.int32)
    model.a_matrix_.index_ = np.array([each for row, _, _ in program.rows for each, _ in row], np.int32)
    model.a_matrix_.value_ = np.array([factor for row, _, _ in program.rows for _, factor in row], np.float64)
    return model


def _answer(problem: ReassignmentProblem, stated: StatedProblem, solver: _Highs) -> Optimum | None:
    """What the solver found, checked against every rule; None if that is nothing."""
    found = solver.getInfo()
    if found.primal_solution_status != _FEASIBLE or abs(found.mip_dual_bound) == inf:
        return None
    values = np.rint(solver.getSolution().col_value).astype(np.int64)
    place = stated.place(problem, values.tolist())
    cost = evaluate(problem, place).cost
    bound = ceil(found.mip_dual_bound - _DOUBT) * _divisor(stated.program)
    if violations(problem, place) or bound > cost:
        return None
    return Optimum(place, cost, bound)


#: ``SolutionStatus.kSolutionStatusFeasible`` of HiGHS.
_FEASIBLE: Final = 2
