"""The objects of a ``ClusterState`` that are neither nodes nor pods, and a version of each kind.

States share what none of them has written: the first change of a kind copies its objects. A version shows that a kind
changed, without reading its objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from restow.cluster.snapshot import Key


class OtherObjects:
    """What one state has; it may write what it does not share."""

    __slots__ = ("_own", "_versions", "kinds")

    def __init__(self, kinds: Mapping[str, Mapping[Key, Any]]) -> None:
        #: By kind; ``Cluster.others`` of the state.
        self.kinds: dict[str, Mapping[Key, Any]] = dict(kinds)
        #: The kinds whose objects no other state shares.
        self._own: dict[str, dict[Key, Any]] = {}
        self._versions: Counter[str] = Counter()

    def version(self, kind: str) -> int:
        """Increases each time an object of a kind comes, changes or goes."""
        return self._versions[kind]

    def replace(self, kind: str, key: Key, changed: Any) -> Any:
        """An object is this from now on, or gone (None); returns what it was, None where there was none."""
        if kind not in self._own:
            self._own[kind] = self.kinds[kind] = dict(self.kinds.get(kind, {}))
        known = self._own[kind]
        before = known.get(key)
        if changed is None:
            known.pop(key, None)
        else:
            known[key] = changed
        self._versions[kind] += 1
        return before

    def shared(self) -> OtherObjects:
        """The objects for another state: from now on each of the two copies what it changes."""
        shared = OtherObjects(self.kinds)
        shared._versions = self._versions.copy()
        self._own = {}
        return shared
