"""``restow run``: the descheduler, for one cycle or as a daemon, with the Kubernetes Descheduler's flags (``run_flags``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter

from restow.cli.go_flags import last_ones
from restow.cli.run_flags import Flags

_EXAMPLES = """Examples:
  restow run --policy-config-file policy.yaml --dry-run
  restow run --policy-config-file policy.yaml --descheduling-interval 5m --v 3
  restow run --policy-config-file policy.yaml --descheduling-interval 5m \\
    --shadow --shadow-reports reports
  restow run --policy-config-file policy.yaml --descheduling-interval 5m \\
    --leader-elect --logging-format json
"""

app = App(name="run", help_epilogue=_EXAMPLES, sort_key=6)

_DEFAULTS = Flags()


@app.default
def run(*, flags: Annotated[Flags, Parameter(name="*")] = _DEFAULTS) -> int:
    """Carry out a policy: evict pods once, or in every descheduling interval."""
    from restow.cli.run_settings import deschedule

    return deschedule(flags)


def canonical(arguments: Sequence[str]) -> list[str]:
    """Translate the arguments after ``run`` from Go's flag syntax to that of cyclopts."""
    return last_ones(arguments, Flags, {"kubeconfig": "client-connection-kubeconfig"})
