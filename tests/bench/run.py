"""``python -m tests.bench.run``: what ``make bench`` calls; ``--help`` tells the options."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Exit status of the comparison; the modules are found where pytest finds them."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    from bench import deciding

    return deciding.main()


if __name__ == "__main__":
    sys.exit(main())
