"""What would be a finding is one: each fault, committed on purpose, is seen and put down to its input."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuzz.cases import Case, Death, Facts, Ran, load, save
from fuzz.properties import findings
from fuzz.workers import Worker

FINE = Case(kind="flags", commands=(("generate", "--nodes", "1", "--pods", "1"),))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker(time_limit=5.0)
    yield made
    made.close()


def committed(fault: str, times: int = 1) -> Case:
    """A case that meets this fault."""
    files = {"dump/0.json": b"{}"}
    return Case(
        kind="cluster", commands=(("plan", "-f", "dump"),) * times, files=files, entry=f"fuzz.misbehaving:{fault}"
    )


def signatures(worker: Worker, case: Case) -> list[str]:
    return [each.signature for each in findings(case, worker.run(case))]


@pytest.mark.parametrize(
    ("fault", "times", "seen"),
    [
        pytest.param("crash", 1, "cluster: killed by SIGSEGV: fuzz/misbehaving.py", id="a crash of the interpreter"),
        pytest.param("eat_memory", 1, "unforeseen: MemoryError in", id="too much memory"),
        pytest.param("leave", 1, "status 3: cluster", id="a status that is not documented"),
        pytest.param("stay_silent", 1, "no sentence: cluster plan", id="a refusal without a word"),
        pytest.param("write_escapes", 1, "raw '\\x1b' on stderr: dump/_.json: Pod", id="escapes for terminals"),
        pytest.param("quote_everything", 1, "quotes '9'...: dump/_.json:", id="a value quoted at length"),
        pytest.param("change_its_mind", 2, "not the same again: plan", id="another answer to the same question"),
    ],
)
def test_a_fault_is_a_finding(worker: Worker, fault: str, times: int, seen: str) -> None:
    assert any(each.startswith(seen) for each in signatures(worker, committed(fault, times)))
    # The next input meets nothing of it.
    assert signatures(worker, FINE) == []


def test_a_hang_is_a_finding_that_says_where() -> None:
    worker = Worker(time_limit=0.5)
    result = worker.run(committed("hang"))
    worker.close()

    assert isinstance(result, Death)
    assert "no answer" in result.why
    assert "misbehaving.py" in result.last_words or not result.last_words


def test_who_is_left_out_has_to_be_named() -> None:
    case = Case("tenant", (("plan", "-o", "json"),), facts=Facts(pods=("a/b", "a/c"), suspects=("a/c",), accepted=True))
    plan = b'{"summary": {"pods": 1}}'

    assert findings(case, (Ran(0, plan, "Pod a/c: left out", 0.1),)) == []
    assert [each.signature for each in findings(case, (Ran(0, plan, "", 0.1),))] == ["left out, and not named"]


def test_a_kept_input_is_the_same_input(tmp_path) -> None:
    case = Case("cluster", (("plan", "-f", "dump"),), files={"dump/0.json": b"\xff\x00"}, facts=Facts(suspects=("a",)))

    save(case, tmp_path / "case.json")

    assert load(tmp_path / "case.json") == case
