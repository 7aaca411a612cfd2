"""What `make stack` relies on, and all of it once."""

import base64
import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import ssl
import stat
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import prefect
import psutil
import pytest

import deploy.stack.__main__ as recipe
from deploy import certificates
from deploy.certificates import ROLES, make_certificates
from deploy.stack import services
from deploy.stack.database import find_programs
from deploy.stack.errors import StackError
from deploy.stack.processes import Processes
from support.servers.clusters import ROOT, clean_environment
from tclose.policy.policy import load_policy

TELLS_ITS_END = """
import signal, subprocess, sys, time
from pathlib import Path
name, folder = sys.argv[1], Path(sys.argv[2])
def end(*_):
    with (folder / "ended").open("a") as file:
        file.write(name + "\\n")
    sys.exit()
signal.signal(signal.SIGTERM, end)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
(folder / name).write_text(str(child.pid))
time.sleep(600)
"""


def all_gone(pids: list[int]) -> bool:
    """Whether they have ended, or do so within the moment that a kill takes."""
    deadline = time.monotonic() + 120
    while any(map(is_there, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(is_there, pids))


def is_there(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


class TestProcesses:
    def test_end_in_the_opposite_order_with_their_children(self, tmp_path: Path) -> None:
        names = ["first", "second", "third"]
        with pytest.raises(KeyError), Processes(tmp_path, os.environ) as processes:  # noqa: PT012
            for name in names:
                processes.start(name, [sys.executable, "-c", TELLS_ITS_END, name, str(tmp_path)])
            there = [tmp_path / name for name in names]
            processes.wait(lambda: all(p.exists() and p.read_text() for p in there), "ready", 300)
            pids = [process.popen.pid for process in processes.running]
            pids += [int(path.read_text()) for path in there]
            assert all(map(is_there, pids))
            raise KeyError  # a failure ends them too

        assert (tmp_path / "ended").read_text().split() == names[::-1]
        assert all_gone(pids)

    def test_one_that_does_not_end_when_asked_is_killed(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setattr("deploy.stack.processes._END_SECONDS", 0.5)
        deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True)\n"
        with Processes(tmp_path, os.environ) as processes:
            found = processes.start("deaf", [sys.executable, "-c", deaf + "time.sleep(600)"])
            processes.wait(lambda: found.log.stat().st_size > 0, "ready", 300)
        assert found.popen.returncode == -signal.SIGKILL

    def test_one_that_ends_by_itself_is_told_with_its_last_words(self, tmp_path: Path) -> None:
        with Processes(tmp_path, os.environ) as processes:
            processes.start("broken", [sys.executable, "-c", "raise SystemExit('no such port')"])
            with pytest.raises(StackError, match=r"broken ended by itself\n.*no such port"):
                processes.wait(lambda: False, "never", 300)

    def test_waiting_has_an_end(self, tmp_path: Path) -> None:
        with (
            Processes(tmp_path, os.environ) as processes,
            pytest.raises(StackError, match="it answers: not so in 0 seconds"),
        ):
            processes.wait(lambda: False, "it answers", 0.1)


class _SaysTrue(http.server.BaseHTTPRequestHandler):
    """Answers as a server's health does."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"true")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class TestEnvironment:
    """Nothing of the stack leaves loopback, whatever proxies and servers the user's names."""

    def test_server_is_asked_without_a_proxy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("no_proxy", "corp.example")
        with http.server.HTTPServer(("127.0.0.1", 0), _SaysTrue) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            answers = services._says_true(f"http://127.0.0.1:{server.server_port}/api/health")
            server.shutdown()
        assert answers

    def test_parts_and_this_process_have_no_proxies_and_no_settings_of_others(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = ("HTTP_PROXY", "all_proxy", "no_proxy", "PREFECT_PROFILE", "DASK_CONFIG")
        monkeypatch.setattr(os, "environ", os.environ | dict.fromkeys(names, "x") | {"OWN": "x"})
        asked = recipe.Asked(tmp_path / "stack", "sqlite", 1, 1, hold=False)
        parts = dict(recipe._processes(asked, tmp_path).environment)
        recipe._take_environment(parts)
        assert parts["OWN"] == "x"
        assert not set(names) & set(parts)
        assert dict(os.environ) == parts

    def test_files_of_others_are_left_alone(self, tmp_path: Path) -> None:
        asked = recipe.Asked(tmp_path, "sqlite", 1, 1, hold=False)
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs" / "mine").touch()
        with pytest.raises(StackError, match=r"was not made by make stack.* name another folder"):
            recipe._processes(asked, tmp_path)
        assert (tmp_path / "logs" / "mine").exists()
        shutil.rmtree(tmp_path / "logs")
        for _ in range(2):  # its own folder it takes again
            recipe._processes(asked, tmp_path)

    def test_a_folder_of_any_name(self, tmp_path: Path) -> None:
        asked = recipe.Asked(tmp_path / "a #1", "sqlite", 1, 1, hold=False)
        dask = services.Dask("tls://localhost:8786", tmp_path / "b: #2")
        given = recipe._parameters(asked, dask)
        policy = load_policy(given["policy"], given["overrides"])
        assert (policy.input.path, policy.output.path) == (str(asked.input), str(asked.releases))
        assert policy.engine.tls is not None
        assert policy.engine.tls.ca == str(dask.tls / "ca.pem")


class TestCertificates:
    def test_only_their_owner_reads_them_and_the_authoritys_key_is_not_kept(
        self, tmp_path: Path
    ) -> None:
        make_certificates(tmp_path / "tls")
        files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("tls/*")}
        names = {"ca.pem", *(f"{r}.pem" for r in ROLES), *(f"{r}-key.pem" for r in ROLES)}
        assert files == dict.fromkeys(names, 0o600)
        assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700

    def test_those_in_use_are_not_overwritten(self, tmp_path: Path) -> None:
        make_certificates(tmp_path / "tls")
        before = (tmp_path / "tls" / "ca.pem").read_bytes()
        command = [sys.executable, str(ROOT / "deploy" / "certificates.py")]
        done = subprocess.run(
            [*command, "--out", str(tmp_path / "tls")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "File exists" in done.stderr
        assert (tmp_path / "tls" / "ca.pem").read_bytes() == before

    @pytest.mark.parametrize(
        ("option", "said"),
        [
            ("--days=0", "--days 0: has to be from 1 to 36,500"),
            ("--days=4000000", "--days 4000000: has to be from 1 to 36,500"),
            ("--host=", "--host '': has to be a name or an address"),
            ("--host=b\u00fccher.example", "has to be a name or an address, in ASCII"),
        ],
    )
    def test_what_no_certificate_can_have_is_refused_before_any_is_made(
        self, option: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit, match="2"):
            certificates.main(["--out", str(tmp_path / "tls"), option])
        assert said in capsys.readouterr().err
        assert not (tmp_path / "tls").exists()

    def test_last_as_long_as_asked_and_name_the_hosts(self, tmp_path: Path) -> None:
        from cryptography import x509

        make_certificates(tmp_path / "tls", hosts=("scheduler", "10.0.0.7"), days=30)
        context = ssl.create_default_context(cafile=str(tmp_path / "tls" / "ca.pem"))
        [authority] = context.get_ca_certs()
        left = ssl.cert_time_to_seconds(str(authority["notAfter"])) - time.time()
        assert 29.9 * 86_400 < left <= 30 * 86_400
        content = (tmp_path / "tls" / "scheduler.pem").read_bytes()
        found = x509.load_pem_x509_certificate(content)
        hosts = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert [str(host.value) for host in hosts] == ["scheduler", "10.0.0.7"]


class TestDatabase:
    def test_without_postgresql_it_says_so_and_stops(self, tmp_path, monkeypatch, capfd) -> None:
        from deploy.stack.__main__ import main

        monkeypatch.setenv("POSTGRES_BIN", str(tmp_path))
        before = signal.getsignal(signal.SIGTERM)
        try:
            assert main(["--folder", str(tmp_path / "stack")]) == 1
        finally:
            signal.signal(signal.SIGTERM, before)
        assert "make stack DATABASE=sqlite" in capfd.readouterr().err
        assert not (tmp_path / "stack").exists()


def database() -> str:
    """PostgreSQL where it is installed, SQLite elsewhere."""
    try:
        find_programs()
    except StackError:
        return "sqlite"
    return "postgres"


@contextlib.contextmanager
def stack(folder: Path, *more: str) -> Iterator["subprocess.Popen[str]"]:
    """The command, in a place of its own; afterwards none of its processes and files are left."""
    temporary = folder / "tmp"
    temporary.mkdir()
    own = [place for place in folder.parents if "pytest-of-" in str(place)]
    for place in (temporary, folder, *own):  # PostgreSQL's user passes through them
        place.chmod(0o755)
    options = ["--rows=3000", "--workers=1", f"--database={database()}", *more]
    with subprocess.Popen(
        [sys.executable, "-m", "deploy.stack", *options, f"--folder={folder / 'stack'}"],
        cwd=ROOT,
        env=clean_environment() | {"TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        yield command
    assert list(temporary.iterdir()) == []
    below = [p.pid for p in psutil.process_iter() if str(temporary) in _environment_of(p)]
    assert all_gone(below)


def _environment_of(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return str(process.environ().get("TMPDIR"))
    return ""


def version_of(pages: str, user_and_password: str) -> str:
    """The version of Prefect's server, which it tells who has the password."""
    encoded = base64.b64encode(user_and_password.encode()).decode()
    headers = {"Authorization": f"Basic {encoded}"}
    asked = urllib.request.Request(f"{pages}/api/admin/version", headers=headers)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


@pytest.mark.timeout(600)
class TestAll:
    @pytest.mark.nightly
    def test_interrupted_it_ends_every_part(self, tmp_path: Path) -> None:
        with stack(tmp_path) as command:
            assert command.stdout is not None
            for line in command.stdout:
                if "Prefect's server" in line:
                    break
            started = psutil.Process(command.pid).children(recursive=True)
            command.send_signal(signal.SIGINT)
            _, errors = command.communicate(timeout=300)
        assert len(started) >= 2 or database() == "sqlite"
        assert all_gone([process.pid for process in started])
        assert command.returncode == 1
        assert errors == "make stack: interrupted; every part has ended\n"

    @pytest.mark.nightly
    @pytest.mark.skipif(
        not (ROOT / "deploy" / "prefect.yaml").exists(), reason="no deployments are here"
    )
    def test_scheduled_run_is_released_and_audited(self, tmp_path: Path) -> None:
        """And every part stays up until Ctrl-C, with the addresses that are printed."""
        with stack(tmp_path, "--hold") as command:
            shown = ""
            for line in command.stdout:
                shown += line
                if line.split()[:1] == ["logs"]:
                    break
            pages, secret = re.search(r"(http://\S+) \(sign in with (\S+)\)", shown).groups()
            assert version_of(pages, secret) == prefect.__version__
            with pytest.raises(urllib.error.HTTPError, match="401"):
                version_of(pages, "tclose:")
            with urllib.request.urlopen(f"{pages}/ui-settings", timeout=60) as answer:
                assert json.load(answer)["api_url"] == "/api"  # not of the port that is usual
            command.send_signal(signal.SIGINT)
            rest, errors = command.communicate(timeout=300)
            shown += rest
        assert command.returncode == 0, shown + errors
        assert errors == ""
        assert "Scheduled" in shown
        assert "Completed" in shown
        *_, verdict, note = shown.splitlines()
        assert verdict == "audit: PASS"
        assert note.startswith("audit: manifest.json: k and t over persons are not checked")
        [release] = (tmp_path / "stack" / "releases" / "stack").glob("*/manifest.json")
        logs = "".join(path.read_text() for path in (tmp_path / "stack" / "logs").iterdir())
        assert "tls://127.0.0.1" in logs
        assert "tcp://127.0.0.1" not in logs
        assert json.loads(release.read_text())["verdict"] == "pass"
