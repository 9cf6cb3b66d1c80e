"""The package that ``docs/how-to/write-a-scheduler-plugin.md`` tells how to write."""

from __future__ import annotations

from docs.page_packages import PagePackage
from docs.pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "write-a-scheduler-plugin.md"
MODULE, PLAIN_MODULE = "licence_seats", "arm_only"
#: The mark of the page's examples that need the package.
WITH_THE_PLUGIN = "run with the scheduler plugin"


_PACKAGE = PagePackage(PAGE, (MODULE, PLAIN_MODULE))
on_the_path, installed = _PACKAGE.on_the_path, _PACKAGE.installed
