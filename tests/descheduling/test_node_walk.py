"""The order in which pods are given up. The id is the row of upstream's unit test, restated."""

from __future__ import annotations

import numpy as np

from builders import a_pod
from descheduling.harness import a_cluster
from restow.descheduling.framework import low_to_high

RELUCTANT = {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}
LOW, HIGH = 0, 10000


def test_priority_then_quality_of_service_then_the_wish_to_stay() -> None:
    """PH-03"""
    classes = {"BE": "BestEffort", "burst": "Burstable", "guar": "Guaranteed"}
    rows = {
        "p01": (LOW, "burst", False),
        "p02": (HIGH, "BE", False),
        "p03": (HIGH, "burst", False),
        "p04": (HIGH, "guar", False),
        "p05": (None, "BE", False),
        "p06": (None, "guar", False),
        "p07": (LOW, "burst", True),
        "p08": (HIGH, "BE", True),
        "p09": (HIGH, "burst", True),
        "p10": (HIGH, "guar", True),
        "p11": (None, "burst", False),
        "p12": (None, "burst", True),
    }
    pods = a_cluster(
        *(
            a_pod(name, priority=priority, qos=classes[qos], annotations=RELUCTANT if reluctant else None)
            for name, (priority, qos, reluctant) in rows.items()
        )
    ).pods
    found = [pods.names[pod] for pod in low_to_high(pods, np.arange(len(pods))).tolist()]
    assert found == ["p05", "p11", "p12", "p06", "p01", "p07", "p02", "p08", "p03", "p09", "p04", "p10"]
