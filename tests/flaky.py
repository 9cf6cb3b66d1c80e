"""Tries the tests that failed last once more, if all of them may fail by chance: ``make again``.

Such a test is named in ``flaky_tests.toml`` with the reason. Any other failure is a failure: it is named, and nothing is
tried again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

TESTS = Path(__file__).resolve().parent
LIST = TESTS / "flaky_tests.toml"
#: Where pytest keeps the ids of the tests that failed last (``cache_dir`` in pyproject.toml).
FAILED = TESTS.parent / "build" / "pytest" / "v" / "cache" / "lastfailed"


def main(options: Sequence[str]) -> int:
    """The exit status: 0 if all tests that failed may fail by chance and passed now."""
    failed = failed_last()
    if not failed:
        print("No test is known to have failed, so there is nothing to try again.")
        return 1
    known = reasons()
    certain = [test for test in failed if reason_of(test, known) is None]
    for test in certain:
        print(f"{test} failed, and does not fail by chance: it is not in {LIST.name}")
    if certain:
        return 1
    for test in failed:
        print(f"{test} failed, and is tried again: {reason_of(test, known)}", flush=True)
    return again(options)


def failed_last() -> list[str]:
    """The ids of the tests that failed when they ran last; that of a file where it could not be collected."""
    return list(json.loads(FAILED.read_text())) if FAILED.exists() else []


def reasons() -> dict[str, str]:
    """Why each test may fail by chance, by (the beginning of) its id."""
    return {test["id"]: test["reason"] for test in tomllib.loads(LIST.read_text())["test"]}


def reason_of(test: str, known: dict[str, str]) -> str | None:
    """Why a test may fail by chance; None if it may not."""
    return next((reason for start, reason in known.items() if belongs(test, start)), None)


def belongs(test: str, start: str) -> bool:
    """Whether an id is this one, or that of a case of it or of a test in it."""
    return test == start or test.startswith((f"{start}[", f"{start}::"))


def again(options: Iterable[str]) -> int:
    """Pytest's exit status for the tests that failed last."""
    command = [sys.executable, "-m", "pytest", "--last-failed", "--last-failed-no-failures", "none", *options]
    return subprocess.run(command, cwd=TESTS.parent, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
