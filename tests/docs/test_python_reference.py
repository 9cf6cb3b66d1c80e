"""The reference of the front door is the one that the docstrings make, and authors need no other module."""

from __future__ import annotations

import re

import pytest

from docs.pages import ROOT
from docs.python_reference import PAGE, page

AUTHORS = ("write-a-strategy", "write-a-goal", "write-a-scheduler-plugin", "write-a-usage-source", "write-an-output")


def test_the_page_is_made_from_the_docstrings() -> None:
    """PYTHONPATH=tests python -m docs.python_reference writes it again."""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", AUTHORS)
def test_authors_import_restow_plugins_and_nothing_else(name: str) -> None:
    text = (ROOT / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8")
    imported = re.findall(r"^(?:from (restow[\w.]*) import|import (restow[\w.]*))", text, re.MULTILINE)
    assert {one or other for one, other in imported} == {"restow.plugins"}
