"""``make fuzz``: hunts of all kinds, side by side, for a time or for a number of inputs.

python -m fuzz [--inputs N] [--minutes M] [--seed S] [--jobs J] [--engine E] [--kinds K,K]    hunt
python -m fuzz --repeat FILE...                                                  run kept inputs once more
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz.campaigns import Campaign
from fuzz.cases import Death, load
from fuzz.hunting import KINDS
from fuzz.properties import findings
from fuzz.workers import Worker
from restow.engines.registry import choose_engine
from restow.errors import ClientError, InputError


def hunt(options: argparse.Namespace) -> int:
    """Hunt until the inputs or the minutes are used up; 1 if anything was found."""
    config = Path(options.engine_config).read_bytes() if options.engine_config else b"{}"
    jobs = options.jobs if options.engine == "local" else None
    chosen = choose_engine(options.engine, jobs, config, options.engine_config)
    kinds = options.kinds.split(",")
    return Campaign(kinds, options.seed, options.time_limit, options.inputs, options.minutes * 60).run(chosen)


def repeat(paths: Sequence[str]) -> int:
    """Run kept inputs and show what comes of them; 1 if anything does not hold."""
    worker, bad = Worker(), 0
    for path in paths:
        case = load(Path(path))
        result = worker.run(case)
        print(f"{path}: {case!r}")
        if not isinstance(result, Death):
            for command, ran in zip(case.commands, result, strict=True):
                print(f"  {' '.join(command)[:200]}: status {ran.status}, {ran.seconds:.2f} s\n{ran.err[:2000]!r}")
        for each in findings(case, result):
            bad = 1
            print(f"  DOES NOT HOLD: {each.signature}\n{each.text}")
    worker.close()
    return bad


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--inputs", type=int, default=0, help="how many inputs in all")
    parser.add_argument("--minutes", type=float, default=0.0, help="how long; without both for ever")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes of this machine")
    parser.add_argument("--engine", default="local", help="local, dask or ray: its workers need this repository")
    parser.add_argument("--engine-config", default="", metavar="FILE", help="as of restow simulate")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds for one input")
    parser.add_argument("--repeat", nargs="+", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    try:
        sys.exit(repeat(chosen.repeat) if chosen.repeat else hunt(chosen))
    except (InputError, ClientError) as error:
        sys.exit(f"fuzz: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
