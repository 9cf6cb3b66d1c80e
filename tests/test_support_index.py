"""``tests/README.md`` lists all modules that support tests."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: Modules, patterns of modules and, with a slash at the end, whole folders.
ENTRIES = re.findall(r"^\| `([\w/*]+(?:\.py|/))` \|", (TESTS / "README.md").read_text(), re.MULTILINE)
SUPPORT = sorted(
    path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py") if not path.name.startswith("test_")
)


def is_meant(module: str, entry: str) -> bool:
    """Whether an entry is about a module."""
    return module.startswith(entry) if entry.endswith("/") else fnmatchcase(module, entry)


def test_each_support_module_is_in_the_index():
    assert [module for module in SUPPORT if not any(is_meant(module, entry) for entry in ENTRIES)] == []


@pytest.mark.parametrize("entry", ENTRIES)
def test_each_entry_of_the_index_is_about_a_module(entry: str):
    assert any(is_meant(module, entry) for module in SUPPORT)


def test_no_module_has_two_entries():
    assert len(ENTRIES) == len(set(ENTRIES))
