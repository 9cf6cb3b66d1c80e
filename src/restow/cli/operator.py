"""``restow operator``: what a KubeDescheduler comes to."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from restow.cli.options import PATHS, Verbosity

app = App(name="operator", help="Show what a KubeDescheduler comes to.", help_epilogue="", sort_key=10)

_EXAMPLES = """Examples:
  restow operator render -f kubedescheduler.yaml
  restow operator render -f kubedescheduler.yaml --cluster cluster.json \\
    --image quay.example.com/restow:0.1.0 | kubectl diff -f -
  kubectl get kubedeschedulers cluster -o yaml \\
    -n openshift-kube-descheduler-operator |
    restow operator render -f - --openshift
"""

_FILE = "KubeDescheduler (operator.openshift.io/v1), or - for standard input."
_CLUSTER = "Dump of the cluster, as for restow plan -f, whose namespaces, nodes and priority classes count."
_IMAGE = "Image of restow that the descheduler runs."
_URL = "Prometheus that profiles which need it ask; an operator on OpenShift finds it by its Route."
_OPENSHIFT = "Render for OpenShift: with its certificates and its monitoring."

_File = Annotated[str, PATHS, Parameter(name=["-f", "--filename"], metavar="FILE", help=_FILE)]
_Cluster = Annotated[list[str] | None, PATHS, Parameter(name="--cluster", metavar="PATH", help=_CLUSTER)]
_Image = Annotated[str, Parameter(metavar="IMAGE", env_var="RELATED_IMAGE_OPERAND_IMAGE", help=_IMAGE)]
_PrometheusURL = Annotated[str, Parameter(metavar="URL", help=_URL, show_default=False)]
_OpenShift = Annotated[bool, Parameter(name="--openshift", show_default=False, help=_OPENSHIFT)]


@app.command(help_epilogue=_EXAMPLES, sort_key=1)
def render(
    *,
    filename: _File,
    cluster: _Cluster = None,
    image: _Image = "registry.example.com/restow:0.1.0",
    prometheus_url: _PrometheusURL = "",
    openshift: _OpenShift = False,
    verbose: Verbosity = 0,
) -> None:
    """Print every object that an operator makes for a KubeDescheduler.

    Asks no cluster. Without --cluster the policy does not exclude the protected namespaces whose names only the cluster
    knows (openshift-*), which an operator always adds. What has less effect than the resource says is told on stderr. The
    exit status is 2 for a resource from which nothing follows.
    """
    from restow.cli.rendering import RenderRequest, render_objects
    from restow.cli.timings import told

    with told("render", verbose):
        render_objects(RenderRequest(filename, tuple(cluster or ()), image, prometheus_url, openshift))
