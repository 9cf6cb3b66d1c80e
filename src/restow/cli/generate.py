"""``restow generate``: synthetic clusters for trials and benchmarks."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter, validators

from restow.cli.options import Verbosity
from restow.errors import InputError

EXAMPLES = """Examples:
  restow generate | restow plan -f -
  restow generate --nodes 5000 --pods 150000 --seed 7 > cluster.json
  restow generate --usage 24h > measured.json
  restow generate --profile low-utilization --policy > policy.yaml
"""


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
        Parameter(metavar="DURATION", help="Also generate what the nodes used for so long, such as 24h."),
    ] = None,
    verbose: Verbosity = 0,
) -> None:
    """Generate a synthetic cluster for trials and benchmarks.

    The output has the form of kubectl get -o json. The same arguments always give the same bytes.
    """
    from restow.cli.feedback import timed
    from restow.sources.synthetic import generate as generate_objects
    from restow.sources.synthetic import policy_for, profiles, write_list

    known = profiles()
    if profile not in known:
        listed = (f"  {name:<28} {each.description}" for name, each in known.items())
        raise InputError(f"--profile: there is no profile {profile}; choose one of:", *listed)
    if policy:
        sys.stdout.write(policy_for(profile))
        return
    objects = generate_objects(profile, nodes, pods, seed)
    if usage is not None:
        from restow.application.usage_range import usage_seconds, usage_step
        from restow.sources.synthetic.usage import with_usage

        seconds = usage_seconds(usage)
        objects = with_usage(objects, seconds, usage_step(seconds), seed)
    with timed("generate", verbose):
        write_list(objects, sys.stdout.buffer)
