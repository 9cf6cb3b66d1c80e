"""restow under KubeSchedulerConfigurations against the real kube-scheduler 1.36 under the same ones.

What is refused, and under random configurations everything that ``scheduler_comparison`` compares, of pods that ask for any of the profiles. The clusters are those of the
other comparisons. ``RESTOW_CONFIGURATION_SEEDS=5000:6000`` compares other cases, or more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from builders import Object
from oracle.chance import Chance
from oracle.random_scheduler_configurations import a_configuration, choose_schedulers
from oracle.scheduler_comparison import Restow, scheduling_difference
from oracle.scheduler_process import SchedulerProcess, scheduler_binary
from oracle.scheduling_cases import DEVICES, MIXED, NAMES, PREEMPTION, VOLUMES, a_scheduling_case
from restow.scheduling.configuration.load import load_scheduler_configuration
from restow.scheduling.configuration.profiles import SchedulerProfile
from scheduling.configurations import REFUSED

pytestmark = pytest.mark.oracle

SEEDS = range(*map(int, os.environ.get("RESTOW_CONFIGURATION_SEEDS", "0:400").split(":")))
_EXTENDED = "example.com/"
CHUNK = 50
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[SchedulerProcess]:
    with SchedulerProcess(scheduler_binary()) as process:
        yield process


def a_case(seed: int) -> tuple[str, list[Object]]:
    """A configuration, and a cluster whose pods ask for its profiles.

    Clusters with volumes only where a single profile runs VolumeBinding: profiles do not see what others reserve, and
    without it kube-scheduler stumbles over claims that are missing. Claims for one pod only where every profile runs
    VolumeRestrictions: where two pods have such a claim, kube-scheduler takes one to be enough to preempt. Devices only where
    every profile runs DynamicResources, since restow gives devices to every pod that is placed, and where no extended
    resource is scored: restow does not count devices in scores.
    """
    chance = Chance(f"configuration-{seed}")
    config = a_configuration(chance)
    profiles = load_scheduler_configuration(config.encode(), "config").profiles
    subject = chance.choice([*[PREEMPTION] * 5, *NAMES])
    if subject == VOLUMES and not (len(profiles) == 1 and profiles[0].runs("VolumeBinding", "preFilter")):
        subject = PREEMPTION
    if subject == DEVICES and not (_EXTENDED not in config and all(map(_finds_devices, profiles))):
        subject = MIXED
    if subject == PREEMPTION and not all(profile.runs("VolumeRestrictions", "filter") for profile in profiles):
        subject = MIXED
    cluster = a_scheduling_case(subject, seed)
    choose_schedulers(chance, cluster)
    return config, cluster


def _finds_devices(profile: SchedulerProfile) -> bool:
    return profile.runs("DynamicResources", "filter")


@pytest.mark.parametrize("text", [text for text, _ in REFUSED.values()], ids=REFUSED)
def test_the_real_scheduler_refuses_it_too(scheduler: SchedulerProcess, text: str) -> None:
    assert scheduler.ask(config=text).error


def test_the_cases_have_something_to_decide() -> None:
    """Agreement on little proves little: pods choose by scores, preempt and fit nowhere."""
    told = []
    for seed in range(100):
        config, cluster = a_case(seed)
        restow = Restow(cluster, load_scheduler_configuration(config.encode(), "config").profiles)
        told += list(restow.answers().values())
    assert sum(bool(each.get("scores")) for each in told) > 60
    assert sum(bool(each.get("candidates")) for each in told) > 10
    assert sum(bool(each.get("message")) for each in told) > 40


@pytest.mark.parametrize("seeds", CHUNKS, ids=[f"{chunk.start}:{chunk.stop}" for chunk in CHUNKS])
def test_a_configuration_means_the_same_to_restow(scheduler: SchedulerProcess, seeds: range) -> None:
    found = []
    for seed in seeds:
        config, cluster = a_case(seed)
        difference = scheduling_difference(cluster, scheduler, config)
        if difference:
            found.append(f"seed {seed}: {difference}\n{config}")
    assert not found, "\n".join(found)
