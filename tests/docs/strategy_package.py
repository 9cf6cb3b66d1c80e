"""The package that ``docs/how-to/write-a-strategy.md`` tells how to write."""

from __future__ import annotations

from docs.page_packages import PagePackage
from docs.pages import ROOT
from restow.descheduling import registry

PAGE = ROOT / "docs" / "how-to" / "write-a-strategy.md"
MODULE = "leave_labelled_nodes"
#: The mark of the page's examples that need the package.
WITH_THE_STRATEGY = "run with the strategy"


def _forget() -> None:
    registry.strategies.cache_clear()
    registry.plugins.cache_clear()


_PACKAGE = PagePackage(PAGE, (MODULE,), _forget)
on_the_path, installed = _PACKAGE.on_the_path, _PACKAGE.installed
