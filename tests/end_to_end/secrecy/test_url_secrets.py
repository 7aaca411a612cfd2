"""A URL's user, password and token read the input, and are kept and told nowhere."""

import base64
import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect import flow

from support.cases.people import people, policy_for, tree, write_parquet, write_policy
from tclose.cli.main import main
from tclose.policy.policy import Policy, parse_policy
from tclose_flows.policies import resolve_policy

pytestmark = pytest.mark.usefixtures("small_regions")

USER, PASSWORD, TOKEN = "alice-7f3a", "hunter2-c41d", "token-99e0"
SECRETS = (USER, PASSWORD, TOKEN)
_WANTED = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


class Guarded(http.server.SimpleHTTPRequestHandler):
    """Files for who has user, password and token."""

    def log_message(self, *_: object) -> None:
        pass

    def send_head(self):
        if self.headers.get("Authorization") != _WANTED or TOKEN not in self.path:
            self.send_error(403)
            return None
        return super().send_head()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Address of the table, with all that it takes to read it."""
    served = tmp_path / "served"
    served.mkdir()
    write_parquet(served / "people.parquet", people())
    handler = functools.partial(Guarded, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        port = server.server_address[1]
        yield f"http://{USER}:{PASSWORD}@127.0.0.1:{port}/people.parquet?token={TOKEN}"
        server.shutdown()
        thread.join()


def find_secrets(text: bytes | str) -> list[str]:
    data = text if isinstance(text, bytes) else text.encode()
    return [secret for secret in SECRETS if secret.encode() in data]


@pytest.fixture
def given(url: str, tmp_path: Path) -> dict[str, object]:
    return policy_for(url, output={"path": str(tmp_path / "releases")})


def test_release_is_made_and_tells_none(given, tmp_path, capsys):
    policy = write_policy(tmp_path / "policy.yaml", given)
    assert main(["plan", str(policy)]) == 0
    assert main(["run", str(policy), "--profile", str(tmp_path / "profile")]) == 0
    releases = str(tmp_path / "releases" / "people")
    assert main(["show", releases]) == 0
    assert main(["audit", releases, "--originals", str(policy)]) == 0
    assert main(["audit", releases, "--json"]) == 0
    printed = capsys.readouterr()
    assert not find_secrets(printed.out + printed.err)
    written = tree(tmp_path / "releases") | tree(tmp_path / "profile")
    assert [name for name in written if name.endswith("internal/manifest.json")]
    assert b"http://***@127.0.0.1:" in b"".join(filter(None, written.values()))
    assert not {name for name, content in written.items() if content and find_secrets(content)}


@pytest.mark.parametrize("change", ["no such file", "no such column", "too large k", "forbidden"])
def test_refusals_and_what_they_leave_tell_none(change, given, url, tmp_path, capsys):
    if change == "no such column":
        given["attributes"] |= {"weight": "quasi-identifier"}
    elif change == "too large k":
        given["privacy"] = {"k": 60, "t": 0.0001}
        given["attributes"] |= {"sex": "confidential"}
    elif change == "forbidden":
        given["input"]["path"] = url.replace("token=", "token=" + TOKEN[:-1] + "x").replace(
            TOKEN, ""
        )
    else:
        given["input"]["path"] = url.replace("people.parquet", "nobody.parquet")
    policy = write_policy(tmp_path / "policy.yaml", given)
    status = main(["run", str(policy)])
    printed = capsys.readouterr()
    assert not find_secrets(printed.out + printed.err)
    for content in tree(tmp_path / "releases").values() if (tmp_path / "releases").exists() else ():
        assert not find_secrets(content or b"")
    assert status in ((0, 3) if change == "too large k" else (2,))


@flow
def release_of(policy: Policy | str) -> None:
    """As the flow has its parameter."""


def test_prefect_is_given_none_and_the_flow_reads_all(given):
    policy = parse_policy(given)
    stored = release_of.serialize_parameters({"policy": policy})
    assert "http://***@127.0.0.1" in str(stored)
    assert not find_secrets(str(stored))
    assert resolve_policy(policy, (), None, "UTC") == policy


def test_places_on_the_command_line(capsys):
    place = f"https://{USER}:{PASSWORD}@host/releases?token={TOKEN}"
    for command in ("audit", "releases", "show", "rollback"):
        with contextlib.suppress(SystemExit):
            assert main([command, place]) == 2
    printed = capsys.readouterr()
    assert printed.err
    assert not find_secrets(printed.out + printed.err)
