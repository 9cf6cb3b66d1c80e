"""Makes what other packages add appear to be installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from restow import installed_packages
from restow.scheduling.configuration import registry
from restow.workloads import groups


@contextmanager
def entry_points(*points: EntryPoint | SimpleNamespace, only: str = "") -> Iterator[None]:
    """The only entry points that there are; what is kept of others is forgotten, before and after.

    They are in one group, or else in every group from which parts are taken by their names: all kinds of groups of pods
    that are installed are used.
    """

    def found(*, group: str) -> tuple[EntryPoint | SimpleNamespace, ...]:
        return points if group == only or (not only and group != groups.ENTRY_POINTS) else ()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(installed_packages, "entry_points", found)
        forget_packages()
        try:
            yield
        finally:
            forget_packages()


def offering(name: str, offered: object) -> SimpleNamespace:
    """An entry point that offers an object of a test."""
    return SimpleNamespace(name=name, load=lambda: offered)


def forget_packages() -> None:
    """Let restow look again which packages are installed."""
    installed_packages.installed.cache_clear()
    registry.plugin_of_a_package.cache_clear()
