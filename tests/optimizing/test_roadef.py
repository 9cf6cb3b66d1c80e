"""The challenge's formats and rules, on an instance that is small enough to compute by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.roadef import checker
from bench.roadef.__main__ import main
from bench.roadef.instances import problem_of, read_assignment, read_instance
from restow.optimizing.evaluation import evaluate, violations

#: Two resources, the first transient; three machines in two locations; a service of two processes that needs one of one.
MODEL = """
2  1 100  0 10
3
0 0  30 400  16 80   0 1 4
0 0  10 240   8 160  1 0 3
1 1  15 100  12 80   4 3 0
2  2 0  1 1 0
3
0  12 10  1000
0  10 20  100
1   6 200  1
1  0 1 20  10
1 10 100
"""
START = [0, 2, 0]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    model, assignment = tmp_path / "model.txt", tmp_path / "assignment.txt"
    model.write_text(MODEL)
    assignment.write_text("0 2 0")
    return model, assignment


@pytest.mark.parametrize(
    ("new", "parts"),
    [
        # Machine 0: 18 of 16 safe and 210 of 80; its balance 20 * (30 - 18) - (400 - 210) = 50; machine 1: 200 - 240 < 0;
        # machine 2: 20 * (15 - 10) - (100 - 20) = 20.
        pytest.param([0, 2, 0], (2 * 100 + 130 * 10, 10 * (50 + 20), 0, 0, 0), id="start"),
        # Machine 0: 12 and 10: balance 20 * 18 - 390 < 0; machine 1: 200 of 160 safe, 20 * 4 - 40 = 40.
        pytest.param([0, 2, 1], (40 * 10, 10 * (40 + 20), 1 * 1, 10 * 1, 100 * 1), id="moved"),
    ],
)
def test_costs(files: tuple[Path, Path], new: list[int], parts: tuple[int, ...]):
    instance, start = read_instance(files[0]), read_assignment(files[1])
    assert checker.cost(instance, START, new) == checker.Cost(*parts)
    place = start.copy()
    place[:] = new
    assert evaluate(problem_of(instance, start), place).cost == sum(parts)


@pytest.mark.parametrize(
    ("new", "rule"),
    [
        pytest.param([0, 2, 0], None, id="start"),
        pytest.param([0, 2, 1], None, id="moved"),
        pytest.param([2, 2, 0], "two processes on a machine", id="conflict"),
        pytest.param([0, 1, 0], "fewer than 2 locations", id="spread"),
        pytest.param([0, 2, 2], "machine 2: resource 0: 16 > 15", id="capacity"),
        pytest.param([2, 0, 0], "machine 2: resource 0: 22 > 15", id="transient"),
    ],
)
def test_rules(files: tuple[Path, Path], new: list[int], rule: str | None):
    """Both judges agree; exchanging the first two processes needs 12 + 10 on machine 2, of which both stay 10 and 12."""
    instance, start = read_instance(files[0]), read_assignment(files[1])
    found = checker.violations(instance, START, new)
    place = start.copy()
    place[:] = new
    assert bool(found) == bool(violations(problem_of(instance, start), place))
    assert (rule in " ".join(found)) if rule else True


def test_a_service_needs_another_in_each_of_its_neighborhoods(files: tuple[Path, Path]):
    text = MODEL.replace("2  2 0  1 1 0", "2  2 1 1  1 0")
    files[0].write_text(text)
    instance, start = read_instance(files[0]), read_assignment(files[1])
    assert checker.violations(instance, START, START) == ["service 0: a neighborhood without service 1"]
    assert violations(problem_of(instance, start), start) == ["service 0: in a neighbourhood without service 1"]


def test_a_new_assignment_is_written(files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "new.txt"
    assert main([*map(str, files), "--steps", "2000", "--output", str(output)]) == 0
    new = output.read_text().split()
    assert len(new) == 3
    assert "no rule is broken" in capsys.readouterr().out


def test_more_numbers_than_a_model_has_are_refused(files: tuple[Path, Path]):
    files[0].write_text(MODEL + " 5")
    with pytest.raises(ValueError, match="more numbers"):
        read_instance(files[0])
