"""The values of the restow section."""

from __future__ import annotations

import msgspec
import pytest

from builders.policies import strategy_policy
from restow.descheduling.registry import plugins
from restow.errors import InputError
from restow.policies.load import load_policy
from restow.policies.policy import RestowSettings, Window


def read(**section: object) -> RestowSettings:
    policy = strategy_policy("RemoveDuplicates", restow=section)
    return load_policy(msgspec.json.encode(policy), "policy.json", plugins()).policy.restow


def test_all_of_it() -> None:
    window = {"start": "0 22 * * 1-5", "duration": "8h", "timeZone": "Europe/Berlin"}
    settings = read(
        namespaces="annotated", perWorkload="25%", waitForReady="10m", waitForBudget="90s", windows=[window]
    )
    assert (settings.per_workload, settings.wait_for_ready, settings.wait_for_budget) == ("25%", 600e9, 90e9)
    assert settings.namespaces == "annotated"
    assert settings.windows == (Window("0 22 * * 1-5", 8 * 3600 * 10**9, "Europe/Berlin"),)


def test_usage_is_read_as_it_is_written() -> None:
    usage = read(usage={"percentile": 95, "window": "2h", "cycles": 2, "ofCycles": 3, "perPod": "cpu"}).usage
    assert usage is not None
    assert (usage.percentile, usage.reach, usage.spacing) == (95.0, 7200 * 10**9, 120 * 10**9)
    assert (usage.cycles_in_all, usage.per_pod) == (3, "cpu")


def test_without_a_window_no_history_is_needed() -> None:
    usage = read(usage={}).usage
    assert usage is not None
    assert usage.reach == 0


@pytest.mark.parametrize("version", ["1.35", "v1.35.4", 1.35])
def test_the_schedulers_version_may_look_like_a_number(version: str | float) -> None:
    assert read(schedulerVersion=version).scheduler_minor == 35


def test_the_defaults() -> None:
    assert read() == RestowSettings()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"namespaces": "anotated"}, "must be all or annotated, not 'anotated'; did you mean \"annotated\"?"),
        ({"namespaces": ["shop"]}, "restow.namespaces: must be all or annotated, not ['shop']"),
        ({"namespace": "all"}, 'did you mean "namespaces"?'),
        ({"perWorkload": 0}, "restow.perWorkload: must be a whole number of 1 or more, or a percentage"),
        ({"perWorkload": "0%"}, "not '0%'"),
        ({"fenceShare": 0}, "restow.fenceShare: must be a whole number of 1 or more, or a percentage"),
        ({"fenceShare": "half"}, "not 'half'"),
        (
            {"replacement": "surgery"},
            "must be annotated or auto or evict or reserve or rollout or surge, not 'surgery'; did you mean \"surge\"?",
        ),
        ({"steering": "hedge"}, "must be auto or fence or nominate or none or prefer"),
        ({"perWorkload": "half"}, "not 'half'"),
        (
            {"schedulerVersion": "1.20"},
            "restow.schedulerVersion: 1.20 is none of them: restow knows kube-scheduler 1.33 to 1.37",
        ),
        ({"schedulerVersion": 2}, "restow.schedulerVersion: 2.0 is none of them"),
        ({"perWorkload": "101%"}, "not '101%'"),
        ({"perWorkload": "9" * 5000 + "%"}, f"not '{'9' * 199}…"),
        (
            {"windows": [{"start": "9" * 5000 + " * * * *", "duration": "1h"}]},
            "restow.windows[0].start: must be a cron",
        ),
        (
            {"windows": [{"start": "*/" + "9" * 5000 + " * * * *", "duration": "1h"}]},
            "windows[0].start: must be a cron",
        ),
        ({"windows": [{"start": "0 22 * * *", "duration": "9" * 5000 + "h"}]}, 'time: invalid duration "999'),
        ({"perWorkload": True}, "must be a whole number, or text such as 25%"),
        ({"perWorkload": 1.5}, "must be a whole number, or text such as 25%"),
        ({"waitForReady": "0s"}, "restow.waitForReady: must be longer than 0s"),
        ({"waitForBudget": "soon"}, "restow.waitForBudget: must be a duration"),
        ({"windows": [{"start": "0 22 * *", "duration": "1h"}]}, "restow.windows[0].start: must be a cron expression"),
        ({"windows": [{"start": "0 0 22 * * *", "duration": "1h"}]}, "must have five fields"),
        ({"windows": [{"start": "0 22 * * *"}]}, "restow.windows[0].duration: must be longer than 0s"),
        ({"windows": [{"start": "0 22 * * *", "duration": "1h", "timeZone": "Mars"}]}, "must be an IANA time zone"),
        ({"windows": [{"start": "0 22 * * *", "duration": "1h", "zone": "UTC"}]}, "zone"),
        ({"usage": {"percentil": 95}}, 'did you mean "percentile"?'),
        ({"usage": {"percentile": 0}}, "restow.usage.percentile: must be above 0, up to 100, not 0"),
        ({"usage": {"percentile": 101}}, "restow.usage.percentile: must be above 0, up to 100, not 101"),
        ({"usage": {"minSamples": 0}}, "restow.usage.minSamples: must be 1 or more, not 0"),
        ({"usage": {"cycles": 0}}, "restow.usage.cycles: must be 1 or more, not 0"),
        ({"replacementRules": [{"kinds": ["Deployment"]}]}, "restow.replacementRules[0]: has no replacement; add it"),
        ({"replacementRules": [{"replacement": "evict", "kinds": ["Job"]}]}, "replacementRules[0].kinds[0]: must be"),
        ({"usage": {"cycles": 3, "ofCycles": 2}}, "restow.usage.ofCycles: must be 3 (cycles) or more, not 2"),
        ({"usage": {"window": "0s"}}, "restow.usage.window: must be 1s or longer"),
        ({"usage": {"maxAge": "1ms"}}, "restow.usage.maxAge: must be 1s or longer"),
        ({"usage": {"step": "-1s"}}, "restow.usage.step: must be 1s or longer, or 0s"),
        ({"usage": {"trendGuard": "500ms"}}, "restow.usage.trendGuard: must be 1s or longer, or 0s"),
        ({"usage": {"percentile": 90, "window": "1m", "step": "2m"}}, "usage.step: must not be longer than 1m0s"),
        ({"usage": {"percentile": 90, "window": "24h", "step": "1s"}}, "usage.step: leaves more than 2000 values"),
        ({"usage": {"percentile": 90, "maxAge": "30s"}}, "usage.maxAge: must not be shorter than 1m0s, the step"),
        ({"usage": {"minSamples": 61}}, "restow.usage.minSamples: must be 60 or less: a window has no more values"),
        ({"usage": {"perPod": "disk"}}, "restow.usage.perPod: must be cpu or memory"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(section: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as refused:
        read(**section)
    assert said in str(refused.value)
