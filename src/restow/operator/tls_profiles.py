"""What OpenShift's ``APIServer`` says of TLS, as flags of ``restow run``: its ``tlsSecurityProfile``.

Source: config.openshift.io/v1, TLSSecurityProfile.
"""

from __future__ import annotations

from typing import Any, Final

from restow.serving.cipher_suites import registered_name

#: Intermediate is what restow does by itself.
_VERSIONS: Final = {"Old": "VersionTLS10", "Intermediate": "", "Modern": "VersionTLS13"}


def tls_of(spec: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the oldest version and the suites of TLS 1.2; empty leaves them to restow."""
    profile = spec.get("tlsSecurityProfile") or {}
    if profile.get("type") != "Custom":
        return _VERSIONS.get(profile.get("type", ""), ""), ()
    custom = profile.get("custom") or {}
    names = (registered_name(each) for each in custom.get("ciphers") or ())
    return custom.get("minTLSVersion", ""), tuple(name for name in names if name is not None)
