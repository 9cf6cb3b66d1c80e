"""Makes plugins of other packages appear to a scheduler configuration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from restow.scheduling.configuration import installed_plugins


@contextmanager
def entry_points(*points: EntryPoint | SimpleNamespace) -> Iterator[None]:
    """The only entry points that there are; whatever the registry keeps of others is forgotten, before and after."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(installed_plugins, "entry_points", lambda group: points)
        _forget()
        try:
            yield
        finally:
            _forget()


def offering(name: str, offered: object) -> SimpleNamespace:
    """An entry point that offers an object of a test."""
    return SimpleNamespace(name=name, load=lambda: offered)


def _forget() -> None:
    installed_plugins.installed.cache_clear()
    installed_plugins.load.cache_clear()
