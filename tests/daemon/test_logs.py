"""Lines of the log, in both forms. Texts and keys are upstream's: operators search for them."""

from __future__ import annotations

import io
import json
import re

import pytest

from builders.hostile import HALF, OBEYED, is_harmless
from restow.daemon import log_lines
from restow.daemon.logs import Log, Ref
from restow.kube.timestamps import parse_time

NOW = parse_time("2026-11-21T12:00:00Z") + 123_456_789
POD = Ref("shop", "web-1")


class Written:
    """A log, and what is in it."""

    def __init__(self, form, verbosity=9):
        self.stream = io.StringIO()
        self.log = Log(self.stream, form, verbosity, lambda: NOW)

    @property
    def lines(self):
        return self.stream.getvalue()

    @property
    def told(self):
        """What follows the header of the one line."""
        return self.lines.partition("] ")[2].removesuffix("\n")

    @property
    def object(self):
        return json.loads(self.lines)


@pytest.fixture
def text():
    return Written("text")


@pytest.fixture
def jsons():
    return Written("json")


class TestLines:
    """Every line that upstream prints, as klog prints it."""

    @pytest.mark.parametrize(
        ("write", "expected"),
        [
            pytest.param(
                lambda log: log_lines.evicted(log, POD, reason="", strategy="PodLifeTime", node="n1", profile="p"),
                '"Evicted pod" pod="shop/web-1" reason="" strategy="PodLifeTime" node="n1" profile="p"',
                id="evicted",
            ),
            pytest.param(
                lambda log: log_lines.evicted(
                    log, POD, reason="old", strategy="S", node="n1", profile="p", dry_run=True, to="n2"
                ),
                '"Evicted pod in dry run mode" pod="shop/web-1" reason="old" strategy="S" node="n1" profile="p" to="n2"',
                id="dry run, with more",
            ),
            pytest.param(
                lambda log: log_lines.not_evicted(log, POD, OSError("no route"), reason="old"),
                '"Error evicting pod" err="no route" pod="shop/web-1" reason="old"',
                id="not evicted",
            ),
            pytest.param(
                lambda log: log_lines.limit_reached(log, "maximum reached", 2, node="n1"),
                '"Error evicting pod" err="maximum reached" limit=2 node="n1"',
                id="limit",
            ),
            pytest.param(
                lambda log: log_lines.fails_checks(log, POD, ["pod is a mirror pod"]),
                '"Pod fails the following checks" plugin="DefaultEvictor" ExtensionPoint="Filter" pod="shop/web-1" '
                'checks="pod is a mirror pod"',
                id="one check",
            ),
            pytest.param(
                lambda log: log_lines.fails_checks(log, POD, ["a", "b"]),
                '"Pod fails the following checks" plugin="DefaultEvictor" ExtensionPoint="Filter" pod="shop/web-1" '
                'checks="[a, b]"',
                id="two checks",
            ),
            pytest.param(log_lines.cycle_begins, "Resetting pod evictor counters", id="cycle begins"),
            pytest.param(
                lambda log: log_lines.strategy_done(log, "Deschedule", 1),
                '"Total number of evictions/requests" extension point="Deschedule" evictedPods=1 evictionRequests=0',
                id="strategy done",
            ),
            pytest.param(
                lambda log: log_lines.strategy_failed(log, "Balance", "p", "S", "no metrics"),
                '"running balance extension point failed with error" err="plugin \\"S\\" finished with error: '
                'no metrics" profile="p"',
                id="strategy failed",
            ),
            pytest.param(
                lambda log: log_lines.cycle_skipped(log, 1),
                '"Skipping descheduling cycle: requires >=2 nodes" found=1',
                id="skipped",
            ),
            pytest.param(
                lambda log: log_lines.cycle_done(log, 7),
                '"Number of evictions/requests" totalEvicted=7 evictionRequests=0',
                id="cycle done",
            ),
            pytest.param(
                lambda log: log_lines.serving(log, "0.0.0.0", 10258), "Serving securely on 0.0.0.0:10258", id="IPv4"
            ),
            pytest.param(lambda log: log_lines.serving(log, "::", 1), "Serving securely on [::]:1", id="IPv6"),
            pytest.param(
                lambda log: log_lines.candidate(log, "h_1"), "Assigned unique lease holder id: h_1", id="candidate"
            ),
            pytest.param(log_lines.leading, "Started leading", id="leading"),
            pytest.param(log_lines.leader_lost, "Leader lost", id="lost"),
            pytest.param(lambda log: log_lines.new_leader(log, "h_2"), "New leader elected: h_2", id="new leader"),
            pytest.param(
                log_lines.no_election_in_dry_run,
                "Warning: DryRun is set to True. You need to disable it to use Leader Election.",
                id="dry run without election",
            ),
            pytest.param(
                lambda log: log_lines.version_skew(log, "0.36.0", "v1.31.2"),
                "descheduler version 0.36.0 may not be supported on your version of Kubernetes v1.31.2.See "
                "compatibility docs for more info: "
                "https://github.com/kubernetes-sigs/descheduler#compatibility-matrix",
                id="skew",
            ),
        ],
    )
    def test_text(self, text, write, expected):
        write(text.log)
        assert text.told == expected

    def test_a_failed_run_is_told_twice(self, text):
        log_lines.failed(text.log, "no policy")
        assert text.lines.count('err="no policy"') == 2
        assert '"command failed"' in text.lines

    @pytest.mark.parametrize(
        ("write", "verbosity"),
        [
            (lambda log: log_lines.evicted(log, POD, reason="", strategy="", node="", profile=""), 1),
            (lambda log: log_lines.cycle_done(log, 0), 1),
            (lambda log: log_lines.strategy_done(log, "Balance", 0), 1),
            (lambda log: log_lines.cycle_skipped(log, 0), 0),
            (lambda log: log_lines.candidate(log, ""), 3),
            (log_lines.cycle_begins, 3),
            (lambda log: log_lines.fails_checks(log, POD, ["x"]), 4),
        ],
    )
    def test_verbosity(self, write, verbosity):
        quiet, told = Written("text", verbosity - 1), Written("text", verbosity)
        write(quiet.log)
        write(told.log)
        assert quiet.lines == ""
        assert told.lines


class TestText:
    def test_the_header_is_klogs(self, text):
        text.log.info("x", v=0, key=1)
        assert re.fullmatch(r'I1121 \d\d:00:00\.123456 +\d+ test_logs\.py:\d+\] "x" key=1\n', text.lines)

    def test_who_logs_is_who_calls_a_line_too(self, text):
        log_lines.leading(text.log)
        assert " test_logs.py:" in text.lines

    @pytest.mark.parametrize(("method", "letter"), [("info", "I"), ("warning", "W"), ("error", "E")])
    def test_severities(self, text, method, letter):
        getattr(text.log, method)("x", *["error"] * (method == "error"))
        assert text.lines.startswith(letter)

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            ("a b", '"a b"'),
            ('say "x"\\\t\x01', '"say \\"x\\"\\\\\\t\\x01"'),
            ("zoë", '"zoë"'),
            (True, "true"),
            (3, "3"),
            (0.5, "0.5"),
            (None, "<nil>"),
            (Ref("", "n1"), '"n1"'),
            (["a", "b"], '["a", "b"]'),
            ({"a": 1}, '{"a": 1}'),
            (ValueError("no"), '"no"'),
            ("one\ntwo", "<\n\tone\n\ttwo\n >"),
        ],
    )
    def test_values(self, text, value, written):
        text.log.info("x", key=value)
        assert text.told == f'"x" key={written}'

    def test_nobody_writes_lines_of_his_own(self, text):
        """Whatever a message or a name holds, a line that begins with a header is the log's."""
        forged = "x\nE1121 12:00:00.000000       1 a.go:1] forged"
        text.log.info(forged)
        text.log.info(forged, key="x")
        text.log.info("x", pod=Ref(forged, forged))
        assert not re.search(r"^E", text.lines, re.MULTILINE)


class TestJson:
    def test_an_eviction(self, jsons):
        log_lines.evicted(jsons.log, POD, reason="", strategy="PodLifeTime", node="n1", profile="p")
        line = jsons.object
        assert re.fullmatch(r"daemon/test_logs\.py:\d+", line.pop("caller"))
        assert line == {
            "ts": NOW / 1e6,
            "msg": "Evicted pod",
            "v": 1,
            "pod": {"name": "web-1", "namespace": "shop"},
            "reason": "",
            "strategy": "PodLifeTime",
            "node": "n1",
            "profile": "p",
        }

    def test_an_error_has_no_verbosity(self, jsons):
        log_lines.not_evicted(jsons.log, POD, "no", reason="")
        assert jsons.object["err"] == "no"
        assert "v" not in jsons.object

    def test_any_value_is_one_line(self, jsons):
        jsons.log.info("a\nb", key="c\nd", other=object(), nested={"x": ["\n"]})
        assert jsons.lines.count("\n") == 1
        assert jsons.object["key"] == "c\nd"


@pytest.mark.parametrize("form", ["text", "json"])
class TestHostileText:
    """Names and messages are other people's words."""

    def test_is_shown_and_not_obeyed_wherever_it_stands(self, form):
        written, text = Written(form), f"größe {OBEYED}{HALF}"
        written.log.info(text, v=0, key=text, pod=Ref(text, text), list=[text], map={text: text}, other=OSError(text))
        written.log.info(text)
        written.log.warning(text)
        written.log.error(text, ValueError(text), key=text)
        assert is_harmless(written.lines)
        assert "größe" in written.lines

    def test_is_on_one_line_of_a_sentence(self, form):
        written = Written(form)
        written.log.info(f"pod {OBEYED}")
        assert written.lines.count("\n") == 1


class TestJsonIsJson:
    def test_whatever_is_logged(self, jsons):
        values = {"text": f"{OBEYED}{HALF}", "inf": float("inf"), "nan": float("nan"), "none": None, "bytes": b"\xff"}
        jsons.log.info("x", **values, nested={"list": [float("nan")]})
        told = json.loads(jsons.lines, parse_constant=pytest.fail)
        assert told["text"] == f"{OBEYED}{HALF}"
        assert (told["inf"], told["none"]) == ("inf", None)

    def test_a_secret_in_any_object_is_hidden(self, jsons):
        class Proxy:
            def __str__(self):
                return "http://me:hunter2@proxy"

        jsons.log.info("x", key=Proxy())
        assert "hunter2" not in jsons.lines


SECRETS = [
    "Bearer abcdefgh12345678",
    "authorization: basic dXNlcjpwYXNzd29yZA==",
    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl",
    "https://user:hunter2hunter2@example.org/",
    "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIGb\n-----END EC PRIVATE KEY-----",
    "https://x/?access_token=0123456789",
]


@pytest.mark.parametrize("form", ["text", "json"])
class TestSecrets:
    @pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
    def test_are_hidden_wherever_they_come_from(self, form, secret):
        written = Written(form)
        written.log.info(secret)
        written.log.info(secret, key="x")
        written.log.warning(f"it said {secret} and more")
        written.log.error("x", ValueError(secret), key=secret, list=[secret], map={"key": secret})
        for part in ("abcdefgh", "dXNlcjpw", "eyJzdWIi", "hunter2", "MHcCAQ", "0123456789"):
            assert part not in written.lines
        assert written.lines.count("[hidden]") >= 6

    @pytest.mark.parametrize("key", ["token", "authToken", "password", "client_secret", "privateKey", "Authorization"])
    def test_are_hidden_by_their_names(self, form, key):
        written = Written(form)
        written.log.info("x", **{key: "plain"}, map={key: "plain"})
        assert "plain" not in written.lines

    def test_names_of_files_and_objects_are_not_secret(self, form):
        written = Written(form)
        written.log.info("x", file="/etc/tls/tls.key", pod=Ref("kube-system", "token-cleaner-1"))
        assert "[hidden]" not in written.lines


def test_a_reader_that_has_gone_is_no_reason_to_stop():
    class Closed(io.StringIO):
        tries = 0

        def write(self, _text):
            self.tries += 1
            raise BrokenPipeError

    closed = Closed()
    log = Log(closed)
    log.info("x")
    log.info("y")
    assert closed.tries == 2


def test_nothing_is_set_up_by_importing():
    import logging

    Log(io.StringIO()).info("x")
    assert not [name for name in logging.root.manager.loggerDict if name.startswith("restow")]
