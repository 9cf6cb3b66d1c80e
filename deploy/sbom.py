"""Writes which packages the image holds: a bill of materials as CycloneDX 1.6, from the pinned requirements and the vendored files.

``python deploy/sbom.py > sbom.cdx.json`` needs nothing but files of this repository, and writes the same bytes each time. The
packages of the base image's own distribution are not among them.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_VENDORED = re.compile(r"`(pkg:npm/([\w.-]+)@([\w.-]+))`")
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def bill(requirements: str, version: str, vendored: str = "") -> dict[str, Any]:
    """The bill of restow at a version with everything that it requires and brings; the texts are those of files."""
    restow = _component("application", "restow", version)
    needed = [_component("library", *pinned) for pinned in sorted(_PINNED.findall(requirements))]
    needed += [_described("library", *each) for each in sorted(set(_VENDORED.findall(vendored)))]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Of the contents, so that two builds of the same are the same.
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"{restow['purl']} {requirements}{vendored}").urn,
        "version": 1,
        "metadata": {"component": restow},
        "components": needed,
        "dependencies": [{"ref": restow["bom-ref"], "dependsOn": [each["bom-ref"] for each in needed]}],
    }


def _component(kind: str, name: str, version: str) -> dict[str, str]:
    return _described(kind, f"pkg:pypi/{name.lower().replace('_', '-')}@{version}", name, version)


def _described(kind: str, identity: str, name: str, version: str) -> dict[str, str]:
    return {"type": kind, "bom-ref": identity, "name": name, "version": version, "purl": identity}


def _version() -> str:
    (found,) = _VERSION.findall((_ROOT / "src" / "restow" / "version.py").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    pinned = (_ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8")
    files = _ROOT / "src" / "restow" / "reporting" / "html" / "vendor" / "README.md"
    json.dump(bill(pinned, _version(), files.read_text(encoding="utf-8")), sys.stdout, indent=1)
