"""``restow policy``: validate, lint and convert DeschedulerPolicy files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from restow.cli.options import PATHS, Contexts, Kubeconfig, TableOrJson, Verbosity
from restow.cli.terminal import Terminal, timed, warn
from restow.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from restow.application.policies import CheckedFiles

app = App(name="policy", help="Validate, lint and convert DeschedulerPolicy files.", help_epilogue="", sort_key=4)

_FILE = "A DeschedulerPolicy, v1alpha1 or v1alpha2, or - for standard input."
_File = Annotated[str, PATHS, Parameter(help=_FILE)]
_CONFIG_MAP = "With --contexts: the ConfigMap of the policy, as NAMESPACE/NAME. Default: kube-system/descheduler."
_ConfigMap = Annotated[str | None, Parameter(metavar="NAME", help=_CONFIG_MAP)]
_Strict = Annotated[bool, Parameter(show_default=False, help="Exit with status 1 if there are warnings.")]

_FINDINGS = "PolicyFindings"
_SCHEMA = f"""
The JSON document:
  {{"apiVersion": "restow.dev/v1alpha1", "kind": "{_FINDINGS}",
   "findings": [{{"file": "policy.yaml", "line": 14,
                 "severity": "error|warning|note",
                 "path": "profiles[0].pluginConfig[1].args", "message": "...",
                 "hint": "..."}}],
   "summary": {{"files": 1, "errors": 1, "warnings": 0, "notes": 0}}}}
"""

_VALIDATE = f"""Examples:
  restow policy validate policy.yaml
  restow policy validate values.yaml
  kubectl -n kube-system get cm descheduler -o yaml |
    restow policy validate -
{_SCHEMA}"""


@app.command(usage="restow policy validate [OPTIONS] FILE...", help_epilogue=_VALIDATE, sort_key=1)
def validate(*files: _File, output: TableOrJson = "table", verbose: Verbosity = 0) -> int:
    """Report every error for which the Descheduler refuses a policy or silently ignores a part of it.

    The latter are misspelled keys, sections that are written twice, and a policy that enables no strategy. Each error
    comes with file, line and field. Also finds a policy inside a ConfigMap or Helm values. Exit status: 0 if every file
    is valid, otherwise 2.
    """
    from restow.application.policies import validate_policies
    from restow.cli import file_findings

    with timed("validate", verbose):
        found = validate_policies(files)
    file_findings.write(found, output, _FINDINGS, file_findings.validity)
    return file_findings.exit_status(found)


_LINT = f"""Examples:
  restow policy lint policy.yaml
  restow policy lint policies/*.yaml -o json
  restow policy lint policy.yaml --strict
  restow policy lint --contexts 'prod-*'
{_SCHEMA}"""


@app.command(usage="restow policy lint [OPTIONS] FILE...", help_epilogue=_LINT, sort_key=2)
def lint(
    *files: _File,
    strict: _Strict = False,
    output: TableOrJson = "table",
    contexts: Contexts = None,
    config_map: _ConfigMap = None,
    kubeconfig: Kubeconfig = None,
    verbose: Verbosity = 0,
) -> int:
    """Report what in a policy is refused, ignored or probably a mistake.

    Errors are what restow policy validate reports, warnings what does not do what it says, notes what is seldom intended.
    With --contexts, the policies are those of many clusters, each in a ConfigMap. Exit status: 2 if there are errors,
    with --strict 1 if there are warnings, otherwise 0.
    """
    from restow.cli import file_findings

    with timed("lint", verbose):
        found = _linted(files, contexts, config_map, kubeconfig)
    file_findings.write(found, output, _FINDINGS, file_findings.advice)
    return file_findings.strict_exit_status(found) if strict else file_findings.exit_status(found)


def _linted(
    files: Sequence[str], contexts: Sequence[str] | None, config_map: str | None, kubeconfig: str | None
) -> CheckedFiles:
    """The findings of files, or of the policies of many clusters."""
    from restow.application.policies import lint_policies

    if not contexts:
        if config_map is not None or kubeconfig is not None:
            raise InputError("--config-map and --kubeconfig go with --contexts, which names the clusters")
        return lint_policies(files)
    if files:
        raise InputError("--contexts lints the policies of clusters; leave the files out")
    from restow.application.many_policies import CONFIG_MAP, lint_policies_of_clusters
    from restow.application.named_clusters import ClusterNames

    names = ClusterNames(tuple(contexts))
    return lint_policies_of_clusters(names, kubeconfig, config_map or CONFIG_MAP, Terminal())


_DEFAULT = """Examples:
  restow policy default > policy.yaml
"""


@app.command(help_epilogue=_DEFAULT, sort_key=4)
def default() -> None:
    """Write the policy that restow plan goes by where none is named."""
    from restow.application.policies import bundled_text

    sys.stdout.write(bundled_text().decode())


_CONVERT = """Examples:
  restow policy convert old.yaml > policy.yaml
  restow policy convert - < old.yaml | restow policy lint -
"""


@app.command(help_epilogue=_CONVERT, sort_key=3)
def convert(file: _File, /, *, verbose: Verbosity = 0) -> None:
    """Convert a v1alpha1 policy to the v1alpha2 policy that does the same.

    A v1alpha2 policy is written unchanged. Comments are lost. Settings that had no effect are left out and listed on
    stderr.
    """
    from restow.application.policies import converted_policy
    from restow.errors import problem_lines

    with timed("convert", verbose):
        text, findings = converted_policy(file)
    warn(problem_lines(findings))
    sys.stdout.write(text)
