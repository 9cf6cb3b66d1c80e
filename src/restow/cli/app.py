"""Which commands there are. Each is declared in its own file, which imports the rest of restow only when it is called."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter
from cyclopts.exceptions import MissingArgumentError, UnknownCommandError, UnknownOptionError, UnusedCliTokensError

import restow
from restow.cli import (
    apply,
    explain,
    generate,
    operator,
    plan,
    policy,
    pressure,
    pressure_flags,
    release,
    run,
    schedule,
    scheduler,
    simulate,
    snapshot,
)
from restow.cli.help_pages import PlainPages
from restow.cli.options import FlagError, NotAPathError
from restow.errors import InputError

_HELP = """A Kubernetes descheduler that shows where every pod will land, and why, before it evicts any.

Start with your current kubectl context, or with a dump of a cluster (restow plan --help has the kubectl command):

    restow plan --policy-config-file policy.yaml
    restow plan -f cluster.json --policy-config-file policy.yaml
"""

app = App(
    name="restow",
    help=_HELP,
    help_format="plaintext",
    help_formatter=PlainPages(),
    help_epilogue="Run restow COMMAND --help for options and examples.",
    version=f"restow {restow.__version__}",
    default_parameter=Parameter(negative=(), show_choices=False),
)
app.command(
    plan.plan,
    help_epilogue=plan.EXAMPLES,
    help_formatter=PlainPages({"--output": plan.added_forms}),
    sort_key=1,
)
app.command(explain.app)
app.command(schedule.schedule, help_epilogue=schedule.EXAMPLES, sort_key=3)
app.command(policy.app)
app.command(apply.apply, help_epilogue=apply.EXAMPLES, sort_key=5)
app.command(run.run, help_epilogue=run.EXAMPLES, sort_key=6)
app.command(scheduler.scheduler, help_epilogue=scheduler.EXAMPLES, sort_key=6)
app.command(snapshot.snapshot, help_epilogue=snapshot.EXAMPLES, sort_key=7)
app.command(pressure.app)
app.command(release.release, help_epilogue=release.EXAMPLES, sort_key=8)
app.command(generate.generate, help_epilogue=generate.EXAMPLES, sort_key=9)
app.command(simulate.app)
operator.app.command(operator.soft_tainter, help_epilogue=operator.SOFT_TAINTER, sort_key=2)
operator.app.command(operator.uninstall, help_epilogue=operator.UNINSTALL, sort_key=3)
app.command(operator.app)

#: A word that is too long to read, and its beginning; the library's sentences quote what was typed.
_WORD = re.compile(r"(\S{200})\S+?([\"';,.:?]{0,3})(?=\s|$)")
#: What the library's sentence has where it names a similar option.
_SIMILAR = "Did you mean"
#: So long is an option that says nothing: two hyphens.
_SHORTEST = 2
#: The commands that read a cluster.
_READING = {("plan",), ("schedule",), ("simulate",), ("explain", "pod"), ("explain", "node")}


def call(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit status. InputError where the arguments make no sense."""
    try:
        result = app(_canonical(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        raise InputError(*sentences_of(error)) from error
    return result if isinstance(result, int) else 0


def _canonical(arguments: Sequence[str]) -> list[str]:
    """The arguments as cyclopts takes them; those of daemons come from Deployments that were written for Go programs."""
    if arguments and arguments[0] == "run":
        return ["run", *run.canonical(arguments[1:])]
    if arguments and arguments[0] == "scheduler":
        return ["scheduler", *scheduler.canonical(arguments[1:])]
    if arguments and arguments[0] == "pressure":
        return ["pressure", *pressure_flags.canonical(arguments[1:])]
    return list(arguments)


def sentences_of(error: CycloptsError) -> tuple[str, str]:
    """Return what is wrong, and what to ask for help."""
    command = " ".join(("restow", *(error.command_chain or ())))
    return _WORD.sub(r"\1…\2", _sentence(error)), f"{command} --help shows what there is"


def _instead(error: CycloptsError, unused: str) -> str:
    """What was meant by an argument too many, after a semicolon; nothing where that is unknown."""
    chain = tuple(error.command_chain or ())
    is_a_file = any(mark in unused for mark in "./-")
    if chain == ("explain", "pod") and not is_a_file:
        return "; a pod is written NAMESPACE/NAME"
    return f"; did you mean -f {unused}?" if chain in _READING else ""


def _option_like(error: UnknownOptionError) -> str:
    """The option of the command that an unknown one abbreviates, after a semicolon; the library knows similar ones."""
    if _SIMILAR in str(error):
        return ""
    known = [name for each in error.argument_collection or () for name in each.names if name.startswith("--")]
    given = str(error.token.keyword or "") if error.token else ""
    longer = [name for name in known if len(given) > _SHORTEST and name.startswith(given)]
    return f"; did you mean {longer[0]}?" if len(longer) == 1 else ""


def _sentence(error: CycloptsError) -> str:
    unused = (error.unused_tokens or [""])[0]
    if isinstance(error, UnknownCommandError) and unused.startswith("-"):
        return f"{unused} stands before the command: options follow it, as in restow plan -f cluster.json"
    if isinstance(error, UnusedCliTokensError):
        return f'Unexpected argument "{unused}"{_instead(error, unused)}'
    if isinstance(error, UnknownOptionError):
        return f"{str(error).removesuffix('.')}{_option_like(error)}"
    if isinstance(error, MissingArgumentError) and error.argument is not None and not error.unused_tokens:
        return f"{error.argument.names[0]} is missing"
    if isinstance(error.__cause__, (FlagError, NotAPathError)):
        return str(error.__cause__)
    return str(error)
