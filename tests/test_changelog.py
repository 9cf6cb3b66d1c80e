"""The changelog and its fragments: what a release makes of them, and that those of this repository can be released."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

import restow
from changelog import LONGEST, ROOT, ChangelogError, main, read_fragments, release

DAY = date(2027, 1, 31)
BEFORE = "# Changes\n\nAll changes.\n\n## [0.1.0] - 2026-11-26\n\n### Added\n\n* Plans.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one version and no fragments."""
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "README.md").write_text("# Fragments\n")
    (tmp_path / "CHANGELOG.md").write_text(BEFORE)
    return tmp_path


def add(repository: Path, name: str, text: str) -> None:
    (repository / "changelog.d" / name).write_text(text)


def test_a_release_lists_breaking_changes_first_and_above_the_version_before(repository: Path):
    add(repository, "budget.fixed.md", "Budgets of zero hold.\n")
    add(repository, "zones.added.md", "Plans name zones.\n")
    add(repository, "json.breaking.md", "JSON has no `old`.\n")
    add(repository, "charts.added.md", "Pages have charts.\n")
    release("0.2.0", DAY, repository)
    assert (repository / "CHANGELOG.md").read_text() == (
        "# Changes\n\nAll changes.\n\n## [0.2.0] - 2027-01-31\n\n### Breaking\n\n* JSON has no `old`.\n\n"
        "### Added\n\n* Pages have charts.\n* Plans name zones.\n\n### Fixed\n\n* Budgets of zero hold.\n\n"
        "## [0.1.0] - 2026-11-26\n\n### Added\n\n* Plans.\n"
    )


def test_a_release_takes_the_fragments_away_and_leaves_the_readme(repository: Path):
    add(repository, "zones.added.md", "Plans name zones.\n")
    release("0.2.0", DAY, repository)
    assert [each.name for each in (repository / "changelog.d").iterdir()] == ["README.md"]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        pytest.param("zones.md", "Plans name zones.", "NAME.KIND.md", id="without a kind"),
        pytest.param("zones.removed.md", "Plans name zones.", "NAME.KIND.md", id="of an unknown kind"),
        pytest.param("zones.added.md", "\n", "one line of text", id="empty"),
        pytest.param("zones.added.md", "Plans\nname zones.", "one line of text", id="of two lines"),
        pytest.param("zones.added.md", "* Plans name zones.", "without a bullet", id="with a bullet"),
        pytest.param("zones.added.md", "z" * 159, "159 characters", id="too long"),
    ],
)
def test_a_fragment_that_cannot_be_used_stops_the_release(repository: Path, name: str, text: str, reason: str):
    add(repository, name, text)
    with pytest.raises(ChangelogError, match=reason):
        release("0.2.0", DAY, repository)
    assert (repository / "CHANGELOG.md").read_text() == BEFORE


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        pytest.param("0.1.0", "has a section of 0.1.0", id="released before"),
        pytest.param("v0.2", "write three numbers", id="no version"),
    ],
)
def test_a_version_that_cannot_be_used_keeps_the_fragments(
    repository: Path, version: str, reason: str, capsys: pytest.CaptureFixture[str]
):
    add(repository, "zones.added.md", "Plans name zones.\n")
    assert main([version], repository) == 2
    assert reason in capsys.readouterr().err
    assert (repository / "changelog.d" / "zones.added.md").exists()


def test_there_is_no_release_without_fragments(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["0.2.0"], repository) == 2
    assert "nothing to release" in capsys.readouterr().err


def test_the_fragments_of_this_repository_can_be_released():
    folder = ROOT / "changelog.d"
    assert len(read_fragments(folder)) == len(list(folder.iterdir())) - len(["README.md"])


def test_each_line_of_the_changelog_is_short():
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert [line for line in lines if line.startswith("* ") and len(line) > LONGEST] == []


def test_the_newest_section_of_the_changelog_is_the_version_of_the_package():
    found = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert found is not None
    assert found[1] == restow.__version__
