"""The environment of a flow: empty variables, proxies, and users without a home."""

import pwd
from pathlib import Path
from urllib.request import getproxies_environment, proxy_bypass

import pytest

from support.cases.people import people, policy_for, write_csv, write_policy
from support.checks.permissions import run_bound
from tclose.errors import UsageError
from tclose_flows.prefect_environment import (
    check_environment,
    drop_empty_settings,
    set_preferences,
)

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names no proxies, in either spelling."""
    for name in _PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


def test_variables_of_prefect_without_a_value_are_unset() -> None:
    environment = {"PREFECT_API_URL": "", "prefect_profile": " ", "PREFECT_HOME": "x", "OTHER": ""}
    drop_empty_settings(environment)
    assert environment == {"PREFECT_HOME": "x", "OTHER": ""}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, ""),
        ({"NO_PROXY": "corp.example, 10.0.0.1"}, "corp.example"),
        ({"no_proxy": "corp.example"}, "corp.example"),
        ({"NO_PROXY": "corp.example", "no_proxy": ""}, "corp.example"),
        ({"NO_PROXY": "localhost,corp.example"}, "corp.example"),
        ({"no_proxy": "*"}, "any.example"),
    ],
)
def test_loopback_has_no_proxy_whatever_the_user_says(
    given: dict[str, str], kept: str, without_proxies: pytest.MonkeyPatch
) -> None:
    environment = {"HTTP_PROXY": "http://127.0.0.1:9", **given}
    set_preferences(environment)
    for name, value in environment.items():
        without_proxies.setenv(name, value)
    direct = ["127.0.0.1", "localhost", *filter(None, [kept])]
    assert all(proxy_bypass(host) for host in direct)
    assert bool(proxy_bypass("elsewhere.example")) == (kept == "any.example")
    assert environment["NO_PROXY"] == environment["no_proxy"]


def test_clients_of_the_embedded_server_go_by_no_proxy(
    without_proxies: pytest.MonkeyPatch,
) -> None:
    import httpx

    environment = {"HTTP_PROXY": "http://127.0.0.1:9", "no_proxy": "corp.example"}
    set_preferences(environment)
    for name, value in environment.items():
        without_proxies.setenv(name, value)
    with httpx.Client() as client:
        directly = client._transport
        assert client._transport_for_url(httpx.URL("http://127.0.0.1:4200/api")) is directly
        assert client._transport_for_url(httpx.URL("http://elsewhere.example")) is not directly


@pytest.mark.parametrize("name", ["ALL_PROXY", "all_proxy", "https_proxy"])
def test_proxy_that_prefect_cannot_use_is_refused(
    name: str, without_proxies: pytest.MonkeyPatch
) -> None:
    without_proxies.setenv(name, "socks5h://127.0.0.1:9")
    assert "no" not in getproxies_environment()
    with pytest.raises(UsageError, match=rf"^{name.upper()}: names a SOCKS proxy.*socksio"):
        check_environment()
    without_proxies.setenv("NO_PROXY", "*")
    check_environment()


def test_user_without_a_home_is_told_to_set_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def has_none(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", has_none)
    monkeypatch.delenv("HOME")
    with pytest.raises(UsageError, match=r"^HOME: is not set.*set it to a folder"):
        check_environment()
    monkeypatch.setenv("HOME", "/home/anybody")
    check_environment()


@pytest.mark.parametrize("variable", ["HOME", "PREFECT_HOME"])
def test_home_that_is_closed_is_named(variable: str, tmp_path: Path) -> None:
    """As that of root, which `sudo` may leave in the environment of another user."""
    write_policy(tmp_path / "policy.yaml", policy_for(write_csv(tmp_path / "p.csv", people())))
    home = tmp_path / "home"
    home.mkdir(mode=0)
    command = ("-m", "tclose", "flow", "policy.yaml", "--quiet")
    homes = {"PREFECT_HOME": "", variable: str(home)}
    ended = run_bound(*command, folder=tmp_path, **homes)
    assert (ended.returncode, ended.stdout) == (2, "")
    below = "/.prefect" if variable == "HOME" else ""
    refused = f"PREFECT_HOME {home}{below}: cannot be read (Permission denied); set it, or HOME, to"
    assert ended.stderr.startswith(f"tclose: {refused}")
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "releases").exists()


def test_home_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    write_policy(tmp_path / "policy.yaml", policy_for(write_csv(tmp_path / "p.csv", people())))
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    command = ("-m", "tclose", "flow", "policy.yaml", "--quiet")
    ended = run_bound(*command, folder=tmp_path, HOME=str(home), PREFECT_HOME="")
    assert (ended.returncode, ended.stdout) == (2, "")
    refused = (
        f"tclose: PREFECT_HOME {home}/.prefect: cannot be kept from others (Permission denied)"
    )
    assert ended.stderr.startswith(refused)
    assert ended.stderr.count("\n") == 1


def test_empty_address_of_a_server_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect would start a server of its own for it, which asks nobody for a secret."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    from tclose_flows import embedded_server
    from tclose_flows.flow_command import _server

    found: list[tuple[object, bool]] = []
    monkeypatch.setattr(embedded_server, "make_home_private", lambda: None)
    monkeypatch.setattr(embedded_server, "_start_server", lambda: None)
    with temporary_settings({PREFECT_API_URL: ""}), _server():
        found.append((PREFECT_API_URL.value(), bool(PREFECT_API_AUTH_STRING.value())))
    assert found == [(None, True)]
