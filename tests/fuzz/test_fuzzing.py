"""The short form of ``make fuzz``: a few inputs of every kind, the same ones each time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuzz.cases import keep
from fuzz.hunting import KINDS, Hunt
from fuzz.workers import Worker

#: Drawn from this seed. Together they take less than a minute on a quiet core.
_SEED = 1
_INPUTS = {
    "cluster": 150,
    "tenant": 100,
    "policy": 150,
    "scenario": 150,
    "scheduler": 100,
    "kubeconfig": 150,
    "api-list": 100,
    "api-watch": 40,
    "flags": 100,
}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_every_input_ends_in_an_answer_or_a_sentence(kind: str, worker: Worker) -> None:
    """No traceback, no crash, no hang, no more than 2 GB, a documented status, nothing raw, nothing quoted at length."""
    hunt = Hunt(worker, set())

    hunt.run(kind, _SEED, _INPUTS[kind])

    told = [
        f"python -m fuzz --repeat {keep(each.case, each.finding.signature)}\n{each.finding.text}" for each in hunt.found
    ]
    assert not told, told[0]
    assert hunt.inputs >= _INPUTS[kind] // 2
