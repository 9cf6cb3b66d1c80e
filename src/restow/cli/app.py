"""Which commands there are. Each is declared in its own file, which is imported only when it is called or listed."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Final, Literal

from cyclopts import App, CycloptsError, Parameter
from cyclopts.exceptions import MissingArgumentError, UnknownCommandError, UnknownOptionError, UnusedCliTokensError

from restow.cli.help_pages import PlainPages
from restow.cli.options import FlagError, NotAPathError, TableOrJson
from restow.errors import InputError
from restow.version import __version__

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
    version=f"restow {__version__}",
    default_parameter=Parameter(negative=(), show_choices=False),
    suppress_keyboard_interrupt=False,
)
#: Each command is the file of its name, whose app says the rest; only the file of the command that is called is imported.
_COMMANDS: Final = (
    "plan",
    "diff",
    "explain",
    "schedule",
    "policy",
    "apply",
    "run",
    "history",
    "scheduler",
    "snapshot",
    "top",
    "serve",
    "pressure",
    "release",
    "generate",
    "simulate",
    "record",
    "tune",
    "operator",
)
for _name in _COMMANDS:
    app.command(f"restow.cli.{_name}:app", name=_name)

_HELP_OF: Final = """Examples:
  restow help plan
  restow help explain node
"""
_VERSION: Final = """Examples:
  restow version
  restow version -o json
"""


@app.command(name="help", help_epilogue=_HELP_OF, help_formatter=PlainPages(), sort_key=97)
def help_(*command: Annotated[str, Parameter(help="A command, such as plan or explain node.")]) -> int:
    """Show the help of a command."""
    return call([*command, "--help"])


@app.command(help_epilogue=_VERSION, help_formatter=PlainPages(), sort_key=98)
def version(*, output: TableOrJson = "table") -> None:
    """Show restow's version, and the versions whose rules it follows."""
    from restow.application.versions import Versions
    from restow.cli.terminal import write_json

    found = Versions()
    if output == "json":
        write_json(found)
        return
    sys.stdout.write("".join(f"{line}\n" for line in found.lines()))


_COMPLETION: Final = """Examples:
  source <(restow completion bash)
  restow completion zsh > ~/.zfunc/_restow
  restow completion fish > ~/.config/fish/completions/restow.fish
"""


@app.command(help_epilogue=_COMPLETION, help_formatter=PlainPages(), sort_key=99)
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="bash, zsh or fish.")], /) -> None:
    """Write a script that completes restow's commands and options in a shell."""
    app.resolved_commands()
    sys.stdout.write(app.generate_completion(shell=shell))


#: The commands whose arguments come from Deployments that were written for Go programs; ``canonical`` of their files reads them.
_IN_GO_SYNTAX: Final = ("run", "scheduler", "pressure")

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
    if not arguments or arguments[0].startswith("-"):
        # The page of the program says what each command does, which is in their files.
        app.resolved_commands()
    try:
        result = app(_canonical(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        raise InputError(*sentences_of(error)) from error
    return result if isinstance(result, int) else 0


def _canonical(arguments: Sequence[str]) -> list[str]:
    """The arguments as cyclopts takes them."""
    if not arguments or arguments[0] not in _IN_GO_SYNTAX:
        return list(arguments)
    command, *given = arguments
    return [command, *import_module(f"restow.cli.{command}").canonical(given)]


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


def _unknown_option(error: UnknownOptionError) -> str:
    """The sentence about an unknown option: it is meant as the one that it abbreviates, or else as the library's similar one."""
    known = [name for each in error.argument_collection or () for name in each.names if name.startswith("--")]
    given = str(error.token.keyword or "") if error.token else ""
    longer = [name for name in known if len(given) > _SHORTEST and name.startswith(given)]
    sentence = str(error).removesuffix(".")
    if len(longer) != 1:
        return sentence
    return f"{sentence.partition(f'. {_SIMILAR}')[0]}; did you mean {longer[0]}?"


#: Options of other programs for what is a command here.
_COMPLETIONS: Final = ("--install-completion", "--show-completion")


def _sentence(error: CycloptsError) -> str:
    unused = (error.unused_tokens or [""])[0]
    if isinstance(error, UnknownCommandError) and unused.startswith("-"):
        if unused in _COMPLETIONS:
            remedy = "restow completion bash, zsh or fish prints a script"
        else:
            remedy = "options follow it, as in restow plan -f cluster.json"
        return f"{unused} stands before the command: {remedy}"
    if isinstance(error, UnusedCliTokensError):
        return f'Unexpected argument "{unused}"{_instead(error, unused)}'
    if isinstance(error, UnknownOptionError):
        return _unknown_option(error)
    if isinstance(error, MissingArgumentError) and error.argument is not None and not error.unused_tokens:
        return f"{error.argument.names[0]} is missing"
    if isinstance(error.__cause__, (FlagError, NotAPathError)):
        return str(error.__cause__)
    return str(error)
