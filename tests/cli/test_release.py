"""``restow release``: what it tells, and how it ends; ``make e2e`` lets real pods go."""

from __future__ import annotations

import pytest

from restow.application import removing
from restow.descheduler.steering import Released

ENTRIES = "ConfigMap kube-system/restow-steering is empty: no new pods are gated"


@pytest.fixture
def ends(monkeypatch):
    """Has the command come to an end, and keeps what it was asked for."""
    asked = []

    def with_(released):
        def done(*given):
            asked.append(given)
            return released

        monkeypatch.setattr(removing, "release_steering", done)
        return asked

    return with_


def test_it_says_which_pods_it_let_go(restow, ends):
    asked = ends(Released(ENTRIES, ["shop/web-0", "shop/evil\x1b[31m"]))
    ran = restow("release", "-n", "tools", "--context", "production")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"{ENTRIES}\n2 pods released\n  shop/web-0\n  shop/evil\ufffd[31m\n"
    assert asked == [("tools", None, "production")]


def test_a_pod_that_is_still_gated_makes_it_fail(restow, ends):
    ends(Released(ENTRIES, [], ["shop/web-0 is still gated: no"]))
    ran = restow("release")
    assert ran.status == 1
    assert ran.out == f"{ENTRIES}\n0 pods released\n"
    assert ran.err == "shop/web-0 is still gated: no\n"


def test_without_a_cluster_it_says_so(restow):
    ran = restow("release")
    assert ran.status == 2
    assert "Traceback" not in ran.err
    assert len(ran.err.splitlines()) == 1
