"""``restow generate``: synthetic clusters for trials and benchmarks."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import App, Parameter, validators

from restow.cli.options import Verbosity
from restow.cli.terminal import timed

_EXAMPLES = """Examples:
  restow generate | restow plan -f -
  restow generate --nodes 5000 --pods 150000 --seed 7 > cluster.json
  restow generate --usage 24h > measured.json
  restow generate --profile low-utilization --policy > policy.yaml
"""

app = App(name="generate", help_epilogue=_EXAMPLES, sort_key=9)


@app.default
def generate(
    *,
    nodes: Annotated[int, Parameter(metavar="N", validator=validators.Number(gte=1), help="Number of nodes.")] = 30,
    pods: Annotated[int, Parameter(metavar="N", validator=validators.Number(gte=0), help="Number of pods.")] = 600,
    seed: Annotated[
        int, Parameter(metavar="N", help="Random seed; each seed gives another cluster of the same kind.")
    ] = 1,
    profile: Annotated[
        str, Parameter(metavar="NAME", help="Kind of cluster; an unknown name lists all profiles.")
    ] = "mixed",
    policy: Annotated[
        bool, Parameter(show_default=False, help="Write the policy for the profile instead of the cluster.")
    ] = False,
    usage: Annotated[
        str | None,
        Parameter(metavar="DURATION", help="Also generate the nodes' usage of the last DURATION, such as 24h."),
    ] = None,
    verbose: Verbosity = 0,
) -> None:
    """Generate a synthetic cluster for trials and benchmarks.

    The output has the form of kubectl get -o json. The same arguments always give the same bytes.
    """
    from restow.application.generating import GenerateRequest
    from restow.sources.synthetic import write_list

    request = GenerateRequest(profile, nodes, pods, seed, usage)
    if policy:
        sys.stdout.write(request.policy())
        return
    objects = request.objects()
    with timed("generate", verbose):
        write_list(objects, sys.stdout.buffer)
