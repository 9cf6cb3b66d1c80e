"""KubeSchedulerConfigurations with hostile changes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import yaml
from hypothesis import strategies as st

from builders import NOW
from fuzz.cases import Case
from fuzz.mutations import Draw, mutated
from fuzz.policies import small_cluster
from fuzz.writing import one_file, words
from oracle.chance import Chance
from oracle.random_scheduler_configurations import a_configuration

_BASES = 200
_COMMANDS = (
    "schedule -f cluster.json --scheduler-config {name} -o json --now {now}",
    "schedule -f cluster.json --scheduler-config {name} --pod default/hungry --now {now}",
    "plan -f cluster.json --scheduler-config {name} -o json --now {now}",
    "explain pod default/hungry -f cluster.json --scheduler-config {name} --now {now}",
)


@lru_cache(maxsize=_BASES)
def _base(seed: int) -> Any:
    return yaml.safe_load(a_configuration(Chance(seed)))


@st.composite
def hostile_scheduler_configurations(draw: Draw) -> Case:
    """A configuration after a few changes."""
    document = draw(mutated(draw(st.integers(0, _BASES - 1).map(_base))))
    files = draw(one_file(document, "scheduler"))
    command = draw(st.sampled_from(_COMMANDS)).format(name=next(iter(files)), now=NOW)
    return Case(kind="scheduler", commands=tuple(words(command)), files={**files, "cluster.json": small_cluster()})
