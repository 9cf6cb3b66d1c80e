"""``policy convert``: a policy file of any version as descheduler/v1alpha2 text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.documents.writing import write_yaml
from restow.errors import InputError
from restow.policies import v1alpha1
from restow.policies.enclosed import read_policy_document
from restow.policies.load import load_policy

if TYPE_CHECKING:
    from restow.documents.findings import Finding
    from restow.policies.schema import Plugins


def convert_policy(text: bytes, filename: str, plugins: Plugins) -> tuple[str, list[Finding]]:
    """Return the policy as descheduler/v1alpha2 YAML, and what of the file had no effect and is not in it.

    A file that is v1alpha2 already comes back as it is, without its comments. Raises InputError if upstream would
    refuse the policy, and if it has no version.
    """
    loaded = load_policy(text, filename, plugins)
    if not loaded.version:
        raise InputError(f"{loaded.warnings[0]}")
    document = read_policy_document(text, filename)
    if loaded.version != v1alpha1.API_VERSION:
        return write_yaml(document.data), list(loaded.warnings)
    # That the format is old is why it is being converted.
    warnings = [finding for finding in loaded.warnings if finding.path != "apiVersion"]
    return write_yaml(v1alpha1.convert(document)), warnings
