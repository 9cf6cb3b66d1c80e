"""``restow simulate``: scenarios, in which a cluster, its controllers and a policy run in virtual time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple

from cyclopts import App, Group, Parameter

from restow import garbage
from restow.cli.go_flags import duration
from restow.cli.options import PATHS, Now, PolicyConfigFile, TableOrJson, Verbosity, time_span
from restow.cli.terminal import Terminal, end_in_order, timed, write_pieces, write_result
from restow.errors import InputError

if TYPE_CHECKING:
    from restow.application.comparing import ComparisonRequest
    from restow.application.simulating import ScenarioRequest

#: The exit status of a run that is not as expected.
FAILED_EXPECTATION: Final = 3

_SIMULATE = """Examples:
  restow simulate -f scenario.yaml
  restow simulate -f scenario.yaml --policy-config-file policy.yaml
  restow simulate -f cluster.json --policy-config-file policy.yaml \\
    --until stable
  restow simulate -f scenario.yaml -f cluster.json --for 24h --seed 7
  restow simulate -f scenario.yaml -o html > run.html
  restow simulate -f recording --from 2026-11-21T09:00:00Z \\
    --to 2026-11-21T10:00:00Z --policy-config-file policy.yaml
  restow simulate -f scenario.yaml -o json | jq .summary
  restow simulate -f scenario.yaml --compare today.yaml proposed.yaml
  restow simulate -f scenario.yaml --compare today.yaml proposed.yaml \
    --seeds 1000 --results run --engine kubernetes --workers 200 \
    --engine-config cluster.yaml
  restow simulate --replay run.json --at 3h > then.json
  restow simulate check -f scenario.yaml
"""

app = App(name="simulate", usage="restow simulate -f PATH [OPTIONS]", help_epilogue=_SIMULATE, sort_key=10)

_FINDINGS = "ScenarioFindings"
_CHECK = f"""Examples:
  restow simulate check -f scenario.yaml
  restow simulate check -f node-fails.yaml -f rollout.yaml -o json

The JSON document:
  {{"apiVersion": "restow.dev/v1alpha1", "kind": "{_FINDINGS}",
   "findings": [{{"file": "scenario.yaml", "line": 14,
                 "severity": "error|warning|note",
                 "path": "events[0].scale", "message": "...",
                 "hint": "..."}}],
   "summary": {{"files": 1, "errors": 1, "warnings": 0, "notes": 0}}}}
"""

_FILES = (
    "A scenario, or - for one on standard input; a dump of a cluster, a file or a directory, whose objects are there "
    "at the start; or the directory of a recording. Repeatable, with one scenario and one recording at most."
)
_POLICY = (
    "DeschedulerPolicy of the descheduler in the simulation, in place of the scenario's. Default: the scenario's; of a "
    "dump without a scenario a bundled policy."
)
_FOR = "Virtual time to simulate, such as 24h. Default: the scenario's."
_UNTIL = (
    "stable ends the run as soon as nothing has changed for 10 minutes and two cycles of the descheduler, at the latest "
    "after --for, or else 24h."
)
_FROM = "Of a recording, when the replay begins, such as 2026-11-21T09:00:00Z. Default: where the recording begins."
_TO = "Of a recording, when the replay ends. Default: where the recording ends."
_NOW = "When the virtual time begins, such as 2026-11-21T00:00:00Z. Default: as the scenario says, or now."
_SEED = "Seed for all random choices. Default: the scenario's, or 1."
_COMPARE = (
    "Compare two policies or more: run each in the same futures, on all cores, and say which is better in what. The first "
    "is the one that the others are held against."
)
_ENGINE = (
    "Where the futures of --compare run: local, processes of this machine; kubernetes, a Job in a cluster; dask or ray, which "
    "are installed separately; or an engine of an installed package. The results are the same. Default: local."
)
_WORKERS = "How many futures run at a time. Default: one for each core; 10 pods with --engine kubernetes."
_ENGINE_CONFIG = "YAML or JSON with what an engine has to know, such as the image of the pods, or - for standard input."
_RESULTS = "Directory that gets the results of --compare as they come, a line of JSON for each future."
_RESUME = "Go on with the run in the directory of --results, if there is one: only futures that are missing run."
_SEEDS = "How many futures there are for --compare: seeds from --seed on. Default: 20."
_REPLAY = (
    "Write the cluster as it was at a moment of a run, as a dump for -f of restow plan, explain and simulate. RESULT is "
    "what -o json wrote; it names the files that it was made from, which must not have changed."
)
_AT = "The moment for --replay, such as 3h: before anything happens that happens then."

_Files = Annotated[list[str] | None, PATHS, Parameter(name=["-f", "--filename"], metavar="PATH", help=_FILES)]
_Policy = Annotated[PolicyConfigFile, Parameter(help=_POLICY)]
_For = Annotated[int | None, time_span(Group.create_default_parameters(), _FOR, duration), Parameter(name="--for")]
_Until = Annotated[Literal["stable"] | None, Parameter(metavar="stable", help=_UNTIL)]
_Now = Annotated[Now, Parameter(help=_NOW)]
_From = Annotated[str | None, Parameter(name="--from", metavar="TIME", help=_FROM)]
_To = Annotated[str | None, Parameter(metavar="TIME", help=_TO)]
_Seed = Annotated[int | None, Parameter(metavar="N", help=_SEED)]
_Compare = Annotated[
    list[str] | None, Parameter(name="--compare", metavar="FILE FILE...", consume_multiple=True, help=_COMPARE)
]
_Seeds = Annotated[int | None, Parameter(metavar="N", help=_SEEDS)]
_Engine = Annotated[str | None, Parameter(metavar="NAME", help=_ENGINE)]
_Workers = Annotated[int | None, Parameter(metavar="N", help=_WORKERS)]
_EngineConfig = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_ENGINE_CONFIG)]
_Results = Annotated[str | None, PATHS, Parameter(metavar="DIRECTORY", help=_RESULTS)]
_Resume = Annotated[bool | None, Parameter(negative=(), help=_RESUME)]
_Replay = Annotated[str | None, PATHS, Parameter(metavar="RESULT", help=_REPLAY)]
_At = Annotated[int | None, time_span(Group.create_default_parameters(), _AT, duration)]
_Form = Annotated[
    Literal["table", "json", "html"],
    Parameter(name=["-o", "--output"], metavar="FORM", help="table, json or html, a page with charts."),
]


@app.default
def simulate(
    *,
    filename: _Files = None,
    policy_config_file: _Policy = None,
    for_: _For = None,
    until: _Until = None,
    from_: _From = None,
    to: _To = None,
    now: _Now = None,
    seed: _Seed = None,
    compare: _Compare = None,
    seeds: _Seeds = None,
    engine: _Engine = None,
    workers: _Workers = None,
    engine_config: _EngineConfig = None,
    results: _Results = None,
    resume: _Resume = None,
    replay: _Replay = None,
    at: _At = None,
    output: _Form = "table",
    verbose: Verbosity = 0,
) -> int:
    """Simulate a cluster, its controllers and a policy in virtual time, and show the results.

    A scenario says what there is at the start, what happens when, and what is expected; a dump of a cluster is enough to
    see what a policy does to it. But for --engine, nothing outside is read or changed. The same input with the same seed
    has the same result. Exit status: 3 if an expectation fails.
    """
    from restow.application.simulating import ScenarioRequest

    of_comparisons = {
        "--seeds": seeds,
        "--engine": engine,
        "--workers": workers,
        "--engine-config": engine_config,
        "--results": results,
        "--resume": resume,
    }
    if replay is not None:
        others = [filename, policy_config_file, for_, until, from_, to, now, seed, compare, *of_comparisons.values()]
        is_alone = all(each is None for each in others) and output == "table"
        _refuse(not is_alone, "--replay makes the run of RESULT again; leave everything but --at out")
        return _replay(replay, at, verbose)
    _refuse(at is not None, "--at goes with --replay: --replay run.json --at 3h")
    scenario = ScenarioRequest(tuple(filename or ()), for_, until == "stable", now, seed, from_, to)
    if compare is not None:
        _refuse(policy_config_file is not None, "--compare names the policies; leave --policy-config-file out")
        _refuse(bool(resume) and results is None, "--resume goes with --results: --results run --resume")
        request = _comparison(scenario, compare, seeds, results, resumes=bool(resume))
        return _compare(request, _Where(engine or "local", workers, engine_config), output, verbose)
    odd = next((option for option, given in of_comparisons.items() if given is not None), "")
    _refuse(bool(odd), f"{odd} goes with --compare{'; one run has --seed' * (odd == '--seeds')}")
    return _simulate(scenario, policy_config_file, output, verbose)


def _refuse(is_odd: bool, sentence: str) -> None:  # noqa: FBT001 - as an assertion
    """Raise InputError where an option is given that does not go with the others."""
    if is_odd:
        raise InputError(sentence)


def _simulate(scenario: ScenarioRequest, policy: str | None, output: str, verbose: int) -> int:
    from restow.application.simulating import SimulationRequest
    from restow.application.simulating import simulate as run
    from restow.reporting.simulation_table import print_simulation

    garbage.collect()
    feedback = Terminal()
    result = run(SimulationRequest(scenario, policy), feedback)
    write_result(result, output, print_simulation, "restow.reporting.html.simulation")
    feedback.warn_of_timings(verbose)
    return FAILED_EXPECTATION if result.summary.failed else 0


def _replay(result: str, at: int | None, verbose: int) -> int:
    from restow.application.replaying import ReplayRequest, replay

    garbage.collect()
    feedback = Terminal()
    replayed = replay(ReplayRequest(result, at), feedback)
    write_pieces(replayed.dump)
    feedback.warn(replayed.advice)
    feedback.warn_of_timings(verbose)
    return 0


class _Where(NamedTuple):
    """Where futures run, as it is written."""

    engine: str
    workers: int | None
    config: str | None


def _comparison(
    scenario: ScenarioRequest, policies: list[str], seeds: int | None, results: str | None, *, resumes: bool
) -> ComparisonRequest:
    from restow.application.comparing import FUTURES, ComparisonRequest

    futures = FUTURES if seeds is None else seeds
    return ComparisonRequest(scenario, tuple(policies), futures, results=results, resumes=resumes)


def _compare(request: ComparisonRequest, where: _Where, output: str, verbose: int) -> int:
    from restow.application.comparing import compare
    from restow.application.engines import read_engine
    from restow.reporting.comparison_table import print_comparison

    feedback = Terminal()
    engine = read_engine(where.engine, where.workers, where.config)
    if where.engine != "local":
        # What runs elsewhere does not end with this process: it has to be taken away.
        end_in_order()
    found = compare(replace(request, engine=engine), feedback)
    write_result(found, output, print_comparison, "restow.reporting.html.comparison")
    feedback.warn_of_timings(verbose)
    return 0


Scenarios = Annotated[
    list[str] | None,
    PATHS,
    Parameter(
        name=["-f", "--filename"],
        metavar="PATH",
        help="A scenario, or - for standard input. Repeatable. Files that it names are read and checked too.",
    ),
]


@app.command(usage="restow simulate check -f SCENARIO [OPTIONS]", help_epilogue=_CHECK, sort_key=1)
def check(*, filename: Scenarios = None, output: TableOrJson = "table", verbose: Verbosity = 0) -> int:
    """Check a scenario for errors and for parts without effect, without running it.

    Errors are what cannot be used, warnings what never happens, notes what is worth knowing. Exit status: 2 if there are
    errors, otherwise 0.
    """
    from restow.application.simulating import check_scenarios
    from restow.cli import file_findings

    with timed("check", verbose):
        found = check_scenarios(filename or [])
    file_findings.write(found, output, _FINDINGS, file_findings.advice)
    return file_findings.exit_status(found)


_Parcel = Annotated[str, PATHS, Parameter(metavar="DIRECTORY", help="Directory with the files of the parcel.")]
_Digest = Annotated[str, Parameter(metavar="HEX", help="Digest of the parcel.")]
_ForVersion = Annotated[str, Parameter(metavar="VERSION", help="Version of restow that has made the Job.")]
_Message = Annotated[str, PATHS, Parameter(metavar="FILE", help="File for the termination message.")]


@app.command(show=False, help_epilogue="")
def index(*, parcel: _Parcel, sha256: _Digest, for_version: _ForVersion, output: _Message) -> int:
    """Run the futures of one index of a Job, for the pods of --engine kubernetes.

    Which index it is says the variable JOB_COMPLETION_INDEX.
    """
    from restow.application.engines import make_index_of_job

    make_index_of_job(parcel, sha256, for_version, output)
    return 0
