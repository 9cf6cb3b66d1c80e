"""``restow tune``: the settings of a policy that do best in simulated futures."""

from __future__ import annotations

from functools import partial
from typing import Annotated, BinaryIO, Final

from cyclopts import App, Group, Parameter

from restow.cli.go_flags import duration
from restow.cli.options import PATHS, Now, PolicyConfigFile, TableOrJson, Verbosity, time_span
from restow.cli.terminal import Terminal, end_in_order, write_result
from restow.errors import InputError

_EXAMPLES: Final = """Examples:
  restow tune -f scenario.yaml --policy-config-file policy.yaml \\
    --space space.yaml --objective 'evictions + 0.1 * belowSeconds'
  restow tune -f cluster.json --for 24h --policy-config-file policy.yaml \\
    --space space.yaml --objective cpuSpread --objective evictions \\
    --trials 200 --write tuned.yaml
  restow tune -f scenario.yaml --space space.yaml --objective evictions \\
    --engine kubernetes --engine-config cluster.yaml -o json

A space:
  apiVersion: restow.dev/v1alpha1
  kind: TuningSpace
  settings:
    - path: profiles.default.pluginConfig.LowNodeUtilization.args.thresholds.cpu
      from: 10
      to: 50
      step: 5
    - {path: descheduler.every, choices: [5m, 15m, 1h]}
"""

app = App(
    name="tune",
    usage="restow tune -f PATH --space FILE --objective FORMULA [OPTIONS]",
    help_epilogue=_EXAMPLES,
    sort_key=10,
)

_FILES = (
    "A scenario, a dump of a cluster, or a recording, as for restow simulate. Repeatable, with one scenario at most."
)
_POLICY = "DeschedulerPolicy whose settings are searched. Default: a bundled policy."
_SPACE = "Settings that are searched, with a range or choices each, or - for standard input."
_OBJECTIVE = (
    "What to make small: a formula of evictions, inVain, movedAgain, pendingPodSeconds, belowSeconds, nodesInUse, cpuSpread, "
    "memorySpread, quietAfterSeconds and failed. Repeatable: several objectives have a front of best policies."
)
_SEEDS = "How many futures each trial runs in, and how many fresh ones the best are compared in. Default: 10."
_RESULTS = "Directory that gets the results as they come, a line of JSON for each future."
_RESUME = "Go on with the search in the directory of --results, if there is one: only futures that are missing run."
_WRITE = "File for the best policy."

_Files = Annotated[list[str] | None, PATHS, Parameter(name=["-f", "--filename"], metavar="PATH", help=_FILES)]
_Policy = Annotated[PolicyConfigFile, Parameter(help=_POLICY)]
_Space = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_SPACE)]
_Objectives = Annotated[
    list[str] | None, Parameter(name="--objective", metavar="FORMULA", negative=(), help=_OBJECTIVE)
]
_Trials = Annotated[int, Parameter(metavar="N", help="How many values are tried.")]
_Seeds = Annotated[int, Parameter(metavar="N", help=_SEEDS, show_default=False)]
_For = Annotated[
    int | None,
    time_span(Group.create_default_parameters(), "Virtual time of a future. Default: the scenario's.", duration),
    Parameter(name="--for"),
]
_From = Annotated[str | None, Parameter(name="--from", metavar="TIME", help="Of a recording, when the replay begins.")]
_To = Annotated[str | None, Parameter(metavar="TIME", help="Of a recording, when the replay ends.")]
_Seed = Annotated[
    int | None, Parameter(metavar="N", help="Seed of the futures and the search. Default: the scenario's, or 1.")
]
_Engine = Annotated[str, Parameter(metavar="NAME", help="Where futures run, as for restow simulate --compare.")]
_Workers = Annotated[int | None, Parameter(metavar="N", help="How many futures run at a time.")]
_EngineConfig = Annotated[str | None, PATHS, Parameter(metavar="FILE", help="What the engine has to know.")]
_Results = Annotated[str | None, PATHS, Parameter(metavar="DIRECTORY", help=_RESULTS)]
_Resume = Annotated[bool, Parameter(negative=(), show_default=False, help=_RESUME)]
_Write = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_WRITE)]


@app.default
def tune(
    *,
    filename: _Files = None,
    policy_config_file: _Policy = None,
    space: _Space = None,
    objective: _Objectives = None,
    trials: _Trials = 60,
    seeds: _Seeds = 10,
    for_: _For = None,
    from_: _From = None,
    to: _To = None,
    now: Now = None,
    seed: _Seed = None,
    engine: _Engine = "local",
    workers: _Workers = None,
    engine_config: _EngineConfig = None,
    results: _Results = None,
    resume: _Resume = False,
    write: _Write = None,
    output: TableOrJson = "table",
    verbose: Verbosity = 0,
) -> int:
    """Search the settings of a policy that do best in simulated futures.

    Each trial is the policy with other values of the settings in the space. What is found is compared with the policy as it
    is, and with one that never moves anything, in fresh futures. Needs pip install 'restow[tune]'.
    """
    from restow.application.engines import read_engine
    from restow.application.files import check_target, write_file
    from restow.application.simulating import ScenarioRequest
    from restow.application.tuning import TuningRequest
    from restow.application.tuning import tune as run
    from restow.reporting.tuning_table import print_tuning

    if space is None:
        raise InputError("--space is missing: name the file with the settings that are searched")
    if resume and results is None:
        raise InputError("--resume goes with --results: --results run --resume")
    if write is not None:
        check_target(write)
    scenario = ScenarioRequest(
        tuple(filename or ()), for_, until_stable=False, now=now, seed=seed, since=from_, until=to
    )
    where = read_engine(engine, workers, engine_config)
    request = TuningRequest(
        scenario, policy_config_file, space, tuple(objective or ()), trials, seeds, where, results, resume
    )
    if engine != "local":
        end_in_order()
    feedback = Terminal()
    found = run(request, feedback)
    if write is not None:
        write_file(write, partial(_put, found.policy))
    write_result(found.result, output, print_tuning, page="")
    feedback.warn_of_timings(verbose)
    return 0


def _put(text: str, stream: BinaryIO) -> None:
    stream.write(text.encode())
