"""Compiles two inner loops when restow is built or installed, if a compiler is there: the planner's search, and landing odds.

Without one the installation goes on, and both use NumPy. The libraries need neither Python's headers nor its version:
they are loaded with ctypes, so one wheel serves every Python of a platform.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = (Path("src/restow/optimizing/kernel.c"), Path("src/restow/scheduling/sampling/shares.c"))
#: No contraction and no reordering of floating point operations: the same results on every machine.
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fPIC", "-shared")


class CompiledLoops(BuildHookInterface):
    """Adds the compiled libraries to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  the interface's
        """Compile the libraries; leave the wheel a pure one if that fails."""
        if self.target_name != "wheel":
            return
        for source in SOURCES:
            problem = compile_source(Path(self.root), source)
            if problem:
                self.app.display_warning(f"{source} is not compiled, restow will be slower: {problem}")
                return
            build_data["artifacts"].append(str(library_of(source)))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def library_of(source: Path) -> Path:
    """Where the library of a source is: `_kernel.so` beside `kernel.c`."""
    return source.with_name(f"_{source.stem}.so")


def compile_source(root: Path, source: Path) -> str:
    """Compile a library in a source tree; return what went wrong, or nothing."""
    library = root / library_of(source)
    library.unlink(missing_ok=True)
    made = library.with_suffix(f".{os.getpid()}")
    command = [*os.environ.get("CC", "cc").split(), *FLAGS, str(root / source), "-o", str(made)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return getattr(error, "stderr", None) or str(error)
    made.rename(library)
    return ""
