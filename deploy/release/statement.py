"""What was made, of what: checksums, and provenance as SLSA 1.0 words it, for cosign to sign.

https://slsa.dev/spec/v1.0/provenance
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

CHECKSUMS = "SHA256SUMS"
PROVENANCE = "provenance.json"
_BUILD_TYPE = "blob/v{version}/deploy/release/README.md"


def checksums(files: list[Path], below: Path) -> str:
    """A line for each file, as sha256sum writes and checks them."""
    return "".join(f"{digest(each)}  {each.relative_to(below).as_posix()}\n" for each in files)


def digest(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def predicate(repository: str, version: str, commit: str, pinned: dict[str, Path]) -> dict[str, Any]:
    """Of which commit and packages something was made, and how; the digests of the lists of packages stand for these."""
    source = {"uri": f"git+{repository}@refs/tags/v{version}", "digest": {"gitCommit": commit}}
    lists = [{"name": name, "digest": {"sha256": digest(file)}} for name, file in sorted(pinned.items())]
    return {
        "buildDefinition": {
            "buildType": f"{repository}/{_BUILD_TYPE.format(version=version)}",
            "externalParameters": {"repository": repository, "tag": f"v{version}"},
            "resolvedDependencies": [source, *lists],
        },
        "runDetails": {"builder": {"id": f"{repository}/{_BUILD_TYPE.format(version=version)}#who-builds"}},
    }
