"""The package that ``docs/how-to/write-a-goal.md`` tells how to write."""

from __future__ import annotations

from docs.page_packages import PagePackage
from docs.pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "write-a-goal.md"
MODULE = "cpu_headroom"
#: The mark of the page's examples that need the package.
WITH_THE_GOAL = "run with the goal"


_PACKAGE = PagePackage(PAGE, (MODULE,))
on_the_path, installed = _PACKAGE.on_the_path, _PACKAGE.installed
