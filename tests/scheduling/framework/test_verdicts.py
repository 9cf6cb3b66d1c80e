"""Verdicts that are put together when somebody reads them."""

from __future__ import annotations

import numpy as np

from restow.scheduling.framework.extension_points import Outcome
from restow.scheduling.framework.verdicts import PluginRejection, Verdicts


def test_rejections_are_complete_whichever_is_read_first():
    """Preemption asks which rejections can be lifted before it asks which node has which."""
    rejections: list[PluginRejection] = []

    def build():
        rejections.append(PluginRejection("Plugin", Outcome(("no",))))
        return np.array([0])

    verdicts = Verdicts(build, rejections, passes=np.array([False]))
    assert [each.plugin for each in verdicts.rejections] == ["Plugin"]
    assert verdicts.verdict.tolist() == [0]
