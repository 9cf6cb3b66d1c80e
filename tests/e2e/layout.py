"""Where one control plane keeps its files and which ports its programs listen on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from e2e.certificates import Certificates
from e2e.ports import HOST


@dataclass(slots=True, frozen=True)
class Ports:
    """All on 127.0.0.1."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controllers: int
    scheduler: int
    kwok: int


@dataclass(slots=True, frozen=True)
class Layout:
    """Everything below one directory, which goes with the control plane."""

    directory: Path
    binaries: Path
    ports: Ports
    certificates: Certificates

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://{HOST}:{self.ports.apiserver}"

    @property
    def tokens(self) -> Path:
        """The API server's token file."""
        return self.directory / "tokens.csv"

    @property
    def audit_log(self) -> Path:
        """What the API server was asked, a line of JSON a call."""
        return self.directory / "audit.log"

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of a user."""
        return self.directory / f"{user}.kubeconfig"

    def log(self, component: str) -> Path:
        """What a program printed."""
        return self.directory / f"{component}.log"

    def made(self, name: str, text: str) -> Path:
        """A configuration file with this text."""
        file = self.directory / name
        file.write_text(text)
        return file

    def room(self, name: str) -> Path:
        """A directory of its own for a program."""
        directory = self.directory / name
        directory.mkdir(exist_ok=True)
        return directory
