"""Passwords do not come out, whatever they are made of."""

from __future__ import annotations

import time

import pytest

from restow.redaction import public_line, without_password, without_secrets


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter2@proxy:3128",
        "http://me:hunter2@hunter2@proxy:3128",
        "http://me:hunter2/hunter2@proxy:3128",
        "http://:hunter2@proxy:3128",
        "https://hunter2@proxy",
        "https://me:%00hunter2@proxy/path?query",
    ],
)
@pytest.mark.parametrize("sentence", ["{}", "cannot reach {} (file, context a@b)", "url='{}'"])
def test_the_password_of_a_url_in_a_sentence(url: str, sentence: str) -> None:
    told = without_secrets(sentence.format(url))
    assert "hunter2" not in told
    assert "://[hidden]@proxy" in told


@pytest.mark.parametrize("sentence", ["https://api:6443 (config, context me@cluster)", "https://api/path me@cluster"])
def test_a_sentence_without_a_password_stays(sentence: str) -> None:
    assert without_secrets(sentence) == sentence


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://me:hunter2@proxy:3128", "http://[hidden]@proxy:3128"),
        ("http://me:hunter 2 @ 2@proxy", "http://[hidden]@proxy"),
        ("me:hunter2@proxy:3128", "[hidden]@proxy:3128"),
        ("http://proxy:3128", "http://proxy:3128"),
        ("proxy", "proxy"),
    ],
)
def test_a_url_however_broken(url: str, expected: str) -> None:
    assert without_password(url) == expected


@pytest.mark.parametrize(
    "piece", ["://:", "://x", "eyJaaaaaaaa-", "eyJaaaaaaaa.", "bearer ", "-----BEGIN ", "token=", "basic"]
)
def test_a_text_that_somebody_made_up_takes_no_hours(piece: str) -> None:
    """An annotation may hold 256 kB."""
    began = time.process_time()
    public_line(piece * (256 * 1024 // len(piece)))
    assert time.process_time() - began < 10


def test_a_line_for_everybody_is_one_line_without_secrets() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMHcCAQEEIIGb\n-----END PRIVATE KEY-----"
    assert public_line(f"two\nlines \x1b[2J {key}") == "two lines \ufffd[2J [hidden]"
