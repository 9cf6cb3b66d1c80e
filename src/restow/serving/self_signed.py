"""A serving certificate for when none is given: made at start, kept in memory, signed by itself.

It encrypts and proves nothing: whoever scrapes restow without a certificate of its own has to skip verification, as with
the Descheduler. A process of its own makes it, for the library that does would stay in memory as long as restow runs:
measured with cryptography 50, 9.6 MiB more (37.5 MiB become 47.1), and nothing more this way.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from restow.errors import InputError

_PROGRAM = Path(__file__).with_name("certificate.py")
#: Seconds; it takes a fraction of one.
_PATIENCE = 60.0


def self_signed(common_name: str, hosts: Sequence[str]) -> str:
    """Return a certificate and its key, both as PEM, for names and addresses; InputError where none can be made."""
    # -P: modules beside the program are not taken for those of libraries.
    command = [sys.executable, "-P", str(_PROGRAM), common_name, *hosts]
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=True)  # noqa: S603
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()
        raise _failure(said[-1] if said else f"status {error.returncode}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failure(str(error)) from error
    return made.stdout


def _failure(why: str) -> InputError:
    return InputError(
        f"cannot create a serving certificate ({why}): "
        "name one with --tls-cert-file and --tls-private-key-file, or turn the server off with --secure-port=0"
    )
