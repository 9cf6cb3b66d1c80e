"""The package that ``docs/how-to/write-a-usage-source.md`` tells how to write."""

from __future__ import annotations

from docs.page_packages import PagePackage
from docs.pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "write-a-usage-source.md"
MODULE = "graphite_usage"
#: The mark of the page's examples that need the package.
WITH_THE_SOURCE = "run with the usage source"


_PACKAGE = PagePackage(PAGE, (MODULE,))
on_the_path, installed = _PACKAGE.on_the_path, _PACKAGE.installed
