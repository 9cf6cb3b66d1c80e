"""What the planner may aim at, as objectives: even utilisation, or few machines in use."""

from __future__ import annotations

import numpy as np

from restow.optimizing.problem import WHOLE, Deviation, Integers, Objective

#: What a machine in use costs at a price of one, against the reward for full ones, which says where to begin.
_PRICE = 1 << 44


def balance(
    usage: Integers, capacity: Integers, weights: Integers | None = None, base: Integers | None = None
) -> Objective:
    """Return the sum over machines of the squared deviation of each resource's utilisation, with weights.

    The target is what all machines together are used, `sum(base + usage) / sum(capacity)` with the load that stays
    [machine, resource], so it is the same for every assignment; where machines are alike, the cost is
    `machines * WHOLE**2` times the variance.
    """
    total = usage.sum(axis=0) + (0 if base is None else base.sum(axis=0))
    target = total * WHOLE // np.maximum(capacity.sum(axis=0), 1)
    weight = np.ones(usage.shape[1], np.int64) if weights is None else weights
    return Objective(deviation=Deviation(np.tile(target, (len(capacity), 1)), weight))


def pack(capacity: Integers, prices: Integers | None = None) -> Objective:
    """Return the prices of machines in use, one each if none are given.

    Most single moves change no price, so full machines are rewarded a little: a full one by a hundredth of its price.
    """
    machines, resources = capacity.shape
    price = np.ones(machines, np.int64) if prices is None else prices
    zero = np.zeros((machines, resources), np.int64)
    reward = -max(_PRICE // (100 * WHOLE * WHOLE * resources), 1)
    return Objective(deviation=Deviation(zero, np.full(resources, reward, np.int64)), price=price * _PRICE)
