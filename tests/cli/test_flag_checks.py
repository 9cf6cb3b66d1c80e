"""What flags may ask for."""

from __future__ import annotations

import re

import pytest

from restow.cli.daemon_flags import ignored_flags
from restow.cli.go_flags import boolean, comma_list, gates_of, is_gate_open, key_pair
from restow.cli.run_flags import Flags
from restow.cli.run_settings import check_flags
from restow.errors import InputError
from restow.kube.duration import SECOND

LEADING = {"leader_elect": True, "descheduling_interval": 60 * SECOND}


def test_the_defaults_are_fine():
    check_flags(Flags())


@pytest.mark.parametrize(
    "flags",
    [
        LEADING,
        {"secure_port": 0},
        {"secure_port": -1},
        {"bind_address": "::"},
        {"client_connection_qps": -1.0},
        {"client_connection_qps": 50.0, "client_connection_burst": 100},
        {"tls_min_version": "VersionTLS13", "tls_cipher_suites": ("TLS_AES_128_GCM_SHA256",)},
        {"feature_gates": ("EvictionsInBackground=true", "AllBeta=false")},
        {"tls_sni_cert_key": ("a.crt,a.key:a.example,*.b.example",)},
        {"leader_elect_lease_duration": 0},
        {"max_pods_to_evict_per_node": 0},
    ],
    ids=str,
)
def test_what_is_fine(flags):
    check_flags(Flags(**flags))


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"logging_format": "xml"}, '--logging-format "xml" is unknown; there are text and json'),
        ({"descheduling_interval": -SECOND}, "--descheduling-interval -1s is negative; 0 runs one cycle"),
        (
            {"shadow": True},
            "--shadow watches what others evict, until it is stopped: add --descheduling-interval, such as 5m",
        ),
        ({"shadow_reports": "x"}, "--shadow-reports goes with --shadow"),
        ({"history_days": 0}, "--history-days 0 keeps nothing; it must be 1 or more"),
        ({"feature_gates": ("Foo=true",)}, "--feature-gates: unrecognized feature gate: Foo"),
        ({"feature_gates": ("AllAlpha",)}, "--feature-gates: missing bool value for AllAlpha"),
        (
            {"feature_gates": ("AllAlpha=x",)},
            '--feature-gates: invalid value of AllAlpha=x, err: strconv.ParseBool: parsing "x": invalid syntax',
        ),
        (
            {"client_connection_qps": 5.0},
            (
                "--client-connection-burst: burst is required to be greater than 0 when RateLimiter is not set and QPS is "
                "set to greater than 0"
            ),
        ),
        ({"secure_port": 99999}, "--secure-port 99999: invalid port; it must be between 0 and 65535"),
        (
            {"bind_address": "localhost"},
            "--bind-address: 'localhost' does not appear to be an IPv4 or IPv6 address",
        ),
        (
            {"tls_cert_file": "a"},
            "--tls-cert-file and --tls-private-key-file go together: one of them is missing",
        ),
        (
            {"tls_min_version": "1.2"},
            (
                '--tls-min-version: unknown tls version "1.2"; known are VersionTLS10, VersionTLS11, VersionTLS12, '
                "VersionTLS13"
            ),
        ),
        ({"tls_cipher_suites": ("X",)}, "--tls-cipher-suites: Cipher suite X not supported or doesn't exist"),
        (
            {"tls_sni_cert_key": ("a",)},
            "--tls-sni-cert-key: expected comma separated certificate and key file paths",
        ),
        (
            {"tls_sni_cert_key": ("a,b",)},
            '--tls-sni-cert-key "a,b" does not say for which names: write cert,key:names',
        ),
        (
            {"leader_elect": True},
            "--leader-elect: leaderElection must be used with deschedulingInterval (--descheduling-interval)",
        ),
        (
            {**LEADING, "leader_elect_resource_lock": "configmaps"},
            (
                "leaderElection: unable to create leader election lock: configmaps lock is removed, migrate to leases "
                "(--leader-elect-resource-lock)"
            ),
        ),
        (
            {**LEADING, "leader_elect_resource_lock": "paper"},
            "leaderElection: Invalid lock-type paper (--leader-elect-resource-lock); it must be leases",
        ),
        (
            {**LEADING, "leader_elect_resource_namespace": ""},
            "leaderElection: namespace may not be empty (--leader-elect-resource-namespace)",
        ),
        (
            {**LEADING, "leader_elect_resource_name": ""},
            "leaderElection: name may not be empty (--leader-elect-resource-name)",
        ),
        ({**LEADING, "leader_elect_retry_period": 0}, "--leader-elect: retryPeriod must be greater than zero"),
        (
            {**LEADING, "leader_elect_lease_duration": 107 * SECOND},
            "--leader-elect: leaseDuration must be greater than renewDeadline",
        ),
        (
            {**LEADING, "leader_elect_retry_period": 90 * SECOND},
            "--leader-elect: renewDeadline must be greater than retryPeriod*JitterFactor",
        ),
        (
            {"max_pods_to_evict_per_node": -1},
            "--max-pods-to-evict-per-node -1 is negative; 0 is no limit",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_is_a_sentence(flags, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        check_flags(Flags(**flags))


class TestGates:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ((), False),
            (("EvictionsInBackground=true",), True),
            (("AllAlpha=true",), True),
            (("AllBeta=true",), False),
            (("AllAlpha=true,EvictionsInBackground=false",), False),
            (("EvictionsInBackground=true", "EvictionsInBackground=false"), False),
        ],
        ids=str,
    )
    def test_open(self, given, expected):
        assert is_gate_open(given, "EvictionsInBackground") is expected

    def test_spaces_do_not_matter(self):
        assert gates_of([" AllAlpha = 1 , "]) == {"AllAlpha": True}


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_true_as_go_reads_it(text):
    assert boolean(text)
    assert not boolean({"1": "0", "t": "f", "T": "F", "TRUE": "FALSE", "true": "false", "True": "False"}[text])


def test_lists():
    assert comma_list(["a, b", "", "c"]) == ("a", "b", "c")


def test_a_pair_of_files_and_its_names():
    assert [str(each) for each in key_pair("a.crt,a.key:x,y")[:2]] == ["a.crt", "a.key"]
    assert key_pair("a.crt,a.key:x,y")[2] == ("x", "y")


#: Address sharing and the flush frequency are not among them: restow always does both.
IGNORED = (
    "cert_dir",
    "tls_curve_preferences",
    "enable_http2",
    "disable_http2_serving",
    "http2_max_streams_per_connection",
    "vmodule",
    "log_text_split_stream",
    "log_json_split_stream",
    "log_text_info_buffer_size",
    "log_json_info_buffer_size",
)


class TestIgnoredFlags:
    def test_nothing_is_said_of_what_was_not_given(self):
        assert list(ignored_flags(Flags())) == []

    @pytest.mark.parametrize("name", IGNORED)
    def test_each_is_told_of(self, name):
        other = {bool: True, str: "x", int: 1, tuple: ("x",)}[type(getattr(Flags(), name))]
        (sentence,) = ignored_flags(Flags(**{name: other}))
        assert sentence.startswith(f"--{name.replace('_', '-')} has no effect: ")

    def test_nothing_is_said_of_a_flag_with_an_effect(self):
        others = {"permit_address_sharing": True, "log_flush_frequency": 1, "dry_run": True}
        assert list(ignored_flags(Flags(**others))) == []
