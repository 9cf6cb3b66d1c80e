"""What all kinds have in common: whole metadata, templates of pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from restow.kube.objects import Int64, OwnerReference

#: A JSON object that is never changed in place.
Json = Mapping[str, Any]


class Metadata(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The metadata of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the object."""
        # Asked of every pod at every event; a generator would cost four times as much.
        for each in self.owner_references or ():
            if each.controller:
                return each
        return None

    @property
    def is_terminating(self) -> bool:
        """Whether its deletion has begun."""
        return self.deletion_timestamp is not None

    def annotation(self, name: str, default: str = "") -> str:
        """The value of an annotation."""
        return (self.annotations or {}).get(name, default)


class TemplateMetadata(Struct, frozen=True, omit_defaults=True):
    """The metadata that a template gives its pods."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None


class PodTemplate(Struct, frozen=True, omit_defaults=True):
    """What the pods of a controller are made of."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: dict[str, Any] = {}
