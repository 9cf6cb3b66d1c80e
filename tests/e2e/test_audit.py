"""The API server's audit log is read while it is written, and after the API server was killed."""

from __future__ import annotations

from pathlib import Path

from e2e.audit import AuditLog


def entry(verb: str) -> bytes:
    """A line of the log."""
    told = (
        f'"verb":"{verb}","requestURI":"/","user":{{"username":"u"}},"stage":"ResponseComplete",'
        '"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:01.000000Z"'
    )
    return f'{{"kind":"Event","apiVersion":"audit.k8s.io/v1",{told}}}\n'.encode()


def test_half_an_entry_is_none_wherever_it_stands(tmp_path: Path) -> None:
    """Where one begins to read, where the API server was killed, and at the end of the file."""
    file = tmp_path / "audit.log"
    before = entry("get")
    file.write_bytes(before[:40])
    log = AuditLog(file)
    file.write_bytes(before + entry("list") + entry("create")[:50] + entry("delete") + entry("watch")[:60])
    assert [each.verb for each in log.calls()] == ["list", "delete"]
