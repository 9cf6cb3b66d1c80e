"""Pods written short enough for their column, beside the owner that says what they are."""

from __future__ import annotations

import pytest

from restow.reporting.move_lines import fitting_form, pod_forms


@pytest.mark.parametrize(
    ("pod", "owner", "expected"),
    [
        (
            "shop/web-7f9c8d-x2k9q",
            "Deployment/web",
            ["shop/web-7f9c8d-x2k9q", "shop/web-…-x2k9q", "shop/…-x2k9q"],
        ),
        ("batch/etl-nv759", "Job/etl", ["batch/etl-nv759", "batch/…-nv759"]),
        ("shop/db-0", "StatefulSet/db", ["shop/db-0", "shop/…-0"]),
        ("shop/web", "Deployment/web", ["shop/web"]),
        ("shop/webhook-1", "Deployment/web", ["shop/webhook-1"]),
        ("shop/alone", "-", ["shop/alone"]),
    ],
    ids=["template hash", "no hash", "an ordinal", "no suffix", "another name", "no owner"],
)
def test_the_hash_goes_first_then_what_the_owner_says(pod: str, owner: str, expected: list[str]) -> None:
    assert pod_forms(pod, owner) == expected


def test_the_longest_form_that_fits_is_chosen() -> None:
    forms = pod_forms("shop/web-7f9c8d-x2k9q", "Deployment/web")
    assert [fitting_form(forms, width) for width in (21, 20, 16, 15, 3)] == [forms[0], *forms[1:2] * 2, *forms[2:] * 2]
