"""What a kubeconfig comes down to, and what is said of one that cannot be used."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trustme

from client.configurations import a_kubeconfig
from restow.client.connection import find_endpoint, kubeconfig_endpoint
from restow.client.credentials import Endpoint
from restow.client.errors import NoCredentials
from restow.errors import InputError

AUTHORITY = trustme.CA()
CERTIFICATE = AUTHORITY.issue_cert("client")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


CHAIN = encoded(b"".join(blob.bytes() for blob in CERTIFICATE.cert_chain_pems))
KEY = encoded(CERTIFICATE.private_key_pem.bytes())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config"


def read(paths: str, context: str | None = None, environ: Mapping[str, str] | None = None) -> Endpoint:
    return kubeconfig_endpoint(paths, context, environ or {})


async def headers(endpoint: Endpoint) -> dict[str, str]:
    return dict((await endpoint.credentials.identity()).headers)


def test_server_and_origin(file: Path) -> None:
    endpoint = read(a_kubeconfig(file, server="https://api.example.com:6443/prefix/"))

    assert endpoint.server == "https://api.example.com:6443/prefix"
    assert endpoint.origin == f"{file}, context test"
    assert endpoint.warnings == ()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param({"token": "t"}, {"Authorization": "Bearer t"}, id="token"),
        pytest.param({"username": "u", "password": "p"}, {"Authorization": "Basic dTpw"}, id="password"),
        pytest.param({"username": "u"}, {"Authorization": "Basic dTo="}, id="name without a password"),
        pytest.param(
            {"username": "u", "password": "p", "exec": {"apiVersion": "v1", "command": "false"}},
            {"Authorization": "Basic dTpw"},
            id="a password goes before a program",
        ),
        pytest.param(
            {
                "client-certificate-data": CHAIN,
                "client-key-data": KEY,
                "exec": {"apiVersion": "v1", "command": "false"},
            },
            {},
            id="beside a certificate no program runs",
        ),
        pytest.param({}, {}, id="nobody"),
        pytest.param(None, {}, id="empty user"),
        pytest.param(
            {"token": "t", "as": "other", "as-uid": "7", "as-groups": ["g"], "as-user-extra": {"sco/pe": ["x"]}},
            {
                "Authorization": "Bearer t",
                "Impersonate-User": "other",
                "Impersonate-Uid": "7",
                "Impersonate-Group": "g",
                "Impersonate-Extra-sco%2Fpe": "x",
            },
            id="in the name of another",
        ),
    ],
)
async def test_users(file: Path, user: dict[str, Any], expected: dict[str, str]) -> None:
    assert await headers(read(a_kubeconfig(file, user))) == expected


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "user",
    [
        {"token": "t"},
        {"tokenFile": "token"},
        {"username": "u", "password": "p"},
        {"exec": {"apiVersion": "v1", "command": "false"}},
        {"auth-provider": {"name": "oidc", "config": {"id-token": "t"}}},
    ],
    ids=lambda user: next(iter(user)),
)
async def test_a_server_without_tls_gets_no_credentials_of_a_user(file: Path, user: dict[str, Any]) -> None:
    """A token in plain text is everybody's. Whom to act as is no secret, and is sent, as kubectl does."""
    endpoint = read(a_kubeconfig(file, {**user, "as": "other"}, server="http://api:8080"))

    assert await headers(endpoint) == {"Impersonate-User": "other"}


@pytest.mark.asyncio
async def test_a_server_without_tls_gets_the_password_of_its_url(file: Path) -> None:
    endpoint = read(a_kubeconfig(file, {"token": "t"}, server="http://me:p@api:8080"))

    assert await headers(endpoint) == {"Authorization": "Basic bWU6cA=="}


@pytest.mark.asyncio
async def test_a_token_file_goes_before_a_token_and_its_path_begins_at_the_kubeconfig(file: Path) -> None:
    (file.parent / "token").write_text("from-file\n")

    endpoint = read(a_kubeconfig(file, {"token": "t", "tokenFile": "token"}))

    assert await headers(endpoint) == {"Authorization": "Bearer from-file"}


@pytest.mark.asyncio
@pytest.mark.parametrize("content", [None, ""], ids=["missing", "empty"])
async def test_a_token_counts_until_its_file_can_be_read(file: Path, content: str | None) -> None:
    if content is not None:
        (file.parent / "token").write_text(content)

    endpoint = read(a_kubeconfig(file, {"token": "t", "tokenFile": "token"}))

    assert await headers(endpoint) == {"Authorization": "Bearer t"}


@pytest.mark.asyncio
async def test_a_token_file_without_end_is_not_read_to_its_end(file: Path) -> None:
    endpoint = read(a_kubeconfig(file, {"tokenFile": "/dev/zero"}))

    with pytest.raises(NoCredentials, match=r"/dev/zero: the token file cannot be read: .* larger than 10 MiB"):
        await endpoint.credentials.identity()


@pytest.mark.asyncio
async def test_certificate_data_may_be_broken_into_lines(file: Path) -> None:
    lines = "\r\n".join(re.findall(".{1,64}", encoded(AUTHORITY.cert_pem.bytes())))
    tls = (await read(a_kubeconfig(file, certificate_authority_data=lines)).credentials.identity()).tls

    assert tls is not None
    assert len(tls.get_ca_certs()) == 1


def test_a_query_and_capital_letters_of_the_server_do_not_count(file: Path) -> None:
    assert read(a_kubeconfig(file, server="HTTPS://api:1/prefix/?a=b#c")).server == "https://api:1/prefix"


@pytest.mark.parametrize(("disabled", "encoding"), [(True, "identity"), (False, "gzip"), (None, "gzip")])
def test_compression_can_be_disabled(file: Path, disabled: bool | None, encoding: str) -> None:
    assert read(a_kubeconfig(file, disable_compression=disabled)).encoding == encoding


@pytest.mark.asyncio
async def test_certificates_as_data_and_as_files_beside_the_kubeconfig(file: Path) -> None:
    AUTHORITY.cert_pem.write_to_path(file.parent / "ca.pem")
    (file.parent / "chain.pem").write_bytes(base64.b64decode(CHAIN))
    (file.parent / "key.pem").write_bytes(base64.b64decode(KEY))
    as_data = {"client-certificate-data": CHAIN, "client-key-data": KEY}
    as_files = {"client-certificate": "chain.pem", "client-key": "key.pem"}

    for user in (as_data, as_files):
        endpoint = read(a_kubeconfig(file, user, certificate_authority="ca.pem", tls_server_name="inner"))
        tls = (await endpoint.credentials.identity()).tls
        assert tls is not None
        assert len(tls.get_ca_certs()) == 1
        assert tls.check_hostname
    assert endpoint.server_name == "inner"


@pytest.mark.asyncio
async def test_verification_is_off_only_where_the_kubeconfig_says_so_and_with_a_warning(file: Path) -> None:
    endpoint = read(a_kubeconfig(file, insecure_skip_tls_verify=True))
    tls = (await endpoint.credentials.identity()).tls

    assert tls is not None
    assert not tls.check_hostname
    assert [f"{file}, context test: insecure-skip-tls-verify is set" in each for each in endpoint.warnings] == [True]


def test_proxies(file: Path) -> None:
    environ = {"HTTPS_PROXY": "http://p:1"}

    assert read(a_kubeconfig(file), environ=environ).proxy == "http://p:1"
    assert read(a_kubeconfig(file, proxy_url="http://own:2"), environ=environ).proxy == "http://own:2"


def test_several_files_are_one_and_the_first_current_context_counts(tmp_path: Path) -> None:
    one = a_kubeconfig(tmp_path / "1", context="a", current="a", server="https://a")
    other = a_kubeconfig(tmp_path / "2", context="b", current="b", server="https://b")
    paths = os.pathsep.join([one, str(tmp_path / "absent"), other])

    assert read(paths).server == "https://a"
    assert read(paths, "b").server == "https://b"
    assert read(paths, "b").origin == f"{other}, context b"


def test_an_empty_file_beside_others_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "1").touch()
    (tmp_path / "2").write_text("# nothing yet\n")
    paths = [str(tmp_path / "1"), a_kubeconfig(tmp_path / "3"), str(tmp_path / "2")]

    assert read(os.pathsep.join(paths)).origin == f"{tmp_path / '3'}, context test"


def test_where_configurations_are_looked_for(tmp_path: Path) -> None:
    home = tmp_path / ".kube"
    home.mkdir()
    named = a_kubeconfig(tmp_path / "named", server="https://named")
    listed = a_kubeconfig(tmp_path / "listed", server="https://listed")
    environ = {"HOME": str(tmp_path), "KUBECONFIG": listed}

    assert find_endpoint(named, None, environ).server == "https://named"
    assert find_endpoint(None, None, environ).server == "https://listed"
    a_kubeconfig(home / "config", server="https://home")
    assert find_endpoint(None, None, {"HOME": str(tmp_path)}).server == "https://home"


def test_no_configuration_at_all(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no cluster: .* does not exist, and restow does not run in a pod; name a file"
    ):
        find_endpoint(None, None, {"HOME": str(tmp_path)})


def test_whoever_has_no_home_is_in_a_pod_or_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a container's user that has a number and no name."""

    def nobody(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", nobody)
    with pytest.raises(InputError, match="no cluster"):
        find_endpoint(None, None, {})


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        pytest.param({}, {"server": ""}, "context test: cluster.server '' is not an http", id="no server"),
        pytest.param({}, {"server": "api:6443"}, "cluster.server 'api:6443' is not", id="no scheme"),
        pytest.param({}, {"current": None}, "has no current-context; choose one with --context: test", id="no current"),
        pytest.param({}, {"current": "prod"}, "has no context prod; it has test", id="unknown context"),
        pytest.param(
            {}, {"certificate_authority_data": "@@"}, "certificate-authority-data is not valid base64", id="base64"
        ),
        pytest.param(
            {},
            {"certificate_authority_data": encoded(b"x")},
            "contains no PEM certificate of an authority",
            id="no PEM",
        ),
        pytest.param({}, {"certificate_authority": "absent.pem"}, "certificate-authority: .*absent.pem", id="no file"),
        pytest.param({}, {"server": "https://api:port"}, "cluster.server 'https://api:port' is not", id="port"),
        pytest.param({}, {"proxy_url": "socks5://p:1"}, "proxy-url: socks5://p:1 is not", id="proxy"),
        pytest.param({"client-certificate-data": CHAIN}, {}, "but client-key is missing", id="no key"),
        pytest.param(
            {"client-certificate-data": CHAIN, "client-key-data": encoded(b"x")},
            {},
            "client-certificate and client-key: not a PEM certificate with its unencrypted key",
            id="bad key",
        ),
        pytest.param(
            {"token": "t", "username": "u"}, {}, "token and username are both set; remove one of them", id="two users"
        ),
        pytest.param(
            {},
            {"insecure_skip_tls_verify": True, "certificate_authority": "ca.pem"},
            "insecure-skip-tls-verify and certificate-authority are both set",
            id="two ways of trust",
        ),
        pytest.param(
            {"token": "t", "as-groups": ["g"]}, {}, "as-groups needs as, the name of a user; add it", id="only groups"
        ),
        pytest.param({"auth-provider": {"name": "gcp"}}, {}, "gcp is no longer supported by Kubernetes", id="gcp"),
        pytest.param(
            {"exec": {"apiVersion": "v1"}},
            {},
            r"users\[0\].user.exec: has no command; add it",
            id="exec",
        ),
    ],
)
def test_complaints_name_file_context_and_field(
    file: Path, user: dict[str, Any], cluster: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read(a_kubeconfig(file, user, **cluster))
    assert str(raised.value).startswith(str(file))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "not valid YAML", id="broken"),
        pytest.param("- a", "not a kubeconfig", id="a list"),
        pytest.param("", "an empty file", id="empty"),
        pytest.param("clusters: 3", "clusters: must be a list, not a number", id="no list"),
        pytest.param(
            "clusters: [{}]\ncontexts: []\ncurrent-context: x", r"clusters\[0\]: has no name; add it", id="nameless"
        ),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]",
            "names cluster c, which is not",
            id="ref",
        ),
        pytest.param(
            "current-context: x\nclusters: [{name: c, cluster: {server: 'https://a'}}]\n"
            "contexts: [{name: x, context: {cluster: c, user: u}}]",
            "names user u, which is not under users",
            id="user",
        ),
    ],
)
def test_files_that_are_no_kubeconfigs(file: Path, text: str, message: str) -> None:
    file.write_text(text)

    with pytest.raises(InputError, match=message) as raised:
        read(str(file))
    assert re.match(re.escape(str(file)), str(raised.value))
    assert "\n" not in str(raised.value)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent: no such kubeconfig; name one with --kubeconfig or KUBECONFIG"):
        read(str(tmp_path / "absent"))


@pytest.mark.asyncio
async def test_a_token_file_that_is_missing_is_told_when_it_is_needed(file: Path) -> None:
    endpoint = read(a_kubeconfig(file, {"tokenFile": "absent"}))

    with pytest.raises(NoCredentials, match="absent: the token file cannot be read"):
        await endpoint.credentials.identity()


PASSWORDS = {
    "a kind of proxy": {"proxy_url": "socks5://me:hunter2@p:1"},
    "no scheme": {"proxy_url": "me:hunter2@p:1"},
    "a slash": {"proxy_url": "http://me:hunter2/hunter2@p:1"},
    "a space": {"server": "ftp://me:hunter2 hunter2@api:6443"},
    "a port": {"server": "https://me:hunter2@api:hunter2"},
}


@pytest.mark.parametrize("cluster", PASSWORDS.values(), ids=PASSWORDS)
def test_a_password_is_in_no_error(file: Path, cluster: dict[str, str]) -> None:
    with pytest.raises(InputError) as raised:
        read(a_kubeconfig(file, **cluster))
    assert "me:" not in str(raised.value)


@pytest.mark.asyncio
@pytest.mark.parametrize("user", [{}, {"token": "t"}], ids=["alone", "beside a token"])
async def test_a_password_in_the_url_of_the_server_is_sent_and_not_told(file: Path, user: dict[str, str]) -> None:
    """As Go's client does; aiohttp would refuse to send it beside a token."""
    endpoint = read(a_kubeconfig(file, user, server="https://me:p%40ss@api:6443/prefix"))

    assert endpoint.server == "https://api:6443/prefix"
    assert (await endpoint.credentials.identity()).headers == (
        ("Authorization", f"Basic {base64.b64encode(b'me:p@ss').decode()}"),
    )
    assert "p@ss" not in repr(endpoint)
