"""The files that a scenario names, by paths that begin in the folder where it lies."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from restow.descheduling.registry import plugins
from restow.descheduling.usage_sources import usage_schemas
from restow.errors import InputError
from restow.policies.load import LoadedPolicy, load_policy
from restow.scheduling.configuration.load import SchedulerConfiguration, load_scheduler_configuration
from restow.small_files import read_small_file
from restow.sources.manifests import read_manifests
from restow.sources.reading import read_text
from restow.sources.sizes import Sizes


@dataclass(slots=True, frozen=True)
class Folder:
    """Where a scenario lies; each function raises InputError for a file that cannot be read or used."""

    path: Path
    #: What the files may take together.
    sizes: Sizes = field(default_factory=Sizes)
    #: The paths of all files and directories that were read, in their order.
    read: dict[str, None] = field(default_factory=dict)

    def place(self, name: str) -> str:
        """Return the path of a file that the scenario names."""
        return str(self.path / name)

    def _read(self, name: str) -> str:
        place = self.place(name)
        self.read[place] = None
        return place

    def manifests(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a file or a directory."""
        return read_manifests(self._read(name), self.sizes)

    def text(self, name: str) -> str:
        """Return the text of a CSV file."""
        return bytes(read_text(self._read(name), self.sizes)).decode()

    def policy(self, name: str) -> LoadedPolicy:
        """Return a policy."""
        return load_policy(self._configuration(name), self.place(name), plugins(), usage_schemas())

    def scheduler(self, name: str) -> SchedulerConfiguration:
        """Return the configuration of a scheduler."""
        return load_scheduler_configuration(self._configuration(name), self.place(name))

    def _configuration(self, name: str) -> bytes:
        try:
            return read_small_file(self._read(name))
        except OSError as error:
            raise InputError(f"{self.place(name)}: {error.strerror or error}") from error
