"""``restow scheduler``: an additional scheduler that pods choose by name, with kube-scheduler's flags (``scheduler_flags``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter

from restow.cli.go_flags import last_ones
from restow.cli.scheduler_flags import SchedulerFlags

_EXAMPLES = """Examples:
  restow scheduler --leader-elect=false
  restow scheduler --kubeconfig admin.conf --config scheduler.yaml
  restow scheduler --profile random --seed 1 --v 2
"""

app = App(name="scheduler", help_epilogue=_EXAMPLES, sort_key=6)

_DEFAULTS = SchedulerFlags()


@app.default
def scheduler(*, flags: Annotated[SchedulerFlags, Parameter(name="*")] = _DEFAULTS) -> int:
    """Schedule the pods that name this scheduler, by kube-scheduler's rules, until it is stopped.

    A pod chooses it with spec.schedulerName: my-scheduler. Pods of other schedulers are never touched, and always counted.
    """
    from restow.cli.scheduler_settings import schedule

    return schedule(flags)


def canonical(arguments: Sequence[str]) -> list[str]:
    """Translate the arguments after ``scheduler`` from Go's flag syntax to that of cyclopts."""
    return last_ones(arguments, SchedulerFlags, {})
