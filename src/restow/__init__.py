"""restow: a Kubernetes descheduler that knows where a pod will land before it evicts it."""

from __future__ import annotations

__version__ = "0.1.0"
