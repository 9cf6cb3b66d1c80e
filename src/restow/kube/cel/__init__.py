"""The Common Expression Language, as far as selectors of devices use it.

``compile_expression`` reads a text once; ``evaluate`` answers for one set of variables, in microseconds. What this does not
know is an error of its own (``UnsupportedError``): an answer is right, or there is none. A library for CEL takes sixty times
as long (``docs/performance.md``), and brings six packages. Source: CEL's specification and Kubernetes' environment for
devices, 1.36.
"""

from restow.kube.cel.errors import EvaluationError, UnsupportedError
from restow.kube.cel.evaluation import Expression, compile_expression

__all__ = ["EvaluationError", "Expression", "UnsupportedError", "compile_expression"]
