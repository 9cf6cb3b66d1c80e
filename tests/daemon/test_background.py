"""How a process ends."""

from __future__ import annotations

import subprocess
import sys

from restow.client.events import FAREWELL
from restow.client.leader_election import RELEASE
from restow.daemon.background import ENDS_WITHIN
from restow.executing.execution import LAST_ANSWERS

#: As a thread of the system's resolver does, this one keeps Python from ending.
STUCK = """
import sys, threading
from restow.daemon.background import end_at_last
from restow.daemon.logs import Log
threading.Thread(target=threading.Event().wait).start()
end_at_last(Log(sys.stderr), 0.1)
"""


def test_what_the_end_waits_for_has_its_time_before_the_last_resort() -> None:
    """Seconds for answers to evictions, events, and the lease; the rest is for connections and pages."""
    assert LAST_ANSWERS + FAREWELL + RELEASE <= ENDS_WITHIN - 10


def test_a_process_that_cannot_end_is_ended_and_says_so() -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert 'restow is forced to exit" err="it did not stop within 0 s of being told to"' in ended.stderr
