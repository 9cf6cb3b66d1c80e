"""Compiles the planner's search (src/restow/optimizing/kernel.c) when restow is built or installed, if a compiler is there.

Without one the installation goes on, and the search uses NumPy. The library needs neither Python's headers nor its
version: it is loaded with ctypes, so one wheel serves every Python of a platform.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL = Path("src/restow/optimizing/kernel.c")
LIBRARY = KERNEL.with_name("_kernel.so")
#: No contraction and no reordering of floating point operations: the same results on every machine.
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fPIC", "-shared")


class CompiledKernel(BuildHookInterface):
    """Adds the compiled library to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  the interface's
        """Compile the library; leave the wheel a pure one if that fails."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        problem = compile_kernel(root)
        if problem:
            self.app.display_warning(f"{KERNEL} is not compiled, the planner's search will be slow: {problem}")
            return
        build_data["artifacts"].append(str(LIBRARY))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def compile_kernel(root: Path) -> str:
    """Compile the library in a source tree; return what went wrong, or nothing."""
    (root / LIBRARY).unlink(missing_ok=True)
    made = root / LIBRARY.with_suffix(f".{os.getpid()}")
    command = [*os.environ.get("CC", "cc").split(), *FLAGS, str(root / KERNEL), "-o", str(made)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return getattr(error, "stderr", None) or str(error)
    made.rename(root / LIBRARY)
    return ""
