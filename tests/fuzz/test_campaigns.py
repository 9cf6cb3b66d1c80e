"""A campaign hands out hunts in batches, to any engine, and counts what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz import cases
from fuzz.campaigns import Campaign, Hunted, Hunts
from fuzz.cases import Case
from fuzz.hunting import Found
from fuzz.properties import Finding
from restow.engines.local import LocalArgs
from restow.engines.registry import ChosenEngine, Engine
from restow.engines.work import EngineTask, ResultListener


def an_engine(made: Callable[[Hunts, int], Hunted], batches: list[Hunts]) -> ChosenEngine:
    """An engine of this process that makes up what hunts find, and notes the batches."""

    def make(_args: LocalArgs, task: EngineTask, listener: ResultListener) -> None:
        assert isinstance(task.work, Hunts)
        batches.append(task.work)
        for number in task.numbers:
            listener.finished(number, made(task.work, number))

    return ChosenEngine(Engine("here", LocalArgs, make), LocalArgs())


def test_a_campaign_makes_as_many_inputs_as_are_wanted_and_none_twice() -> None:
    batches: list[Hunts] = []
    campaign = Campaign(("policy", "flags", "cluster"), seed=7, time_limit=1.0, wanted=25_050)
    assert campaign.run(an_engine(lambda hunts, _: Hunted(hunts.inputs, ()), batches)) == 0
    assert campaign.inputs.total() == 25_050
    hunted = [batch.kind_and_seed(number) for batch in batches for number in range(len(batch))]
    assert hunted[:4] == [("policy", 7), ("flags", 7), ("cluster", 7), ("policy", 8)]
    assert len(set(hunted)) == len(hunted) == 251


def test_what_is_found_twice_is_told_once_and_known_to_the_next_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cases, "FOLDER", tmp_path)
    found = Found(Finding("policy: a fault", "what it says"), Case(kind="policy", commands=(("plan",),)))
    batches: list[Hunts] = []
    campaign = Campaign(("policy",), seed=1, time_limit=1.0, wanted=20_000)
    assert campaign.run(an_engine(lambda hunts, _: Hunted(hunts.inputs, (found,)), batches)) == 1
    assert capsys.readouterr().out.count("FOUND (seed 1): policy: a fault") == 1
    assert [batch.known for batch in batches] == [frozenset(), {"policy: a fault"}]


def test_no_hunt_begins_when_the_time_is_up() -> None:
    hunts = Hunts(("policy",), first=0, count=1, seed=1, inputs=100, time_limit=1.0, until=time.time() - 1)
    assert hunts.make(0, lambda _: None) == Hunted(0, ())
