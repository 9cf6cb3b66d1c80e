"""How a command that lasts ends."""

from __future__ import annotations

import pytest

from restow.cli.daemon_process import run_daemon
from restow.errors import ClientError, InputError
from restow.in_thread import EndlessError


async def ended_by(error: Exception | None) -> None:
    if error is not None:
        raise error


@pytest.mark.parametrize("error", [ClientError("gone"), OSError("no port"), EndlessError("stuck")], ids=repr)
def test_what_ends_it_is_told_and_is_a_failure(error: Exception) -> None:
    told: list[Exception] = []
    assert run_daemon(ended_by(error), told.append) == 1
    assert told == [error]


def test_one_that_was_told_to_stop_has_succeeded() -> None:
    assert run_daemon(ended_by(None), pytest.fail) == 0


def test_input_that_cannot_be_used_is_for_whoever_called() -> None:
    with pytest.raises(InputError):
        run_daemon(ended_by(InputError("no such file")), pytest.fail)
