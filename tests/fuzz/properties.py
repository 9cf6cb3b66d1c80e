"""What must hold of every input, whatever is in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from fuzz.cases import LONGEST_OUTPUT, Case, Death, Ran

#: Of commands on files alone: nothing else may go wrong there than the input.
_OFFLINE = frozenset({"cluster", "tenant", "policy", "scheduler"})
_DOCUMENTED = {True: (0, 2), False: (0, 1, 2, 130)}
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LONG_QUOTE = re.compile(r"([^\s─-▟])\1{200,}")
_LIBRARY = re.compile(
    r"\.py:\d+: \w*Warning|never retrieved|never awaited|Unclosed |Exception ignored|Traceback \(most"
)
_FORMS_FOR_PROGRAMS = re.compile(r"-o (json|yaml|html)|snapshot|generate|convert|--policy$")
_CLUSTER_DEPENDENT = re.compile(r"priority ?class", re.IGNORECASE)
_PLACE = re.compile(r'File ".*?/((?:restow|fuzz)/\S+\.py)", line (\d+)')
_DETAILS = re.compile(r"\d+|\"[^\"]*\"|'[^']*'|`[^`]*`")


@dataclass(slots=True, frozen=True)
class Finding:
    """Something that does not hold."""

    #: Findings with the same one are the same fault, as far as a program can tell.
    signature: str
    text: str


def findings(case: Case, result: tuple[Ran, ...] | Death) -> list[Finding]:
    """Everything that does not hold of a case and what came of it; the worst comes first."""
    if isinstance(result, Death):
        # Where exactly it hung is another place each time.
        where = _places(result.last_words).partition(":")[0]
        return [Finding(f"{case.kind}: {result.why}: {where}", f"{result.why}\n{result.last_words}")]
    each = [
        found for ran, command in zip(result, case.commands, strict=True) for found in _of_command(case, command, ran)
    ]
    return each + [found for rule in _RULES for found in rule(case, result)]


def _of_command(case: Case, command: tuple[str, ...], ran: Ran) -> Iterator[Finding]:
    called = " ".join(command)[:300]
    about = f"restow {called}\nstatus {ran.status}\n{ran.err[:3000]}"
    name = " ".join(each for each in command[:2] if not each.startswith("-"))[:20]
    if ran.trace:
        # Who caught an exception and raised another one is not to blame.
        cause = ran.trace.partition("\nThe above exception")[0].strip()
        last = cause.rsplit("\n", 1)[-1].partition(":")[0]
        yield Finding(f"unforeseen: {last[:60]} in {_places(cause)}", f"{about}\n{ran.trace}")
        return
    if "enough memory" in ran.err:
        yield Finding(f"memory: {case.kind} {name}", about)
    elif ran.status not in _DOCUMENTED[case.kind in _OFFLINE] and not _is_plan_with_problems(command, ran):
        yield Finding(f"status {ran.status}: {case.kind} {_short(ran.err)}", about)
    elif ran.status and not (ran.err.strip() or ran.out.strip()):
        yield Finding(f"no sentence: {case.kind} {name}", about)
    for said, where in _texts(called, ran):
        if found := _RAW.search(said):
            yield Finding(f"raw {found[0]!r} on {where}: {_short(_around(said, found))}", about)
        if where == "stderr" and (found := _LONG_QUOTE.search(said)):
            yield Finding(f"quotes {found[1]!r}...: {_short(_around(said, found))}", about)
    if found := _LIBRARY.search(ran.err):
        yield Finding(f"library: {_short(found[0])} {_places(ran.err)}", about)


def _is_plan_with_problems(command: tuple[str, ...], ran: Ran) -> bool:
    """Whether there is a plan although a strategy could not run: that is status 1, of commands that read only files too."""
    return command[0] == "plan" and ran.status == 1 and bool(ran.out.strip())


def _texts(called: str, ran: Ran) -> Iterator[tuple[str, str]]:
    """What people read of a command."""
    yield ran.err, "stderr"
    if not _FORMS_FOR_PROGRAMS.search(called):
        yield ran.out.decode(errors="replace"), "stdout"


def _same_again(case: Case, result: tuple[Ran, ...]) -> Iterator[Finding]:
    """The same command on the same bytes gives the same bytes."""
    first: dict[tuple[str, ...], Ran] = {}
    for command, ran in zip(case.commands, result, strict=True):
        known = first.setdefault(command, ran)
        # What is told with -v is how long it took.
        said = (known.err, ran.err) if "-v" not in command else ("", "")
        if (known.status, known.out, said[0]) != (ran.status, ran.out, said[1]):
            yield Finding(f"not the same again: {command[0]}", f"{known.err[:1000]}\n---\n{ran.err[:1000]}")


def _json_is_json(case: Case, result: tuple[Ran, ...]) -> Iterator[Finding]:
    """What is asked for as JSON is JSON."""
    for command, ran in zip(case.commands, result, strict=True):
        is_whole = len(ran.out) < LONGEST_OUTPUT
        is_answer = ran.status == 0 or _is_plan_with_problems(command, ran)
        if is_whole and is_answer and "-o json" in " ".join(command) and case.kind != "flags":
            try:
                msgspec.json.decode(ran.out)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                yield Finding(f"no JSON: {command[0]}", f"{' '.join(command)}: {error}")


def _files_are_named(case: Case, result: tuple[Ran, ...]) -> Iterator[Finding]:
    """Who is refused for a file is told which."""
    for command, ran in zip(case.commands, result, strict=True):
        named = [
            name for name in (*case.files, "dump", "standard input") if name in command or name.startswith("dump/")
        ]
        refused = ran.status == 2 and command[0] != "explain" and "--pod" not in command
        said = f"{ran.err}{ran.out.decode(errors='replace')}"
        if case.kind in _OFFLINE and refused and not any(name in said for name in named):
            yield Finding(f"no file named: {_short(ran.err)}", f"{' '.join(command)}\n{ran.err[:1000]}")


def _accepted_is_planned(case: Case, result: tuple[Ran, ...]) -> Iterator[Finding]:
    """What the API server takes is usable; who is left out is named, and all others are there."""
    if not case.facts.accepted:
        return
    for command, ran in zip(case.commands, result, strict=True):
        is_plan = ran.status == 0 or _is_plan_with_problems(command, ran)
        if not is_plan and command[0] != "explain":
            yield Finding(f"refused: {_short(ran.err)}", f"{' '.join(command)}\n{ran.err[:2000]}")
        elif command[0] == "plan" and "json" in command and is_plan:
            yield from _missing_pods(case, ran)


def _missing_pods(case: Case, ran: Ran) -> Iterator[Finding]:
    planned = msgspec.json.decode(ran.out)["summary"]["pods"]
    unnamed = [pod for pod in case.facts.suspects if pod not in ran.err]
    least = len(set(case.facts.pods) & set(unnamed)) + len(set(case.facts.pods) - set(case.facts.suspects))
    if planned < least:
        yield Finding("left out, and not named", f"{planned} pods of {len(case.facts.pods)}\n{ran.err[:2000]}")


def _valid_makes_a_plan(case: Case, result: tuple[Ran, ...]) -> Iterator[Finding]:
    """What ``policy validate`` calls valid, ``plan`` takes, but for what only the cluster shows."""
    first, last = result[0], result[-1]
    planned = last.status == 0 or _is_plan_with_problems(case.commands[-1], last)
    if case.facts.validated and first.status == 0 and not planned and not _CLUSTER_DEPENDENT.search(last.err):
        yield Finding(f"valid but refused: {_short(last.err)}", last.err[:2000])
    if case.facts.validated and first.status == 2 and planned:
        yield Finding(f"planned but not valid: {_short(first.out.decode(errors='replace'))}", first.err[:2000])


_RULES: tuple[Callable[[Case, tuple[Ran, ...]], Iterator[Finding]], ...] = (
    _same_again,
    _json_is_json,
    _files_are_named,
    _accepted_is_planned,
    _valid_makes_a_plan,
)


def _places(trace: str) -> str:
    """The innermost places of restow's own code in a traceback or in the stack of a crash."""
    found = _PLACE.findall(trace)
    stacked = "most recent call first" in trace
    return ", ".join(f"{file}:{line}" for file, line in (found[:2] if stacked else found[-2:])) or "?"


def _around(said: str, found: re.Match[str]) -> str:
    """The line up to what was found: its words, which say who wrote it."""
    return said[: found.start()].rsplit("\n", 1)[-1][-200:]


def _short(said: str) -> str:
    """The words of a sentence without its values."""
    return _DETAILS.sub("_", said.strip())[:120].replace("\n", " ")
