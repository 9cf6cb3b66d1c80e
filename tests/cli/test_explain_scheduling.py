"""``restow explain scheduling``: what is said before anybody is asked."""

from __future__ import annotations

import pytest

URL = "https://127.0.0.1:10259"


def test_without_a_scheduler_it_says_how_to_name_one_and_what_asks_nobody(restow):
    ran = restow("explain", "scheduling", "shop/db-0")
    assert ran.status == 2
    assert "say where with --scheduler-url, such as https://127.0.0.1:10259" in ran.err
    assert "restow schedule --pod shop/db-0 asks no server" in ran.err


@pytest.mark.parametrize("name", ["db-0", "shop/", "shop/db-0/log", "shop/..", "../metrics", "shop/db%2f0"])
def test_only_a_namespace_and_a_name_are_a_pod(restow, name):
    ran = restow("explain", "scheduling", name, "--scheduler-url", URL)
    assert ran.status == 2
    assert f"{name} is not of the form NAMESPACE/NAME" in ran.err


def test_without_a_kubeconfig_there_is_no_token(restow):
    ran = restow("explain", "scheduling", "shop/db-0", "--scheduler-url", URL)
    assert (ran.status, ran.out) == (2, "")
    assert "no cluster" in ran.err
