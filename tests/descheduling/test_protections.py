"""Which protections hold, from the new lists or the deprecated switches."""

from __future__ import annotations

import pytest

from descheduling.evictors import evictor_args
from restow.descheduling.evictor_args import DEFAULT_PROTECTIONS
from restow.descheduling.protections import effective_protections

STORAGE, CRITICAL, BARE, DAEMONS = DEFAULT_PROTECTIONS
ALL = set(DEFAULT_PROTECTIONS)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({}, ALL, id="defaults"),
        pytest.param({"podProtections": {"defaultDisabled": [STORAGE, DAEMONS]}}, {CRITICAL, BARE}, id="disabled"),
        pytest.param({"podProtections": {"defaultDisabled": list(DEFAULT_PROTECTIONS)}}, set(), id="all-disabled"),
        pytest.param({"podProtections": {"extraEnabled": ["PodsWithPVC"]}}, ALL | {"PodsWithPVC"}, id="extra"),
        pytest.param(
            {"podProtections": {"extraEnabled": ["PodsWithoutPDB"], "defaultDisabled": [BARE]}},
            {STORAGE, CRITICAL, DAEMONS, "PodsWithoutPDB"},
            id="both",
        ),
        pytest.param({"evictLocalStoragePods": True}, ALL - {STORAGE}, id="evictLocalStoragePods"),
        pytest.param({"evictDaemonSetPods": True}, ALL - {DAEMONS}, id="evictDaemonSetPods"),
        pytest.param({"evictSystemCriticalPods": True}, ALL - {CRITICAL}, id="evictSystemCriticalPods"),
        pytest.param({"evictFailedBarePods": True}, ALL - {BARE}, id="evictFailedBarePods"),
        pytest.param({"ignorePvcPods": True}, ALL | {"PodsWithPVC"}, id="ignorePvcPods"),
        pytest.param({"ignorePodsWithoutPDB": True}, ALL | {"PodsWithoutPDB"}, id="ignorePodsWithoutPDB"),
        pytest.param(
            {"podProtections": {"config": {}}, "ignorePvcPods": True}, ALL | {"PodsWithPVC"}, id="config-alone"
        ),
    ],
)
def test_effective_protections(args, expected):
    assert effective_protections(evictor_args(args)) == expected
