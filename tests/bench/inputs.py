"""Dumps and policies of the cases, made once and kept below build/bench."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench import problems
from bench.cases import Case, Size
from bench.problems import ALL_PROFILES, generate
from restow.sources import synthetic
from restow.sources.synthetic import write_list
from restow.sources.synthetic.profiles import policy_text

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "bench"
SEED = 1


@dataclass(slots=True, frozen=True)
class Inputs:
    """The files of one case at one size."""

    dump: Path
    policy: Path


def inputs(case: Case, size: Size) -> Inputs:
    """The files, made if they are missing or older than the generator."""
    CACHE.mkdir(parents=True, exist_ok=True)
    policy = CACHE / f"{case.name.replace(' ', '-')}.yaml"
    policy.write_text(policy_of(case))
    return Inputs(dump_of(case.cluster, size), policy)


def policy_of(case: Case) -> str:
    """The policy of the case's profile as YAML, with ``nodeFit`` of the case if that has one."""
    strategies = ALL_PROFILES[case.policy].strategies
    if case.node_fit is not None:
        strategies = replace(strategies, evictor=strategies.evictor | {"nodeFit": case.node_fit})
    return policy_text(strategies)


def dump_of(cluster: str, size: Size) -> Path:
    """The dump of a profile's cluster, made if it is missing or older than the generator."""
    CACHE.mkdir(parents=True, exist_ok=True)
    dump = CACHE / f"{cluster}-{size.nodes}-{size.pods}.json"
    if not dump.exists() or dump.stat().st_mtime < _generator_changed():
        _write(dump, cluster, size)
    return dump


def _write(dump: Path, cluster: str, size: Size) -> None:
    part = dump.with_suffix(".part")
    with part.open("wb") as stream:
        write_list(generate(cluster, size.nodes, size.pods, SEED), stream)
    part.rename(dump)


def _generator_changed() -> float:
    sources = (Path(problems.__file__), *Path(synthetic.__file__).parent.glob("*.py"))
    return max(source.stat().st_mtime for source in sources)
