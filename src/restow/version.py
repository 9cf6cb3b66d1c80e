"""The version of restow, for all who say it; ``restow.__version__`` is the same."""

from __future__ import annotations

__version__ = "0.1.0"
