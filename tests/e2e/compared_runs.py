"""``restow simulate --compare`` as a process, for tests of the engines on which its futures run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from e2e.engine_clusters import ENVIRONMENT, RESTOW
from e2e.waiting import wait_until

_EXAMPLES = Path(__file__).parents[2] / "examples"
#: Futures of each policy: 20, and more policies, where somebody asks for it.
_SEEDS = int(os.environ.get("RESTOW_E2E_FUTURES", "3"))
_POLICIES = ("default", "careful", "lifetime", "high-node-utilization")[: 4 if _SEEDS >= 20 else 2]
_COMPARE = (
    *("simulate", "-f", str(_EXAMPLES / "scenarios/maintenance.yaml"), "--now", "2026-11-21T00:00:00Z", "-o", "json"),
    *(
        "--for",
        "1h" if _SEEDS >= 20 else "30m",
        "--seeds",
        str(_SEEDS),
        "--compare",
        *(str(_EXAMPLES / f"policies/{each}.yaml") for each in _POLICIES),
    ),
)
#: How many futures there are in all.
FUTURES = _SEEDS * len(_POLICIES)
_PATIENCE = 900


def started(*arguments: str, **more: str) -> subprocess.Popen[str]:
    """A comparison that runs, with more in its environment."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*RESTOW, *_COMPARE, *arguments], env=ENVIRONMENT | more, text=True, **pipes)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit status and outputs, once it has ended."""
    out, err = process.communicate(timeout=_PATIENCE)
    return process.returncode, out, err


def killed_with_results(process: subprocess.Popen[str], results: Path) -> None:
    """Kill it as soon as the directory has the result of a future."""
    wait_until("there are results", lambda: lines(results), 120)
    process.kill()
    process.communicate()


def lines(results: Path) -> int:
    """How many results of futures a directory has."""
    futures = results / "futures.jsonl"
    return futures.read_bytes().count(b"\n") if futures.exists() else 0
