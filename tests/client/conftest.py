"""The control plane of the end-to-end tests."""

from __future__ import annotations

from e2e.conftest import built, namespace, own_plane, plane

__all__ = ["built", "namespace", "own_plane", "plane"]
