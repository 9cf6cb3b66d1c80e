"""What people are told of a file."""

from __future__ import annotations

from restow.documents.document import to_findings
from restow.documents.findings import Issue
from restow.kube.excerpts import LONGEST


class Nowhere:
    """A document whose places do not matter."""

    filename = "policy.yaml"

    def line(self, _path: object) -> int:
        return 1

    def place(self, _path: object) -> str:
        return ""


def test_a_message_quotes_the_beginning_of_a_long_value() -> None:
    issue = Issue((), f'invalid policy "{"[" * 500}". Valid ones are: a, b')
    (found,) = to_findings(Nowhere(), [issue])  # type: ignore[arg-type]
    assert found.message == f'invalid policy "{"[" * (LONGEST - 1)}… Valid ones are: a, b'
