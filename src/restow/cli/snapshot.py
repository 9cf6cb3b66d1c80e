"""``restow snapshot``: a cluster as one compact file."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from restow.cli.options import PATHS, Context, Filename, Kubeconfig, NoSizeLimit, Verbosity

EXAMPLES = """Examples:
  restow snapshot -o cluster.json.gz
  restow snapshot --context production -o production.json.gz
  restow snapshot -f dumps/ -o cluster.json.gz
  restow snapshot | restow plan -f - --policy-config-file policy.yaml
"""

_FILE = "File to write, compressed if its name ends in .gz. Default: standard output."

_Output = Annotated[str | None, PATHS, Parameter(name=["-o", "--output"], metavar="FILE", help=_FILE)]


def snapshot(
    *,
    filename: Filename = None,
    output: _Output = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    no_size_limit: NoSizeLimit = False,
    verbose: Verbosity = 0,
) -> None:
    """Save a cluster to one compact file for -f.

    A snapshot holds only what decisions read, so a plan from it equals a plan from the whole cluster. It contains no
    environment variables, commands, Secrets or ConfigMaps, and no annotation that decisions do not read.
    """
    from restow.cli.inputs import Where
    from restow.cli.snapshotting import write_snapshot
    from restow.cli.timings import told

    with told("snapshot", verbose):
        write_snapshot(Where(tuple(filename or ()), kubeconfig, context, no_size_limit), output)
