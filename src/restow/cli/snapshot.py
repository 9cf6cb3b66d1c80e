"""``restow snapshot``: a cluster as one compact file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from restow.cli.options import (
    PATHS,
    PROMETHEUS_AUTHORITIES,
    PROMETHEUS_TOKEN,
    PROMETHEUS_URL,
    STDIN,
    Context,
    Contexts,
    Filename,
    Kubeconfig,
    NoSizeLimit,
    Verbosity,
)
from restow.cli.terminal import DONE, FAILED, Terminal, timed
from restow.errors import InputError

if TYPE_CHECKING:
    from restow.application.clusters import ClusterSource
    from restow.sources.compact import CompactCluster

_EXAMPLES = """Examples:
  restow snapshot -o cluster.json.gz
  restow snapshot --context production -o production.json.gz
  restow snapshot --contexts 'prod-*' -o snapshots
  restow snapshot -f dumps/ -o cluster.json.gz
  restow snapshot --usage 24h --prometheus-url http://prometheus:9090 -o c.json.gz
  restow snapshot -f recording --at 2026-11-21T09:00:00Z -o then.json
  restow snapshot | restow plan -f - --policy-config-file policy.yaml
"""

app = App(name="snapshot", help_epilogue=_EXAMPLES, sort_key=7)

_FILE = "File to write, compressed if its name ends in .gz. Default: standard output. With --contexts, a directory."

_USAGE = "Also store what nodes used for so long, such as 24h, as Prometheus has measured it."
_CPU = "Query for the cores that each instance uses; $window is the time between two samples, 5m at least. Default: by node_exporter's metrics."
_MEMORY = "Query for the bytes that each instance uses. Default: by node_exporter's metrics."

_AT = "Of a recording, the moment, such as 2026-11-21T09:00:00Z. Default: the last one."
_POLICY = "Policy whose queries to Prometheus are stored too, so that it can be tried without it."

_Output = Annotated[str | None, PATHS, Parameter(name=["-o", "--output"], metavar="FILE", help=_FILE)]
_Policy = Annotated[str | None, PATHS, Parameter(name="--policy-config-file", metavar="FILE", help=_POLICY)]
_At = Annotated[str | None, Parameter(metavar="TIME", help=_AT)]
_Usage = Annotated[str | None, Parameter(metavar="DURATION", help=_USAGE)]
_Url = Annotated[str | None, Parameter(metavar="URL", help=PROMETHEUS_URL)]
_Token = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=PROMETHEUS_TOKEN)]
_Authorities = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=PROMETHEUS_AUTHORITIES)]
_CpuQuery = Annotated[str | None, Parameter(metavar="PROMQL", help=_CPU)]
_MemoryQuery = Annotated[str | None, Parameter(metavar="PROMQL", help=_MEMORY)]


@app.default
def snapshot(
    *,
    filename: Filename = None,
    output: _Output = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    contexts: Contexts = None,
    no_size_limit: NoSizeLimit = False,
    usage: _Usage = None,
    prometheus_url: _Url = None,
    prometheus_token_file: _Token = None,
    prometheus_ca_file: _Authorities = None,
    cpu_query: _CpuQuery = None,
    memory_query: _MemoryQuery = None,
    policy_config_file: _Policy = None,
    at: _At = None,
    verbose: Verbosity = 0,
) -> int:
    """Save a cluster to one compact file for -f.

    A snapshot holds only what decisions read, so a plan from it equals a plan from the whole cluster. It contains no
    environment variables, commands, Secrets or ConfigMaps, and no annotation that decisions do not read. With --usage it also holds what the nodes used, for strategies that go by usage.
    """
    from restow.application.clusters import ClusterSource
    from restow.application.snapshots import SnapshotRequest, read_snapshot

    where = ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit)
    if contexts:
        if usage is not None:
            raise InputError("--usage is of one cluster; name it with --context instead of --contexts")
        return _save_many(tuple(contexts), where, output)
    feedback = Terminal()
    with timed("snapshot", verbose):
        file = None if output == STDIN else output
        request = SnapshotRequest(
            where=where,
            output=file,
            usage=usage,
            url=prometheus_url,
            token_file=prometheus_token_file,
            authorities=prometheus_ca_file,
            cpu_query=cpu_query,
            memory_query=memory_query,
            policy=policy_config_file,
            at=at,
        )
        found = read_snapshot(request, feedback)
        with feedback.working("writing the snapshot"):
            written = _write_to_stdout(found.cluster) if file is None else [found.save(file)]
        feedback.warn(written)
    return DONE


def _save_many(contexts: tuple[str, ...], where: ClusterSource, directory: str | None) -> int:
    """Save a snapshot of each cluster, and say what became of it; the exit status is the worst."""
    from restow.application.named_clusters import ClusterNames
    from restow.application.snapshots import save_many

    if directory is None or directory == STDIN:
        raise InputError("--contexts saves a file for each cluster: name a directory with -o")
    feedback = Terminal()
    saved = save_many(ClusterNames(contexts), where, directory, feedback)
    for each in saved:
        feedback.warn(f"{each.name}: {sentence}" for sentence in (*each.warnings, each.answer or each.error))
    return FAILED if any(each.error for each in saved) else DONE


def _write_to_stdout(cluster: CompactCluster) -> list[str]:
    """Write to stdout, of which nothing is to be said."""
    sys.stdout.flush()
    cluster.write(sys.stdout.buffer)
    sys.stdout.buffer.flush()
    return []
