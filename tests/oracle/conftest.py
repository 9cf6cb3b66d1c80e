"""One running oracle for all tests of a module, and a last word on how much was compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from oracle.oracle_process import OracleProcess, oracle_binary

COMPARED = pytest.StashKey[Counter[str]]()
SCHEDULED = pytest.StashKey[Counter[str]]()


@pytest.fixture(scope="module")
def oracle() -> Iterator[OracleProcess]:
    """The real Descheduler; without it nothing here is true, so its absence is an error and never a skip."""
    with OracleProcess(oracle_binary()) as process:
        yield process


@pytest.fixture
def compared(request: pytest.FixtureRequest) -> Counter[str]:
    """How many cases of each subject were compared."""
    return request.config.stash.setdefault(COMPARED, Counter())


@pytest.fixture
def scheduled(request: pytest.FixtureRequest) -> Counter[str]:
    """How many cases of the scheduler were compared, by subject."""
    return request.config.stash.setdefault(SCHEDULED, Counter())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for key, program in ((COMPARED, "Descheduler"), (SCHEDULED, "kube-scheduler")):
        compared = config.stash.get(key, Counter())
        if compared:
            subjects = f"{len(compared)} subjects"
            terminalreporter.write_line(f"{compared.total()} cases compared with the real {program}: {subjects}")
