"""What ``restow pressure`` and ``restow pressure check`` are given, as they use it; InputError for what cannot be used."""

from __future__ import annotations

import os
from dataclasses import dataclass

from restow.client.credentials import Endpoint
from restow.client.prometheus import prometheus_endpoint
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.label_syntax import key_problems, value_problems
from restow.pressure.marking import Mark


@dataclass(slots=True, frozen=True, kw_only=True)
class PrometheusAccess:
    """Where Prometheus is and who we are to it, as it was written."""

    url: str
    token_file: str | None
    authorities: str | None
    certificate: str | None
    key: str | None
    headers: tuple[str, ...]

    def endpoint(self) -> Endpoint:
        """Return how it is reached."""
        if bool(self.certificate) != bool(self.key):
            raise InputError("--prometheus-cert-file and --prometheus-key-file go together: one of them is missing")
        pair = (self.certificate, self.key) if self.certificate and self.key else None
        return prometheus_endpoint(
            self.url, self.token_file, self.authorities, os.environ, headers=self.headers, certificate=pair
        )


def mark_of(label: str) -> Mark:
    """Return the mark of ``--label``."""
    key, equals, value = label.partition("=")
    problems = [*key_problems(key), *value_problems(value)] if equals else ["it must have the form KEY=VALUE"]
    if problems:
        raise InputError(f"--label {excerpt(repr(label))}: {problems[0]}")
    return Mark(key, value)


def share_of(most: float) -> float:
    """Return the share of ``--max-share``."""
    if not 0 < most <= 1:
        raise InputError("--max-share must be above 0, up to 1, where 1 is all nodes")
    return most
