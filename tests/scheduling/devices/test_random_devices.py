"""What holds on random clusters with devices, whatever is found: nothing is given away twice, and undoing is exact."""

from __future__ import annotations

from collections import Counter

import pytest

from oracle.chance import Chance
from oracle.random_devices import a_device_cluster
from oracle.scheduler_comparison import Restow
from restow.cluster.pod_values import Flag
from restow.scheduling.devices.allocated import Allocation
from restow.scheduling.devices.claims import Claims
from restow.scheduling.loop.scheduling_pass import schedule


def allocations(restow: Restow) -> dict[str, list[Allocation | None]]:
    """What the claims of each pod have, by name of the pod."""
    claims, pods = restow.context.shared(Claims), restow.state.cluster.pods
    claims.catch_up()
    rows = [pod for pod in range(pods.used) if pods.carries(pod, Flag.RESOURCE_CLAIMS)]
    return {pods.full_name(pod): [each.allocation for each in claims.of(pod)] for pod in rows}


@pytest.mark.parametrize("seed", range(40))
def test_no_device_is_given_to_two(seed: int) -> None:
    restow = Restow(a_device_cluster(Chance(f"devices-{seed}")))
    before = {id(each) for found in allocations(restow).values() for each in found}
    restow.answers()
    made = {
        id(each): each for found in allocations(restow).values() for each in found if each and id(each) not in before
    }
    taken = Counter(device for each in made.values() for device, consumed in each.holdings if consumed is None)
    assert max(taken.values(), default=1) == 1


@pytest.mark.parametrize("seed", range(40))
def test_undoing_restores_what_everybody_has(seed: int) -> None:
    """Pods are placed and others leave; once that is undone, all have what they had, and the same would be found again."""
    restow = Restow(a_device_cluster(Chance(f"undo-{seed}")))
    state, before = restow.state, allocations(restow)
    mark = state.checkpoint()
    for decision in schedule(restow.scheduler, restow.scheduler.queue().pods):
        chosen = decision.best.tolist()
    after = allocations(restow)
    for pod in range(0, state.cluster.pods.used, 2):
        if state.exists[pod]:
            state.remove(pod)
    allocations(restow)
    state.undo(mark)
    assert allocations(restow) == before
    for decision in schedule(restow.scheduler, restow.scheduler.queue().pods):
        again = decision.best.tolist()
    assert again == chosen
    assert allocations(restow) == after
