"""The tutorial of a scheduler shows the code that runs."""

from __future__ import annotations

from docs.pages import blocks, text_of


def test_the_page_shows_the_scheduler_as_it_is() -> None:
    page = text_of("docs/tutorials/custom-scheduler.md")
    [source] = [block.text for block in blocks(page) if block.mark == "source"]
    assert source == text_of("src/restow/scheduler/random_profile.py")
