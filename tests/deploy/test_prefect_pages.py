"""Prefect's pages and password, as the files of deploy/ set them up."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import prefect
import pytest
import yaml

from deploy.stack.processes import free_port
from support.servers.loopback import answers, running

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
HOME = "/home/tclose/.prefect"  # of the image, the one folder there that the server may write to
NOBODY = 65_534
# Who has lost all rights of root but to read: an installation below a closed home can be used too.
AS_NOBODY = [
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search",
    "--bounding-set=-all,+dac_read_search",
]  # fmt: skip


def of_compose() -> dict[str, str]:
    """Environment of Prefect's server in the compose file."""
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return dict(services["prefect-server"]["environment"])


def of_kubernetes() -> dict[str, str]:
    """Environment of Prefect's server in the manifests, without what is in secrets."""
    [deployment, _] = yaml.safe_load_all((DEPLOY / "kubernetes/prefect-server.yaml").read_text())
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}


def command(*words: str) -> list[str]:
    """A command as a user who cannot write to the installation; skips where nobody can be one."""
    installed = Path(prefect.__file__).parent
    if os.geteuid() != 0 and not os.access(installed, os.W_OK):
        return list(words)
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can be another user, by setpriv of util-linux")
    return [*AS_NOBODY, *words]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the settings of the compose file, on SQLite and loopback."""
    folder, port = tmp_path_factory.mktemp("pages"), free_port()
    home = folder / "home"
    home.mkdir()
    if os.geteuid() == 0:
        os.chown(home, NOBODY, NOBODY)
    settings = {name: value.replace(HOME, str(home)) for name, value in of_compose().items()}
    settings |= {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{home}/prefect.db",
        "PREFECT_SERVER_API_AUTH_STRING": "tclose:drawn",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "HOME": str(home),
        "TMPDIR": str(home),
        "PATH": os.environ["PATH"],
    }
    module = [sys.executable, "-P", "-m", "prefect", "server", "start"]
    found = f"http://127.0.0.1:{port}"
    with running(
        command(*module, "--host=127.0.0.1", f"--port={port}"), folder / "server.log",
        lambda: answers(f"{found}/api/health"), environment=settings,
    ):  # fmt: skip
        assert (home / "pages" / "v2" / "index.html").exists()  # and not beside Prefect's code
        yield found


def read(url: str, **headers: str) -> tuple[str, str]:
    """What is there, after redirects, and its kind."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
        return answer.read().decode(), answer.headers.get_content_type()


@pytest.mark.timeout(600)
@pytest.mark.nightly
class TestServerWithoutWriteAccess:
    def test_pages_are_there(self, address: str) -> None:
        page, kind = read(address, Accept="text/html")
        assert kind == "text/html"
        assert "Prefect" in page
        [script] = re.findall(r'<script type="module"[^>]* src="([^"]+)"', page)
        _, kind = read(f"{address}{script}")
        assert kind in ("text/javascript", "application/javascript")

    def test_pages_call_the_address_that_the_browser_knows(self, address: str) -> None:
        settings: dict[str, Any] = json.loads(read(f"{address}/ui-settings")[0])
        assert settings["api_url"] == "/api"
        assert settings["auth"] == "BASIC"
        assert settings["available_uis"] == ["v1", "v2"]

    def test_they_show_nothing_without_the_password(self, address: str) -> None:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            read(f"{address}/api/admin/version")


def test_kubernetes_has_the_pages_of_compose() -> None:
    pages = {name: value for name, value in of_compose().items() if "_UI_" in name}
    assert len(pages) == 2
    assert pages.items() <= of_kubernetes().items()
    assert pages["PREFECT_UI_STATIC_DIRECTORY"].startswith(f"{HOME}/")


def interpolate(text: str, settings: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Put variables into a text as compose does, which is as the shell does."""
    return subprocess.run(
        ["/bin/sh", "-c", f'printf %s "{text}"'],
        env=dict(settings), capture_output=True, text=True, check=False,
    )  # fmt: skip


def example_settings() -> dict[str, str]:
    lines = (DEPLOY / ".env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("name", ["PREFECT_PASSWORD", "DATABASE_PASSWORD"])
def test_forgotten_password_is_refused_at_the_start(name: str) -> None:
    """By every service that would use it, with the name of what is missing."""
    settings = example_settings()
    assert settings[name] == ""
    filled = settings | {"PREFECT_PASSWORD": "p", "DATABASE_PASSWORD": "d"}
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    texts = [value for service in services.values()
             for value in (service.get("environment") or {}).values() if name in value]  # fmt: skip
    assert len(texts) >= 2
    for text in texts:
        assert interpolate(text, filled).returncode == 0
        for forgotten in (filled | {name: ""}, {k: v for k, v in filled.items() if k != name}):
            refused = interpolate(text, forgotten)
            assert refused.returncode != 0
            assert name in refused.stderr


def test_password_comes_after_the_user() -> None:
    given = of_compose()["PREFECT_SERVER_API_AUTH_STRING"]
    done = interpolate(given, {"PREFECT_PASSWORD": "drawn"})
    assert done.stdout == "tclose:drawn"
