"""``python -m tests.bench.simulation``: what ``make bench-simulate`` calls; ``--help`` tells the options."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Exit status of the measurement; the modules are found where pytest finds them."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    from bench import simulations

    return simulations.main()


if __name__ == "__main__":
    sys.exit(main())
