"""The policy file of a run, and what happens to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.policies import Policy, as_yaml, strategy_policy
from descheduler.hearing import Heard, sample
from restow.descheduler.loop import PolicySource
from restow.errors import InputError
from restow.policies.fallbacks import Fallbacks
from restow.serving.metrics import Metrics

CHANGED = "has changed: the new policy is in force"
BROKEN = "the changed policy cannot be used; the previous policy stays in force"
UNREADABLE = "the previous policy stays in force"


class Read:
    """A source of a file in a directory, and what is heard of it."""

    def __init__(self, file: Path, fallbacks: Fallbacks = Fallbacks()) -> None:  # noqa: B008 - frozen
        self.heard, self.metrics = Heard(0), Metrics()
        self.source = PolicySource.open(str(file), fallbacks, self.heard.log, self.metrics)

    def refresh(self, times: int = 1) -> list[str]:
        """What is said that was not said before."""
        before = len(self.heard.messages)
        for _ in range(times):
            self.source.refresh()
        return self.heard.messages[before:]

    @property
    def total(self) -> int | None:
        return self.source.current.max_no_of_pods_to_evict_total

    @property
    def counted(self) -> tuple[float | None, float | None]:
        """Policies that were loaded, and broken ones."""
        counts = [sample(self.metrics, "restow_policy_loads_total", result=each) for each in ("loaded", "broken")]
        return counts[0], counts[1]


def policy(total: int) -> Policy:
    return strategy_policy("RemoveDuplicates", maxNoOfPodsToEvictTotal=total)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_bytes(as_yaml(policy(1)))
    return file


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (policy(1) | {"profile": []}, 'unknown key "profile" is ignored'),
        (policy(1) | {"profiles": []}, "the policy enables no strategy"),
        ({}, "upstream runs nothing with it"),
    ],
    ids=["misspelled", "no profiles", "empty"],
)
def test_what_upstream_accepts_is_run_with_a_warning(file: Path, written: Policy, said: str) -> None:
    """Other commands refuse it."""
    file.write_bytes(as_yaml(written))
    read = Read(file)
    assert read.counted == (1, 0)
    assert any(said in each for each in read.heard.messages)


def test_a_file_that_stays_is_read_once_and_nothing_is_said(file: Path) -> None:
    read = Read(file)
    assert read.refresh(3) == []
    assert (read.total, read.counted) == (1, (1, 0))


def test_a_changed_policy_is_in_force_and_said_once(file: Path) -> None:
    read = Read(file)
    file.write_bytes(as_yaml(policy(2)))
    assert read.refresh(3) == [f"{file} {CHANGED}"]
    assert (read.total, read.counted) == (2, (2, 0))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"profiles: [", "policy.yaml"),
        (as_yaml(strategy_policy("RemoveDuplicates", maxNoOfPodsToEvictTotal="many")), "maxNoOfPodsToEvictTotal"),
        (b"apiVersion: descheduler/v1\nkind: DeschedulerPolicy\n", "descheduler/v1"),
        (as_yaml(policy(1) | {"restow": {"perWorkload": "9" * 5000 + "%"}}), "restow.perWorkload"),
        (b"[" * 30_000, "levels deep"),
    ],
    ids=["no YAML", "no number", "no such version", "more digits than Python reads", "nested"],
)
def test_a_broken_one_keeps_the_old_one_and_is_said_once(file: Path, text: bytes, why: str) -> None:
    read = Read(file)
    file.write_bytes(text)
    assert read.refresh(3) == [BROKEN]
    assert why in read.heard.of(BROKEN)[0]["err"]
    assert (read.total, read.counted) == (1, (1, 1))


def test_every_error_of_a_broken_one_is_said(file: Path) -> None:
    read = Read(file)
    file.write_bytes(as_yaml(strategy_policy("RemoveDuplicates", {"a": 1, "b": 1})))
    read.refresh()
    first, second = read.heard.of(BROKEN)[0]["err"].splitlines()
    assert (".args.a: " in first, ".args.b: " in second) == (True, True)


def test_of_very_many_errors_the_first_ones_are_said(file: Path) -> None:
    read = Read(file)
    file.write_bytes(as_yaml(strategy_policy("RemoveDuplicates", {f"a{number}": 1 for number in range(1000)})))
    read.refresh()
    lines = read.heard.of(BROKEN)[0]["err"].splitlines()
    assert (len(lines), lines[-1]) == (51, "... and 950 more problems")


def test_whatever_reading_a_policy_raises_the_old_one_stays(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Read(file)

    def fail(*_: object) -> None:
        raise ZeroDivisionError("x" * 1000)

    monkeypatch.setattr("restow.descheduler.loop.load_document", fail)
    file.write_bytes(as_yaml(policy(2)))
    assert read.refresh(3) == [BROKEN]
    assert read.heard.of(BROKEN)[0]["err"] == f"{file}: ZeroDivisionError: {'x' * 200}…"
    assert (read.total, read.counted) == (1, (1, 1))


def test_a_broken_one_that_is_repaired_is_in_force_even_if_it_is_the_old_one(file: Path) -> None:
    read, old = Read(file), file.read_bytes()
    file.write_bytes(b"profiles: [")
    read.refresh()
    file.write_bytes(old)
    assert read.refresh(2) == [f"{file} {CHANGED}"]
    assert (read.total, read.counted) == (1, (2, 1))


def test_a_file_that_is_gone_keeps_the_policy_and_is_said_once_each_time(file: Path) -> None:
    read, old = Read(file), file.read_bytes()
    file.unlink()
    assert read.refresh(3) == [UNREADABLE]
    assert read.heard.of(UNREADABLE) == [{"err": f"{file}: No such file or directory (--policy-config-file)"}]
    file.write_bytes(old)
    assert read.refresh() == []
    file.unlink()
    assert read.refresh(2) == [UNREADABLE]
    assert (read.total, read.counted) == (1, (1, 0))


def test_a_file_that_may_not_be_read_is_as_good_as_gone(tmp_path: Path, file: Path) -> None:
    """Root may read everything; a directory nobody reads as a file."""
    read = Read(file)
    file.unlink()
    file.mkdir()
    assert read.refresh(2) == [UNREADABLE]
    assert "Is a directory" in read.heard.of(UNREADABLE)[0]["err"]


def test_a_config_map_is_exchanged_by_a_link(tmp_path: Path) -> None:
    """The kubelet's way: ..data is a link to the directory of a version, and is replaced as a whole."""
    versions = {}
    for number in (1, 2):
        versions[number] = tmp_path / f"..version-{number}"
        versions[number].mkdir()
        (versions[number] / "policy.yaml").write_bytes(as_yaml(policy(number)))
    data, file = tmp_path / "..data", tmp_path / "policy.yaml"
    data.symlink_to(versions[1].name)
    file.symlink_to("..data/policy.yaml")
    read = Read(file)
    new = tmp_path / "..data_tmp"
    new.symlink_to(versions[2].name)
    new.replace(data)
    assert read.refresh(2) == [f"{file} {CHANGED}"]
    assert read.total == 2


def test_warnings_of_a_policy_are_said_with_it_and_only_then(file: Path) -> None:
    file.write_bytes(as_yaml(policy(1) | {"surplus": True}))
    read = Read(file)
    assert "surplus" in read.heard.messages[0]
    assert read.refresh(2) == []


def test_old_flags_count_where_a_changed_policy_does_not_say(file: Path) -> None:
    read = Read(file, Fallbacks(max_pods_to_evict_per_node=7))
    file.write_bytes(as_yaml(policy(2)))
    read.refresh()
    assert read.source.current.max_no_of_pods_to_evict_per_node == 7


@pytest.mark.parametrize(
    ("path", "why"),
    [("", "--policy-config-file is missing"), ("/nowhere/policy.yaml", "No such file or directory")],
)
def test_the_first_one_has_to_be_usable(path: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        PolicySource.open(path, Fallbacks(), Heard().log, Metrics())
