"""GangScheduling: which events help a pod that waits for its group."""

from __future__ import annotations

import pytest

from builders import Object, a_pod
from builders.cluster_objects import a_pod_group, in_group
from restow.scheduling.plugins.gang_scheduling import PLUGIN
from scheduling.plugins.hinting import helped

WAITING = a_pod("p", spec=in_group("g"))


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, a_pod("other", spec=in_group("g")), True, id="one more of its group"),
        pytest.param(None, a_pod("other", node="fake-node", spec=in_group("g")), True, id="one more, with a node"),
        pytest.param(None, a_pod("other", spec=in_group("h")), False, id="one more of another group"),
        pytest.param(None, a_pod("other", namespace="b", spec=in_group("g")), False, id="one of another namespace"),
        pytest.param(None, a_pod("other"), False, id="one of no group"),
        pytest.param(a_pod("other", spec=in_group("g")), None, False, id="one less"),
        pytest.param(None, a_pod_group("g", least=3), True, id="its group"),
        pytest.param(None, a_pod_group("h", least=3), False, id="another group"),
        pytest.param(a_pod_group("g", least=3), a_pod_group("g", least=2), True, id="its group needs less"),
        pytest.param(a_pod_group("g", least=2), a_pod_group("g", least=3), False, id="its group needs more"),
    ],
)
def test_what_helps(old: Object | None, new: Object | None, helps: bool) -> None:
    assert helped(PLUGIN, WAITING, old, new) is helps
